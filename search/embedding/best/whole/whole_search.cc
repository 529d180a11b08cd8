#include "search/embedding/best/whole/whole_search.h"

#include <algorithm>

namespace shardwright::embedding {
namespace {

constexpr double kLargest = 1e300;             // its sums and products are finite
constexpr std::uint64_t kPerCheck = 1U << 14;  // work between looks at the budget

}  // namespace

WholeAnswer WholeSearch::solve(const SearchContext& context, double below, std::uint64_t work,
                               const Budget& budget, const ExtraCost& extra) {
  WholeAnswer answer;
  const WholeModel model(context, below, extra);
  if (model.is_hopeless()) {
    answer.complete = true;
    return answer;
  }
  WholeSearch search(model, below, work, budget);
  const std::size_t tables = model.tables().size();
  search.visit((std::uint64_t{1} << tables) - 1);
  answer.complete = !search.cut_;
  answer.better = search.found_;
  answer.work = search.updates_ + search.outlook_.work();
  if (answer.complete) answer.prices = search.outlook_.prices().as_leaves();
  if (!search.found_) return answer;
  answer.allocation = Allocation(tables);
  for (std::size_t i = 0; i < tables; ++i) {
    const WholeChoice& choice = model.choices()[search.best_[i].choice];
    const std::uint32_t table = model.tables()[i].table;
    answer.allocation.choice[table] = choice.choice;
    if (choice.reach != Reach::kAllRanks) answer.allocation.ranks[table] = search.best_[i].ranks;
  }
  return answer;
}

WholeSearch::WholeSearch(const WholeModel& model, double below, std::uint64_t work,
                         const Budget& budget)
    : model_(&model),
      state_(model),
      below_(std::min(below, kLargest)),
      outlook_(model, state_, below_),
      budget_(&budget),
      levels_(model.tables().size()),
      placed_(model.tables().size()),
      best_(model.tables().size()),
      end_of_work_(work) {}

bool WholeSearch::is_cut() {
  if (cut_) return true;
  const std::uint64_t work = updates_ + outlook_.work();
  if (work >= end_of_work_) return cut_ = true;
  if (work < next_check_) return false;
  next_check_ = work + kPerCheck;
  return cut_ = budget_->interrupted().has_value();
}

const WholeSearch::Placed* WholeSearch::last_alike(std::size_t table) const {
  for (std::size_t i = path_.size(); i > 0; --i) {
    if ((model_->tables()[table].alike >> path_[i - 1] & 1) != 0) return &placed_[path_[i - 1]];
  }
  return nullptr;
}

void WholeSearch::visit(std::uint64_t remaining) {
  if (is_cut()) return;
  if (remaining == 0) return keep_best();
  WholeOutlook::View view;
  if (!outlook_.look(remaining, below(), view)) return;
  Level& level = levels_[path_.size()];
  const WholeTable& table = model_->tables()[view.next];
  const std::uint64_t all = (std::uint64_t{1} << model_->tables().size()) - 1;
  level.table = view.next;
  level.future = state_.future(view.next, remaining);
  level.later = view.later;
  level.before = last_alike(view.next);
  level.is_last = (remaining & (remaining - 1)) == 0 && !model_->has_extra();
  if (table.has_groups) state_.find_open(view.next, all & ~remaining, level.open);
  path_.push_back(view.next);
  for (std::uint32_t c = table.first_choice; c < table.end_choice && !is_cut(); ++c) {
    left_ = view.left;
    visit_choice(c);
  }
  path_.pop_back();
}

void WholeSearch::visit_choice(std::uint32_t index) {
  const Level& level = levels_[path_.size() - 1];
  const WholeTable& table = model_->tables()[level.table];
  const WholeChoice& choice = model_->choices()[index];
  bool tight = false;
  if (level.before != nullptr) {
    const std::size_t other = static_cast<std::size_t>(level.before - placed_.data());
    const std::uint32_t least = level.before->choice - model_->tables()[other].first_choice;
    if (index - table.first_choice < least) return;
    tight = index - table.first_choice == least;
  }
  placed_[level.table].choice = index;
  placed_[level.table].ranks.clear();
  if (choice.reach == Reach::kWholeHosts) return visit_blocks(index, choice.first_piece);
  const std::uint32_t size = choice.on_one_host ? model_->ranks_per_host() : model_->num_ranks();
  const Priced left = left_;
  for (Rank first = 0; first < model_->num_ranks() && !is_cut(); first += size) {
    bool twin = false;
    for (Rank other = 0; size < model_->num_ranks() && other < first && !twin; other += size)
      twin = state_.are_twin_hosts(level.future, other / size, first / size);
    if (twin) continue;
    left_ = left;
    visit_within(index, first, first + size, tight);
  }
}

void WholeSearch::visit_within(std::uint32_t index, Rank first, Rank end, bool tight) {
  Level& level = levels_[path_.size() - 1];
  const WholeTable& table = model_->tables()[level.table];
  const WholeChoice& choice = model_->choices()[index];
  const std::vector<std::uint8_t>* const open = table.has_groups ? &level.open : nullptr;
  level.rest.assign(choice.end_piece - choice.first_piece + 1, Priced{});
  for (std::uint32_t i = choice.end_piece - choice.first_piece; i > 0; --i) {
    level.rest[i - 1] = level.rest[i];
    if (!outlook_.price_piece(table, choice.first_piece + i - 1, first, end, open, below(),
                              level.rest[i - 1]))
      return;
  }
  const Step step{index, choice.first_piece, 0, first, end, tight};
  if (can_pay(step)) visit_shards(step);
}

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
         state_.has_room(rank, model_->pieces()[piece], below() - model_->extra(piece, rank));
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
  double least = below();
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
  const double spent = spent_;
  const Priced& cost = outlook_.prices().of(step.piece, rank);
  for (std::size_t set = 0; set < left_.size(); ++set)
    left_[set] -= cost[set];
  spent_ += model_->extra(step.piece, rank);
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
  spent_ = spent;
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
  const double spent = spent_;
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
      spent_ += model_->extra(piece + done, first + done);
      ranks.push_back(first + done);
      ++updates_;
    }
    if (done == local) visit_blocks(index, piece + local);
    for (; done > 0; --done) {
      state_.restore(first + done - 1, before[done - 1]);
      ranks.pop_back();
    }
    spent_ = spent;
  }
}

void WholeSearch::keep_best() {
  double most = 0;
  for (Rank rank = 0; rank < model_->num_ranks(); ++rank)
    most = std::max(most, state_.rank(rank).load);
  if (!(most < below())) return;
  best_ = placed_;
  found_ = true;
  below_ = (most + spent_) * (1 - kLeastGain);
}

}  // namespace shardwright::embedding
