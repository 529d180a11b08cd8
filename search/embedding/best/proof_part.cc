#include "search/embedding/best/proof_part.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "search/embedding/best/processes/tree_message.h"
#include "search/message.h"

namespace shardwright::embedding {
namespace {

// A longer start of a tree is not sent: its lanes then stay in process 0. What a process sends in a
// round stays below a megabyte.
constexpr std::size_t kMostStartBytes = 750'000;

// What the lanes of a tree get of a share. While few of them have leaves, each gets less, until
// they have only as much together as one that works alone: leaves are then dealt out again the
// sooner.
std::uint64_t share_of_tree(const TreeView& tree, std::uint64_t share, std::uint64_t most_alone) {
  const std::uint64_t lanes = tree.lanes().size();
  const auto busy = static_cast<std::uint64_t>(std::count_if(
      tree.lanes().begin(), tree.lanes().end(), [](const auto& lane) { return !lane->is_idle(); }));
  if (busy == 0) return share;
  return std::min(share, std::max(most_alone * lanes / busy, share * busy / lanes));
}

bool is_short(const TreeStart& start, const ChoiceModel& model) {
  MessageWriter counter = MessageWriter::counter();
  put(counter, start, model);
  return counter.size() <= kMostStartBytes;
}

}  // namespace

ProofPart::ProofPart(const ChoiceModel& model, bool prove, const BestParameters& parameters,
                     const Budget& budget, const SearchGroup* group)
    : lanes_(parameters.lanes),
      bound_(parameters.bound),
      model_(&model),
      group_(group),
      tree_lanes_(prove ? parameters.bound.targets.tree_lanes : 0),
      first_lane_(prove ? tree_lanes_ + parameters.bound.ranks.lanes : 0),
      done_(1) {
  if (prove && own_process() == 0 && !budget.interrupted())
    prover_ = std::make_unique<BoundProver>(model, bound_);
  if (is_alone()) return;
  if (prove && own_process() != 0) follower_ = std::make_unique<TreeFollower>(model, bound_);
  if (prover_) prover_->keep_starts();
  dealing_ = deal_lanes(tree_lanes_);
  done_.resize(processes());
}

// A proof without trees takes next to no work.
LaneDealing ProofPart::deal_lanes(std::size_t first) const {
  const std::size_t lanes = lanes_.searching();
  bool has_trees = false;
  if (prover_) has_trees = !prover_->is_only_aggregate();
  if (follower_) has_trees = !follower_->is_only_aggregate();
  const std::size_t weight = has_trees ? std::min<std::size_t>(lanes_.usual_proof_share, lanes) : 0;
  return {group_->processes(), first, lanes, weight};
}

const ChoiceModel& ProofPart::tree_model() const {
  if (prover_) return prover_->model();
  return follower_ ? follower_->model() : *model_;
}

// Null if no tree is shared, or if its lanes are not dealt out and this is not process 0.
TreeView* ProofPart::shared_tree() const {
  if (prover_) return prover_->shared();
  return follower_ ? follower_->shared() : nullptr;
}

std::uint32_t ProofPart::process_of(std::size_t lane) const {
  // The lanes of the tree over ranks stay in process 0 and are not dealt out.
  if (lane >= first_lane_) return dealing_.process_of(lane - (first_lane_ - tree_lanes_));
  return order_.is_dealt() && !is_rank_lane(lane) ? order_.processes[lane] : 0;
}

std::uint32_t ProofPart::tree_processes() const {
  std::vector<std::uint32_t> own = order_.processes;
  std::sort(own.begin(), own.end());
  return static_cast<std::uint32_t>(std::unique(own.begin(), own.end()) - own.begin());
}

std::vector<std::uint64_t> ProofPart::count(const std::vector<std::uint64_t>& lane_work) {
  std::vector<std::uint64_t> work(processes());
  for (std::size_t lane = 0; lane < lane_work.size(); ++lane)
    work[process_of(lane)] += lane_work[lane];
  for (std::size_t process = 0; process < work.size(); ++process)
    done_[process] += work[process];
  return work;
}

void ProofPart::run_lane(std::size_t lane, std::uint64_t round_work, Budget& budget) {
  if (is_rank_lane(lane)) {
    if (!prover_ || order_.rank_share == 0) return;
    const std::uint64_t work = order_.rank_share * round_work / busy_rank_lanes_;
    return prover_->run_rank_lane(lane - tree_lanes_, work, budget);
  }
  if (lane >= order_.lanes) return;
  const std::uint64_t work = order_.share * round_work / order_.lanes;
  if (prover_) {
    prover_->run_lane(lane, work, budget);
  } else {
    shared_tree()->lanes()[lane]->run(work, budget);
  }
}

void ProofPart::report(RoundReport& round) const {
  for (std::uint32_t lane = 0; order_.is_dealt() && lane < order_.lanes; ++lane) {
    if (is_own(lane)) round.tree_lanes.push_back({lane, shared_tree()->lanes()[lane]->report()});
  }
}

void ProofPart::take_in(RoundReport& round, std::uint64_t round_work) {
  if (order_.lanes == 1) {
    const std::uint64_t done = ahead_ + round.lane_work.front();
    ahead_ = done - std::min(done, share_alone_ * round_work);
  }
  if (!order_.is_dealt() || is_alone()) return;
  for (TreeLaneReport& other : round.tree_lanes) {
    if (other.lane < order_.lanes && !is_own(other.lane))
      shared_tree()->lanes()[other.lane]->stand_for(std::move(other.report));
  }
  if (follower_) follower_->end_round();
}

// No more than all lanes that look for plans.
std::uint64_t ProofPart::most_alone() const {
  return std::min<std::uint64_t>(lanes_.alone_proof_share, lanes_.searching());
}

// A tree that raises the bound has a share of its own. Another one has what one lane has that works
// alone, or half of it if it is behind.
std::uint64_t ProofPart::share_of_rank_lanes(std::uint64_t share) const {
  if (busy_rank_lanes_ == 0) return 0;
  const bool is_rising = prover_->is_rank_tree_rising();
  share = is_rising ? std::max(share, most_alone()) : std::min(share, most_alone());
  if (!prover_->is_rank_tree_ahead()) share /= lanes_.behind_part;
  return std::min(most_alone() * busy_rank_lanes_, share);
}

// One lane works until the tree is shared. Some of what it does cannot stop at the end of a round;
// it makes up for that in the next ones.
ProofOrder ProofPart::order_alone(ProofOrder next, std::uint64_t share, std::uint64_t round_work) {
  share_alone_ = std::min(share, most_alone());
  next.lanes = 1;
  next.share = share_alone_ - std::min(share_alone_, ahead_ / round_work);
  return next;
}

ProofOrder ProofPart::next_order(double aim, std::uint64_t share, std::uint64_t round_work) {
  ProofOrder next;
  if (!prover_) return next;
  prover_->begin_round(aim);
  if (prover_->finished()) return next;
  busy_rank_lanes_ = prover_->num_busy_rank_lanes();
  next.rank_share = share_of_rank_lanes(share);
  if (prover_->shared() == nullptr) return order_alone(std::move(next), share, round_work);
  const bool is_behind = busy_rank_lanes_ > 0 && prover_->is_rank_tree_rising();
  next.share = is_behind ? std::min(share, most_alone())
                         : share_of_tree(*prover_->shared(), share, most_alone());
  next.lanes = static_cast<std::uint32_t>(prover_->num_lanes());
  next.transfers = prover_->transfers();
  if (is_alone()) return next;
  next.start = prover_->take_start();
  if (!next.start) {
    next.processes = order_.processes;
  } else if (is_short(*next.start, tree_model())) {
    next.processes = dealing_.deal_tree(static_cast<double>(lanes_.calm_proof_share), done_,
                                        lanes_.catch_up_rounds * round_work);
  } else {
    next.start.reset();
  }
  return next;
}

void ProofPart::follow(ProofOrder order) {
  order_ = std::move(order);
  if (!follower_) return;
  if (!order_.is_dealt()) return follower_->end();
  if (std::optional<TreeStart> start = std::exchange(order_.start, std::nullopt))
    follower_->begin(*std::move(start));
  shared_tree()->transfer(order_.transfers);
}

}  // namespace shardwright::embedding
