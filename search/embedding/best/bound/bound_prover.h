// The anytime proof that no plan is much better than the best one known.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "search/budget.h"
#include "search/embedding/best/bound/coarse/coarse_schedule.h"
#include "search/embedding/best/bound/ranks/tree/rank_proof.h"
#include "search/embedding/best/bound/root_search.h"
#include "search/embedding/best/bound/shared/rank_views.h"
#include "search/embedding/best/bound/target_schedule.h"
#include "search/embedding/best/bound/tree/bound_tree.h"
#include "search/embedding/best/bound/tree/light_tree.h"
#include "search/embedding/best/bound/tree/tree_lane.h"
#include "search/embedding/best/bound/tree/uniform_tree.h"
#include "search/embedding/best/bound/uniform_targets.h"
#include "search/embedding/best/parameters/bound_parameters.h"
#include "search/embedding/model/suggested_start.h"

namespace shardwright::embedding {

// Raises a lower bound step by step. The aggregate Lagrangian bound comes first. Then it proves
// targets (that no plan rates below a value): by column generation at the root node, at last by
// branch and bound. A proved target becomes the bound. See README.md in this folder.
//
// The proof runs alone, on one thread, until a tree becomes large. Then its lanes share the open
// leaves: in every round each lane works on its own ones, and begin_round() deals out anew what is
// open. What is proved depends on the work of every call, and not on the number of threads.
// Thread safety: run_lane() and run_rank_lane() may be called concurrently for different lanes;
// everything else by one thread at a time.
class BoundProver {
 public:
  // Keeps a reference to the model and to its pool.
  explicit BoundProver(const ChoiceModel& model, const BoundParameters& parameters = {});
  BoundProver(const BoundProver&) = delete;
  BoundProver& operator=(const BoundProver&) = delete;

  // Does about `work` units (of Budget::spend) against the best rating known, which may only fall
  // from call to call. Returns early when finished. The tree over single ranks comes last.
  void run(std::uint64_t work, double rating, Budget& budget);

  // The same in rounds. In a round, run_lane() may be called once for every lane.
  std::size_t num_lanes() const { return parameters_.targets.tree_lanes; }
  void begin_round(double rating);
  // Returns true if this round has work for all lanes, and false if for the first one alone.
  bool is_shared() const { return is_shared_; }
  void run_lane(std::size_t lane, std::uint64_t work, Budget& budget);
  // The tree over single ranks has lanes of its own, beside these. The first ones have work.
  bool has_rank_lanes() const {
    return !only_aggregate_ && certificate_.bound < targets_.goal(rating_) &&
           rank_proof_.has_next(targets_.goal(rating_));
  }
  std::size_t num_busy_rank_lanes() const { return rank_proof_.num_busy_lanes(); }
  // Returns true if that tree shows no less than what is proved.
  bool is_rank_tree_ahead() const { return rank_proof_.is_ahead(); }
  // Returns true if it is that tree that may prove the goal.
  bool is_rank_tree_rising() const { return rank_proof_.is_rising(); }
  void run_rank_lane(std::size_t lane, std::uint64_t work, Budget& budget);
  void end_round();

  // Goes on from a proof that the check of core has accepted. Call it before anything else.
  void begin_from(const BoundCertificate& proved) {
    if (proved.bound > certificate_.bound) certificate_ = proved;
  }

  double bound() const { return certificate_.bound; }
  const BoundCertificate& certificate() const { return certificate_; }
  // Of a lower bound, if the check of that one takes long; null otherwise.
  const BoundCertificate* short_certificate() const { return short_ ? &*short_ : nullptr; }
  // Returns true if a plan of this rating is optimal to within the optimality gap.
  bool proves(double rating) const;
  // Returns true if the last rating is proved or nothing is left to try.
  bool finished() const { return finished_ && (proves(rating_) || !has_rank_lanes()); }
  // What it proves about: the model that was given, or one without placement rules.
  const ChoiceModel& model() const { return views_.model(); }

