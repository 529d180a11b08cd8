#include "search/embedding/best/proof_lanes.h"

#include <algorithm>

namespace shardwright::embedding {

ProofLanes::ProofLanes(const ChoiceModel& model, bool prove, const BestParameters& parameters,
                       const Budget& budget)
    : parameters_(parameters.lanes), num_lanes_(prove ? parameters.bound.targets.tree_lanes : 0) {
  if (prove && !budget.interrupted())
    prover_ = std::make_unique<BoundProver>(model, parameters.bound);
}

void ProofLanes::run(std::size_t lane, std::uint64_t round_work, Budget& budget) {
  if (lane < num_working_) prover_->run_lane(lane, share_ * round_work / num_working_, budget);
}

void ProofLanes::end_round(std::uint64_t first_lane_work, std::uint64_t round_work) {
  if (num_working_ != 1) return;
  const std::uint64_t done = ahead_ + first_lane_work;
  ahead_ = done - std::min(done, share_alone_ * round_work);
}

// No more than all lanes that look for plans.
std::uint64_t ProofLanes::most_alone() const {
  return std::min<std::uint64_t>(parameters_.alone_proof_share, parameters_.annealing_lanes);
}

// While few lanes of a shared tree have leaves, each gets less, until they have only as much
// together as one that works alone: leaves are then dealt out again the sooner.
std::uint64_t ProofLanes::share_of_tree(std::uint64_t share) const {
  const auto lanes = prover_->shared()->lanes();
  const auto busy = static_cast<std::uint64_t>(
      std::count_if(lanes.begin(), lanes.end(), [](const auto& lane) { return !lane->is_idle(); }));
  if (busy == 0) return share;
  return std::min(share, std::max(most_alone() * lanes.size() / busy, share * busy / lanes.size()));
}

void ProofLanes::begin_round(double aim, std::uint64_t share, std::uint64_t round_work) {
  rest();
  if (!prover_) return;
  prover_->begin_round(aim);
  if (prover_->finished()) return;
  if (prover_->shared() != nullptr) {
    share_ = share_of_tree(share);
    num_working_ = num_lanes_;
    return;
  }
  // One lane works until the tree is shared. Some of what it does cannot stop at the end of a
  // round; it makes up for that in the next ones.
  share_alone_ = std::min(share, most_alone());
  share_ = share_alone_ - std::min(share_alone_, ahead_ / round_work);
  num_working_ = 1;
}

}  // namespace shardwright::embedding
