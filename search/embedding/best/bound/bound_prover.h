// The anytime proof that no plan is much better than the best one known.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/budget.h"
#include "search/embedding/best/bound/bound_tree.h"
#include "search/embedding/best/bound/branching.h"
#include "search/embedding/best/bound/column_generation.h"
#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/best/bound/target_schedule.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// A choice for every table from which a plan below the target may be made.
struct SuggestedChoices {
  std::vector<std::uint32_t> choices;
  double target = 0;
};

// Raises a lower bound step by step. The aggregate Lagrangian bound comes first. Then it proves
// targets (that no plan rates below a value): by column generation at the root node, at last by
// branch and bound. A proved target becomes the bound. See README.md in this folder.
// Thread safety: one thread at a time.
class BoundProver {
 public:
  // With placement rules it works on model.for_bounds(): a bound must hold for all options that the
  // check of a certificate counts, and the check drops only options that the rules of their own
  // table leave no place. Keeps a reference to the model and to its pool.
  explicit BoundProver(const ChoiceModel& model, const BoundParameters& parameters = {});
  BoundProver(const BoundProver&) = delete;
  BoundProver& operator=(const BoundProver&) = delete;

  // Does about `work` units (of Budget::spend) against the best rating known, which may only fall
  // from call to call. Returns early when finished.
  void run(std::uint64_t work, double rating, Budget& budget);

  double bound() const { return certificate_.bound; }
  const BoundCertificate& certificate() const { return certificate_; }
  // Returns true if a plan of this rating is optimal to within the optimality gap.
  bool proves(double rating) const;
  // Returns true if the last rating is proved or nothing is left to try.
  bool finished() const { return finished_; }
  // A tree ends without a proof where the relaxation has a solution that mixes no choices. These
  // choices, once; in terms of the model that was given.
  std::optional<SuggestedChoices> take_suggestion() { return std::exchange(suggestion_, {}); }

 private:
  // What one view of the ranks needs.
  struct Relaxation {
    Relaxation(const ChoiceModel& model, bool separate_hosts, const BoundParameters& parameters)
        : rows(model, separate_hosts, parameters.classes),
          columns(rows, parameters),
          branching(rows, parameters.branching) {}

    BoundRows rows;
    ColumnGeneration columns;
    Branching branching;
  };

  // As the schedule wants it.
  Relaxation& relaxation();
  bool needs_aggregate_bound() const;
  void step(Budget& budget);
  void raise_aggregate_bound(Budget& budget);
  void choose_target();
  void visit_node(Budget& budget);
  void take_answer(RelaxationAnswer answer);
  bool exclude_by_aggregate_bound(Budget& budget);
  bool divide_node(const FractionalPlan& plan);
  void suggest(const FractionalPlan& plan);
  void give_up_target();
  void accept(double bound, const Relaxation& by, std::vector<BoundNode> nodes);

  BoundParameters parameters_;
  std::unique_ptr<const ChoiceModel> own_model_;  // only with placement rules
  const ChoiceModel* model_;
  std::unique_ptr<Relaxation> joint_;     // all hosts count as equal
  std::unique_ptr<Relaxation> separate_;  // hosts are classes; null until it is needed
  BoundCertificate certificate_;
  TargetSchedule targets_;
  BoundTree tree_;
  std::optional<SuggestedChoices> suggestion_;
  bool only_aggregate_ = false;  // the master program would be too large
  bool finished_ = false;
  double rating_ = 0;
  double aggregate_rating_ = 0;  // of the last aggregate bound; 0 = none yet
  double target_ = 0;            // being proved; 0 = none
  std::uint64_t tree_work_ = 0;  // for this target
};

}  // namespace shardwright::embedding