  // The tree that lanes share in this round; null if there is none.
  const TreeView* shared() { return is_shared_ ? &relaxation() : nullptr; }

  // A target is given up where the relaxation has a solution that cannot be divided. Its choices,
  // of the last few such targets since the last call; in terms of the model that was given.
  std::vector<SuggestedStart> take_suggestions() { return std::exchange(suggestions_, {}); }
  // A plan below a target that was found instead of a proof since the last call, if any.
  std::optional<Plan> take_found() { return std::exchange(found_, std::nullopt); }

 private:
  bool needs_pins() const;
  void pin_tables(Budget& budget);
  TreeView& joint() { return views_.view(views_.joint()); }
  // As the schedule wants it.
  RankView own_view() const {
    return targets_.separates_hosts() ? RankView::kSeparate : views_.joint();
  }
  TreeView& relaxation() { return views_.view(own_view()); }
  bool needs_aggregate_bound() const;
  bool needs_light_tree() const;
  double light_ceiling() const;
  bool has_uniform_target() const;
  bool needs_uniform_tree() const;
  // Placement rules are left to trees.
  bool has_root_search() const {
    return parameters_.methods.root_search && !only_aggregate_ && !views_.has_own_model() &&
           certificate_.bound < targets_.goal(rating_) &&
           root_search_.has_next(certificate_.bound, targets_.goal(rating_));
  }
  bool needs_root_search() const {
    return has_root_search() && root_search_.is_due(certificate_.bound, targets_.goal(rating_));
  }
  bool should_share();
  void run_alone(std::uint64_t work, Budget& budget);
  void step(Budget& budget);
  void raise_aggregate_bound(Budget& budget);
  void grow_light_tree(Budget& budget);
  void plant_light_tree(Budget& budget);
  void grow_uniform_tree(Budget& budget);
  void search_root(Budget& budget);
  bool needs_coarse_proof() const {
    return parameters_.methods.coarse &&
           coarse_.is_due(rating_, certificate_.bound, targets_.goal(rating_));
  }
  void prove_coarsely(Budget& budget);
  void take_from_ranks();
  void choose_target();
  void plant_trees();
  void take_from(TreeLane& lane);
  void suggest(Allocation start, double target);
  bool gives_up_tree();
  bool is_worth_more();
  void share_tree();
  void prove_target();
  void give_up_target();
  void accept(double bound, const RankClasses& classes, std::vector<BoundNode> nodes);

  BoundParameters parameters_;
  RankViews views_;
  BoundCertificate certificate_;
  std::optional<BoundCertificate> short_;
  TargetSchedule targets_;
  UniformTargets uniform_targets_;
  RootSearch root_search_;
  CoarseSchedule coarse_;
  RankProof rank_proof_;
  std::vector<SuggestedStart> suggestions_;
  std::optional<Plan> found_;
  bool only_aggregate_ = false;  // the master program would be too large
  bool finished_ = false;        // or the tree over ranks is all that is left
  double rating_ = 0;
  double aggregate_rating_ = 0;  // of the last aggregate bound; 0 = none yet
  double pin_rating_ = std::numeric_limits<double>::infinity();    // when pins were looked for
  double light_rating_ = std::numeric_limits<double>::infinity();  // of the last light tree
  std::optional<LightTree> light_tree_;                            // in progress
  // The lowest target at which such a tree failed.
  double light_ceiling_ = std::numeric_limits<double>::infinity();
  std::uint32_t light_trees_left_ = 0;                            // for this rating
  bool may_be_apart_ = false;                                     // uniform choices
  std::unique_ptr<UniformTree> uniform_tree_;                     // null until it is needed
  double tree_rating_ = std::numeric_limits<double>::infinity();  // when the trees were planted
  double target_ = 0;                                             // being proved; 0 = none
  std::uint64_t tree_work_ = 0;                                   // for this target
  bool is_shared_ = false;  // the open leaves of this target are dealt out to all lanes
};

}  // namespace shardwright::embedding
