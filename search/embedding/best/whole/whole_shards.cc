// How the tree of all plans places the shards of one choice.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/embedding/best/whole/whole_search.h"

namespace shardwright::embedding {

// Of the shards that are yet to be placed, those of the current piece cost the same.
bool WholeSearch::can_pay(const Step& step) const {
  const Level& level = levels_[path_.size() - 1];
  const std::uint32_t piece = step.piece - model_->choices()[step.choice].first_piece;
  Priced needed = level.later;
  if (piece + 1 < level.rest.size()) {
    const double part = 1 - static_cast<double>(step.done) / model_->pieces()[step.piece].count;
    for (std::size_t set = 0; set < needed.size(); ++set) {
      const double after = level.rest[piece + step.size][set];
      needed[set] += after + part * (level.rest[piece][set] - after);
    }
  }
  return !outlook_.is_too_much(needed, left_);
}

bool WholeSearch::may_take(std::uint32_t piece, Rank rank) const {
  const Level& level = levels_[path_.size() - 1];
  const WholeTable& table = model_->tables()[level.table];
  return model_->allows(piece, rank) && (!table.has_groups || level.open[rank] != 0) &&
         (!table.distinct || (state_.rank(rank).tables >> level.table & 1) == 0) &&
         state_.has_room(rank, model_->pieces()[piece], below_);
}

bool WholeSearch::may_take_all(const Step& step, Rank first) const {
  for (std::uint32_t i = 0; i < step.size; ++i) {
    if (!may_take(step.piece + i, first + i)) return false;
  }
  return true;
}

// What the load of the rank, or the largest of the host, becomes.
double WholeSearch::load_with(const Step& step, Rank first) const {
  double most = 0;
  for (Rank rank = first; rank < first + step.size; ++rank) {
    const WholePiece& piece = model_->pieces()[step.piece + rank - first];
    most = std::max(most, state_.rank(rank).load + piece.load * state_.scale(rank));
  }
  return most;
}

bool WholeSearch::has_earlier_twin(const Step& step, Rank first) const {
  const Level& level = levels_[path_.size() - 1];
  const bool host = model_->choices()[step.choice].reach == Reach::kWholeHosts;
  for (Rank other = step.first; other < first; other += step.size) {
    if (host ? state_.are_twin_hosts(level.future, other / step.size, first / step.size)
             : state_.are_twins(level.future, other, first))
      return true;
  }
  return false;
}

// Tries ranks, or hosts, in ascending order of what their load becomes.
void WholeSearch::visit_shards(const Step& step) {
  const Level& level = levels_[path_.size() - 1];
  const WholeTable& table = model_->tables()[level.table];
  const WholeChoice& choice = model_->choices()[step.choice];
  if (step.piece == choice.end_piece)
    return visit(level.future.remaining & ~(std::uint64_t{1} << level.table));
  if (level.is_last && step.piece + step.size == choice.end_piece && table.bond != Bond::kRank)
    return place_last(step);
  const std::vector<Rank>& ranks = placed_[level.table].ranks;
  Rank first = step.first;
  Rank end = step.end;
  if (step.done > 0) first = std::max(first, ranks[ranks.size() - step.size]);
  if (table.bond == Bond::kRank && !ranks.empty()) {
    first = std::max(first, ranks.front());
    end = ranks.front() + 1;
  }
  const std::size_t begin = order_.size();
  updates_ += 1 + (step.end - step.first) / 4;
  for (Rank rank = first; rank + step.size <= end; rank += step.size) {
    if (may_take_all(step, rank) && !has_earlier_twin(step, rank))
      order_.emplace_back(load_with(step, rank), rank);
  }
  const std::size_t stop = order_.size();
  std::sort(order_.begin() + static_cast<std::ptrdiff_t>(begin), order_.end());
  for (std::size_t i = begin; i < stop && !is_cut(); ++i)
    place(step, order_[i].second);
  order_.resize(begin);
}

// Equal shards that nothing follows: each goes where the load becomes least, which is optimal.
void WholeSearch::place_last(const Step& step) {
  updates_ += 1 + (step.end - step.first) / 4;
  Rank best = step.end;
  double least = below_;
  for (Rank rank = step.first; rank + step.size <= step.end; rank += step.size) {
    const double load = load_with(step, rank);
    if (load >= least || !may_take_all(step, rank)) continue;
    least = load;
    best = rank;
  }
  if (best == step.end) return;
  place(step, best);
}

void WholeSearch::place(const Step& step, Rank first) {
  const Level& level = levels_[path_.size() - 1];
  std::vector<Rank>& ranks = placed_[level.table].ranks;
  const Priced left = left_;
  Step next = step;
  for (Rank rank = first; rank < first + step.size; ++rank) {
    const std::uint32_t piece = step.piece + rank - first;
    const Priced& cost = outlook_.prices().of(piece, rank);
    for (std::size_t set = 0; set < left_.size(); ++set)
      left_[set] -= cost[set];
    before_.push_back(state_.add(rank, model_->pieces()[piece], std::uint64_t{1} << level.table));
    ranks.push_back(rank);
  }
  updates_ += step.size;
  if (++next.done == model_->pieces()[step.piece].count) {
    next.done = 0;
    next.piece += step.size;
  }
  if (can_pay(next)) visit_shards(next);
  for (Rank rank = first + step.size; rank > first; --rank) {
    state_.restore(rank - 1, before_.back());
    before_.pop_back();
    ranks.pop_back();
  }
  left_ = left;
}

}  // namespace shardwright::embedding
