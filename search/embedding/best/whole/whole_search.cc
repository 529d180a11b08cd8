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

void WholeSearch::visit(std::uint64_t remaining) {
  if (is_cut()) return;
  if (remaining == 0) return keep_best();
  const WholeDigest state = digest(remaining);
  if (seen_.contains(state)) return;
  WholeOutlook::View view;
  if (outlook_.look(remaining, below_, view)) visit_table(remaining, view);
  if (!cut_) seen_.insert(state);
}

// What decides which plans follow, and how they rate. What came before does not.
WholeDigest WholeSearch::digest(std::uint64_t remaining) {
  WholeDigest state;
  state.add(remaining);
  for (std::size_t table = 0; table < model_->tables().size(); ++table) {
    if ((remaining >> table & 1) != 0) state.add(least_choice(table));
  }
  state_.add_to(state, remaining);
  updates_ += 1 + model_->num_ranks() / 4;
  return state;
}

// Of interchangeable tables, those that are decided later take no smaller choice: the first that
// this one may take.
std::uint32_t WholeSearch::least_choice(std::size_t table) const {
  for (std::size_t i = path_.size(); i > 0; --i) {
    const std::size_t other = path_[i - 1];
    if ((model_->tables()[table].alike >> other & 1) != 0)
      return placed_[other].choice - model_->tables()[other].first_choice;
  }
  return 0;
}

void WholeSearch::visit_table(std::uint64_t remaining, const WholeOutlook::View& view) {
  Level& level = levels_[path_.size()];
  const WholeTable& table = model_->tables()[view.next];
  const std::uint64_t all = (std::uint64_t{1} << model_->tables().size()) - 1;
  level.table = view.next;
  level.future = state_.future(view.next, remaining);
  level.later = view.later;
  level.is_last = (remaining & (remaining - 1)) == 0;
  if (table.has_groups) state_.find_open(view.next, all & ~remaining, level.open);
  const std::uint32_t first = table.first_choice + least_choice(view.next);
  path_.push_back(view.next);
  for (std::uint32_t c = first; c < table.end_choice && !is_cut(); ++c) {
    left_ = view.left;
    visit_choice(c);
  }
  path_.pop_back();
}

void WholeSearch::visit_choice(std::uint32_t index) {
  const Level& level = levels_[path_.size() - 1];
  const WholeChoice& choice = model_->choices()[index];
  placed_[level.table].choice = index;
  placed_[level.table].ranks.clear();
  const std::uint32_t size = choice.on_one_host ? model_->ranks_per_host() : model_->num_ranks();
  const Priced left = left_;
  for (Rank first = 0; first + size <= model_->num_ranks() && !is_cut(); first += size) {
    bool twin = false;
    for (Rank other = 0; size < model_->num_ranks() && other < first && !twin; other += size)
      twin = state_.are_twin_hosts(level.future, other / size, first / size);
    if (twin) continue;
    left_ = left;
    visit_within(index, first, first + size);
  }
}

void WholeSearch::visit_within(std::uint32_t index, Rank first, Rank end) {
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
  const Step step{index, choice.first_piece, size, 0, first, end};
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
