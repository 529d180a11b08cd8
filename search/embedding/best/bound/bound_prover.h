// The anytime proof that no plan is much better than the best one known.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/budget.h"
#include "search/embedding/best/bound/aggregate_bound.h"
#include "search/embedding/best/bound/bound_rows.h"
#include "search/embedding/best/bound/pattern_bound.h"

namespace shardwright::embedding {

// Raises a lower bound step by step: first by prices of all ranks together, then by patterns of
// single ranks, at last by branch and bound over the choices of tables and where they are, always
// for one target: that no plan rates below it. Targets lie between the bound and the best rating;
// one that was proved becomes the bound, one that could not be proved is the ceiling of the next.
// Thread safety: one thread at a time.
class BoundProver {
 public:
  // A plan is proved optimal when the bound is closer to its rating than this, relatively.
  static constexpr double kOptimal = 1e-4;

  // Where there are placement rules, on model.for_bounds() instead: the check of a certificate
  // knows only those options to be out that have no place by the rules of their own table, and a
  // bound must hold for all others. Keeps a reference to the model and to its pool.
  explicit BoundProver(const ChoiceModel& model);

  // About `work` units more (of Budget::spend), against the best rating known by now, which may
  // only fall from call to call. Ends early when finished.
  void run(std::uint64_t work, double rating, Budget& budget);

  double bound() const { return certificate_.bound; }
  const BoundCertificate& certificate() const { return certificate_; }
  // Nothing left to try, or `rating` is proved.
  bool finished() const { return finished_; }

 private:
  // Where every choice may be; its place in the tree is its place in preorder.
  using Box = std::vector<Zone>;

  // What a box can be cut into: for every choice of a table, where it is in the first part.
  struct Cut {
    std::size_t table = 0;
    double width = 0;  // mean distance from the mix, as a part of all that ranks have
    std::vector<std::pair<std::uint32_t, Zone>> first;
  };

  bool needs_prices() const;
  void step(Budget& budget);
  void prove_by_prices(Budget& budget);
  void choose_target();
  double least_step() const;
  void begin_tree();
  void visit_box(Budget& budget);
  void take_answer(PatternAnswer answer);
  bool exclude_by_prices(const Box& box, Budget& budget);
  bool branch(const Box& box, const FractionalPlan& plan);
  Cut cut_of_choices(std::size_t table, bool by_memory, const Box& box,
                     const std::vector<double>& shares) const;
  Cut cut_of_places(std::size_t table, const Box& box, const FractionalPlan& plan) const;
  void give_up_target();
  void part_hosts();
  void accept(double bound, std::vector<BoundNode> nodes);

  std::unique_ptr<const ChoiceModel> own_model_;  // none where there are no rules
  const ChoiceModel* model_;
  std::unique_ptr<BoundRows> rows_;
  std::unique_ptr<PatternBound> patterns_;
  BoundCertificate certificate_;
  double ranks_ = 0;
  double room_ = 0;                      // HBM of all ranks
  std::uint64_t root_work_ = 8'000'000;  // that a box which will not be cut is worth
  bool cut_short_ = false;               // that was too little for one
  bool trees_ = false;                   // cut boxes that patterns do not exclude
  bool hosts_parted_ = false;
  bool too_large_ = false;  // for patterns: prices are all
  bool finished_ = false;
  double rating_ = 0;
  double priced_rating_ = 0;  // that the prices were last found for; 0 = never

  double ceiling_ = 0;     // a target that could not be proved; 0 = none
  double target_ = 0;      // being proved; 0 = none
  std::vector<Box> open_;  // the last is next
  Box box_;                // that patterns are asked about
  std::vector<BoundNode> nodes_;
  std::size_t boxes_ = 0;  // visited for this target
};

}  // namespace shardwright::embedding
