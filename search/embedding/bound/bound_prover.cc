#include "search/embedding/bound/bound_prover.h"

#include <algorithm>

#include "search/embedding/bound/capacity_split_trees.h"
#include "search/embedding/bound/lagrangian_tree.h"
#include "search/embedding/bound/root_search.h"

namespace shardwright::embedding {

// Lists the methods from cheap to expensive. RootSearch is first because it is cheap for tiny
// problems; for other problems its WorkShare makes it wait.
BoundProver::BoundProver(const ChoiceModel& model, const BoundParameters& parameters)
    : proof_(model, parameters) {
  const BoundMethods& on = parameters.methods;
  const auto add = [&](auto method) { methods_.push_back(std::move(method)); };
  const bool has_programs = !proof_.shared_trees().is_only_aggregate();
  if (has_programs && on.root_search) add(std::make_unique<RootSearch>(proof_.parameters()));
  if (on.aggregate) add(std::make_unique<AggregateMethod>());
  if (on.lagrangian_tree) add(std::make_unique<LightTrees>());
  if (!has_programs) return;
  if (on.uniform_apart && CapacitySplitTrees::may_help(proof_))
    add(std::make_unique<CapacitySplitTrees>(proof_));
  if (!on.branch_and_price) return;
  auto own = std::make_unique<BranchAndPrice>(proof_);
  branch_and_price_ = own.get();
  add(std::move(own));
}

void BoundProver::run(std::uint64_t work, double rating, Budget& budget) {
  constexpr std::uint64_t kRoundWork = 100'000;  // of one lane
  const std::uint64_t end = budget.work_done() + work;
  for (std::uint64_t before = budget.work_done(); before < end && !budget.interrupted();) {
    begin_round(rating);
    if (finished()) return;
    for (std::size_t lane = 0; lane < (is_shared() ? num_lanes() : 1); ++lane)
      run_lane(lane, is_shared() ? kRoundWork : end - before, budget);
    end_round();
    if (budget.work_done() == before && !is_shared()) return;
    before = budget.work_done();
  }
}

void BoundProver::begin_round(double rating) {
  const bool begins_again = finished_ && rating < proof_.rating();
  proof_.set_rating(rating);
  finished_ = proof_.proves(rating) || (finished_ && !begins_again);
  if (branch_and_price_ != nullptr) branch_and_price_->begin_round(proof_, begins_again, finished_);
}

void BoundProver::run_lane(std::size_t lane, std::uint64_t work, Budget& budget) {
  if (is_shared()) {
    branch_and_price_->run_lane(lane, work, budget);
  } else if (lane == 0) {
    run_alone(work, budget);
  }
}

void BoundProver::end_round() {
  if (branch_and_price_ == nullptr || finished_) return;
  tell_others(*branch_and_price_, branch_and_price_->end_round(proof_));
}

void BoundProver::tell_others(const BoundMethod& own, std::uint64_t work) {
  for (const auto& method : methods_) {
    if (method.get() != &own) method->note_others(work);
  }
}

// Returns early when the lanes should share a tree.
void BoundProver::run_alone(std::uint64_t work, Budget& budget) {
  const std::uint64_t end = budget.work_done() + work;
  while (!finished_ && budget.work_done() < end && !budget.interrupted()) {
    if (branch_and_price_ != nullptr && branch_and_price_->should_share()) return;
    BoundMethod* const next = next_method();
    if (next != nullptr) {
      const std::uint64_t before = budget.work_done();
      next->step(proof_, budget);
      tell_others(*next, budget.work_done() - before);
    }
    finished_ = next == nullptr || proof_.proves(proof_.rating());
  }
}

// Returns the method whose target is not finished, or else the first method that is due, or else
// the last method that has more to try; null if there is none.
BoundMethod* BoundProver::next_method() const {
  const auto goes_on = [](const auto& method) { return method->goes_on(); };
  const auto is_due = [&](const auto& method) { return method->is_due(proof_); };
  const auto has_more = [&](const auto& method) { return method->has_more(proof_); };
  auto next = std::find_if(methods_.begin(), methods_.end(), goes_on);
  if (next == methods_.end()) next = std::find_if(methods_.begin(), methods_.end(), is_due);
  if (next != methods_.end()) return next->get();
  const auto last = std::find_if(methods_.rbegin(), methods_.rend(), has_more);
  return last != methods_.rend() ? last->get() : nullptr;
}

}  // namespace shardwright::embedding
