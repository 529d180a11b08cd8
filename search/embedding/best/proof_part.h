// The part that a process has in the proof of best mode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/bound/bound_prover.h"
#include "search/embedding/best/bound/shared/tree_follower.h"
#include "search/embedding/best/parameters/best_parameters.h"
#include "search/embedding/best/processes/lane_dealing.h"
#include "search/embedding/best/processes/round_report.h"
#include "search/embedding/model/choice_model.h"
#include "search/search_group.h"

namespace shardwright::embedding {

// Process 0 has the proof and decides what it does in a round; the others work on its tree when the
// lanes that share it are dealt out. Without a proof it does nothing.
// Thread safety: run_lane() may be called concurrently for different lanes; everything else by one
// thread at a time. Refers to the model and the group.
class ProofPart {
 public:
  // `group` is null if this process is alone. `budget` is only asked whether it was interrupted.
  ProofPart(const ChoiceModel& model, bool prove, const BestParameters& parameters,
            const Budget& budget, const SearchGroup* group);

  // Null in processes other than the first.
  BoundProver* prover() const { return prover_.get(); }
  // The model of the proof's tree.
  const ChoiceModel& tree_model() const;

  // Those that share a tree, and those of the tree over ranks; none without a proof.
  std::size_t num_lanes() const { return first_lane_; }
  // The process of a lane, in this round.
  std::uint32_t process_of(std::size_t lane) const;
  bool is_own(std::size_t lane) const { return is_alone() || process_of(lane) == own_process(); }
  std::uint32_t own_process() const { return group_ == nullptr ? 0 : group_->process(); }
  std::uint32_t processes() const { return dealing_.processes(); }
  // That work on a tree of the proof together, in this round; 0 if none is dealt out.
  std::uint32_t tree_processes() const;
  // Takes note of what the lanes did in this round. Returns the same by process.
  std::vector<std::uint64_t> count(const std::vector<std::uint64_t>& lane_work);

  // A round of a lane of the proof that is own: `round_work` is what a lane has that looks for
  // plans.
  void run_lane(std::size_t lane, std::uint64_t round_work, Budget& budget);
  // Adds what the own lanes of a tree did that is dealt out.
  void report(RoundReport& round) const;
  // Takes in what the lanes did in a round of so much work, and what those of other processes
  // found.
  void take_in(RoundReport& round, std::uint64_t round_work);

  // What the lanes of the proof may do in this round, in lanes that look for plans.
  std::uint64_t share() const { return order_.share + order_.rank_share; }
  // In process 0, what the proof of this aim does next, with at most so much of the work.
  // `round_work`: of a lane that looks for plans, in the next round or more.
  ProofOrder next_order(double aim, std::uint64_t share, std::uint64_t round_work);
  // Begins the next round.
  void follow(ProofOrder order);

 private:
  bool is_alone() const { return group_ == nullptr || group_->is_alone(); }
  // Of the tree over ranks: the last ones of the proof.
  bool is_rank_lane(std::size_t lane) const { return lane >= tree_lanes_ && lane < first_lane_; }
  std::uint64_t most_alone() const;
  ProofOrder order_alone(ProofOrder next, std::uint64_t share, std::uint64_t round_work);
  std::uint64_t share_of_rank_lanes(std::uint64_t share) const;
  TreeView* shared_tree() const;
  LaneDealing deal_lanes(std::size_t first) const;

  LaneParameters lanes_;
  BoundParameters bound_;
  const ChoiceModel* model_;
  const SearchGroup* group_;
  std::unique_ptr<BoundProver> prover_;
  std::unique_ptr<TreeFollower> follower_;  // null in process 0
  std::size_t tree_lanes_;                  // that share a tree
  std::size_t first_lane_;                  // that looks for plans, after those of the proof
  std::uint64_t busy_rank_lanes_ = 0;       // at the start of this round, in process 0
  std::uint64_t share_alone_ = 0;           // of the lane that works alone, before it makes up
  std::uint64_t ahead_ = 0;                 // what that lane did beyond its share
  LaneDealing dealing_;
  std::vector<std::uint64_t> done_;  // work so far, by process
  ProofOrder order_;                 // of this round
};

}  // namespace shardwright::embedding
