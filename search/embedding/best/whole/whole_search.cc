#include "search/embedding/best/whole/whole_search.h"

#include <algorithm>

namespace shardwright::embedding {
namespace {

constexpr double kLargest = 1e300;             // its sums and products are finite
constexpr std::uint64_t kPerCheck = 1U << 14;  // work between looks at the budget

}  // namespace

WholeAnswer WholeSearch::solve(const SearchContext& context, double below, std::uint64_t work,
                               const Budget& budget) {
  WholeAnswer answer;
  const WholeModel model(context, below);
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
  if (!outlook_.look(remaining, below_, view)) return;
  Level& level = levels_[path_.size()];
  const WholeTable& table = model_->tables()[view.next];
  const std::uint64_t all = (std::uint64_t{1} << model_->tables().size()) - 1;
  level.table = view.next;
  level.future = state_.future(view.next, remaining);
  level.later = view.later;
  level.before = last_alike(view.next);
  level.is_last = (remaining & (remaining - 1)) == 0;
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
  const std::uint32_t size = model_->pieces_per_place(choice);
  for (std::uint32_t i = choice.end_piece - choice.first_piece; i > 0; i -= size) {
    level.rest[i - size] = level.rest[i];
    if (!outlook_.price_pieces(table, choice, choice.first_piece + i - size, first, end, open,
                               below_, level.rest[i - size]))
      return;
  }
  const Step step{index, choice.first_piece, size, 0, first, end, tight};
  if (can_pay(step)) visit_shards(step);
}

void WholeSearch::keep_best() {
  double most = 0;
  for (Rank rank = 0; rank < model_->num_ranks(); ++rank)
    most = std::max(most, state_.rank(rank).load);
  if (!(most < below_)) return;
  best_ = placed_;
  found_ = true;
  below_ = most * (1 - kLeastGain);
}

}  // namespace shardwright::embedding
