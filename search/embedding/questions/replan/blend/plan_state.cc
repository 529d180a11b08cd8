#include "search/embedding/questions/replan/blend/plan_state.h"

#include <span>
#include <utility>

namespace shardwright::embedding {

bool is_same(const Assignment& a, const Assignment& b) {
  if (a.option != b.option) return false;
  for (std::uint32_t shard = 0; shard < a.option->num_shards(); ++shard) {
    if (a.rank(shard) != b.rank(shard)) return false;
  }
  return true;
}

Plan as_edit_of(const Plan& base, const Plan& other, PlanCopies& copies) {
  PlanEdit edit(base);
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (!is_same(base[i], other[i])) edit.set(i, other[i]);
  }
  return edit.publish(copies);
}

PlanState::PlanState(Plan start, const PlanCosts& costs)
    : costs_(costs), start_(std::move(start)), loads_(costs.problem(), costs.available()) {
  at_.reserve(start_.size());
  moved_by_table_.reserve(start_.size());
  copied_by_table_.resize(start_.size());
  for (std::size_t i = 0; i < start_.size(); ++i) {
    at_.push_back(start_[i]);
    loads_.add(at_[i]);
    moved_by_table_.push_back(costs_.moved_bytes(at_[i]));
    moved_ += moved_by_table_[i];
  }
}

TableChange PlanState::change_to(std::size_t position, Assignment to) const {
  const std::int64_t moved = costs_.moved_bytes(to);
  return {position, std::move(to), moved, 0};
}

TableChange PlanState::move_shard(std::size_t position, std::uint32_t shard, Rank rank) const {
  const Assignment& from = at_[position];
  std::vector<Rank> ranks;
  for (std::uint32_t i = 0; i < from.option->num_shards(); ++i)
    ranks.push_back(i == shard ? rank : from.rank(i));
  TableChange change = change_to(position, {from.option, SharedArray<Rank>(std::span(ranks))});
  change.copied_bytes = change.to.ranks.view().size_bytes();
  return change;
}

void PlanState::apply(const PlanStep& step) {
  for (const TableChange& change : step) {
    loads_.remove(at_[change.position]);
    moved_ += change.moved_bytes - moved_by_table_[change.position];
    moved_by_table_[change.position] = change.moved_bytes;
    copied_by_table_[change.position] = change.copied_bytes;
    at_[change.position] = change.to;
    loads_.add(change.to);
  }
}

PlanStep PlanState::inverse(const PlanStep& step) const {
  PlanStep back;
  back.reserve(step.size());
  for (const TableChange& change : step) {
    const std::size_t at = change.position;
    back.push_back({at, at_[at], moved_by_table_[at], copied_by_table_[at]});
  }
  return back;
}

PlanCost PlanState::cost() const {
  return {loads_.excess_bytes(), costs_.cost(loads_.rating(), moved_), moved_};
}

PlanCost PlanState::cost_after(const PlanStep& step) {
  const PlanStep back = inverse(step);
  apply(step);
  const PlanCost after = cost();
  apply(back);
  return after;
}

Plan PlanState::plan(PlanCopies& copies) const {
  PlanEdit edit(start_);
  for (std::size_t i = 0; i < at_.size(); ++i) {
    const bool shared =
        at_[i].option == start_[i].option && at_[i].ranks.identity() == start_[i].ranks.identity();
    if (shared) continue;
    edit.set(i, at_[i]);
    copies.rank_bytes_copied += copied_by_table_[i];
  }
  return edit.publish(copies);
}

}  // namespace shardwright::embedding
