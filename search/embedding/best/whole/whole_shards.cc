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
      const double after = level.rest[piece + 1][set];
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

// Tries ranks in ascending order of what their load becomes.
void WholeSearch::visit_shards(const Step& step) {
  const Level& level = levels_[path_.size() - 1];
  const WholeTable& table = model_->tables()[level.table];
  const WholeChoice& choice = model_->choices()[step.choice];
  if (step.piece == choice.end_piece)
    return visit(level.future.remaining & ~(std::uint64_t{1} << level.table));
  if (level.is_last && step.piece + 1 == choice.end_piece && table.bond != Bond::kRank)
    return place_last(step);
  const std::vector<Rank>& ranks = placed_[level.table].ranks;
  Rank first = step.first;
  Rank end = step.end;
  if (step.done > 0) first = std::max(first, ranks.back());
  if (step.tight) first = std::max(first, level.before->ranks[ranks.size()]);
  if (table.bond == Bond::kRank && !ranks.empty()) {
    first = std::max(first, ranks.front());
    end = ranks.front() + 1;
  }
  const std::size_t begin = order_.size();
  updates_ += 1 + (step.end - step.first) / 4;
  for (Rank rank = first; rank < end; ++rank) {
    if (!may_take(step.piece, rank)) continue;
    bool twin = false;
    for (Rank other = step.first; other < rank && !twin; ++other)
      twin = state_.are_twins(level.future, other, rank);
    if (twin) continue;
    order_.emplace_back(
        state_.rank(rank).load + model_->pieces()[step.piece].load * state_.scale(rank), rank);
  }
  const std::size_t stop = order_.size();
  std::sort(order_.begin() + static_cast<std::ptrdiff_t>(begin), order_.end());
  for (std::size_t i = begin; i < stop && !is_cut(); ++i)
    place(step, order_[i].second);
  order_.resize(begin);
}

// Equal shards that nothing follows: each goes where the load becomes least, which is optimal.
void WholeSearch::place_last(const Step& step) {
  const WholePiece& piece = model_->pieces()[step.piece];
  updates_ += 1 + (step.end - step.first) / 4;
  Rank best = step.end;
  double least = below_;
  for (Rank rank = step.first; rank < step.end; ++rank) {
    const double load = state_.rank(rank).load + piece.load * state_.scale(rank);
    if (load >= least || !may_take(step.piece, rank)) continue;
    least = load;
    best = rank;
  }
  if (best == step.end) return;
  Step next = step;
  next.tight = false;
  place(next, best);
}

void WholeSearch::place(const Step& step, Rank rank) {
  const Level& level = levels_[path_.size() - 1];
  const WholePiece& piece = model_->pieces()[step.piece];
  std::vector<Rank>& ranks = placed_[level.table].ranks;
  const Priced left = left_;
  const Priced& cost = outlook_.prices().of(step.piece, rank);
  for (std::size_t set = 0; set < left_.size(); ++set)
    left_[set] -= cost[set];
  const WholeRank before = state_.add(rank, piece, std::uint64_t{1} << level.table);
  ++updates_;
  Step next = step;
  next.tight = step.tight && level.before->ranks[ranks.size()] == rank;
  ranks.push_back(rank);
  if (++next.done == piece.count) {
    next.done = 0;
    ++next.piece;
  }
  if (can_pay(next)) visit_shards(next);
  ranks.pop_back();
  state_.restore(rank, before);
  left_ = left;
}

// Places the shards block by block, each on a whole host.
void WholeSearch::visit_blocks(std::uint32_t index, std::uint32_t piece) {
  const Level& level = levels_[path_.size() - 1];
  const WholeChoice& choice = model_->choices()[index];
  if (piece == choice.end_piece)
    return visit(level.future.remaining & ~(std::uint64_t{1} << level.table));
  const std::uint32_t local = model_->ranks_per_host();
  std::vector<Rank>& ranks = placed_[level.table].ranks;
  std::vector<WholeRank> before(local);
  for (Rank first = 0; first < model_->num_ranks() && !is_cut(); first += local) {
    if (choice.on_one_host && !ranks.empty() && ranks.front() != first) continue;
    bool twin = false;
    for (Rank other = 0; other < first && !twin; other += local)
      twin = state_.are_twin_hosts(level.future, other / local, first / local);
    if (twin) continue;
    std::uint32_t done = 0;
    for (; done < local && may_take(piece + done, first + done); ++done) {
      before[done] =
          state_.add(first + done, model_->pieces()[piece + done], std::uint64_t{1} << level.table);
      ranks.push_back(first + done);
      ++updates_;
    }
    if (done == local) visit_blocks(index, piece + local);
    for (; done > 0; --done) {
      state_.restore(first + done - 1, before[done - 1]);
      ranks.pop_back();
    }
  }
}

}  // namespace shardwright::embedding
