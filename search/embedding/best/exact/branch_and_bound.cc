#include "search/embedding/best/exact/branch_and_bound.h"

#include <algorithm>

namespace shardwright::embedding {
namespace {

constexpr double kLargest = 1e300;   // its sums and products are finite
constexpr double kRounding = 1e-12;  // relative, of sums over a window

}  // namespace

BranchAndBound::BranchAndBound(AllocationState& state)
    : state_(&state),
      symmetry_(state),
      window_(state.model().world_size(), state.model().local_world_size()),
      items_(state) {}

void BranchAndBound::begin_symmetry() {
  bool ruled = false;
  bool hosts_apart = false;
  for (const FreeItems::Item& item : items_.items()) {
    ruled = ruled || state_->model().rules().constrains(state_->model().table(item.free.table));
    if (item.is_table()) continue;
    hosts_apart = hosts_apart || state_->chosen(item.free.table).reach == Reach::kHost;
  }
  symmetry_.begin(window_.ranks(), items_.all_choices(), ruled, hosts_apart);
}

// Tentatively.
void BranchAndBound::take_items_away() {
  for (const FreeItems::Item& item : items_.items()) {
    const std::uint32_t table = item.free.table;
    if (!item.is_table()) {
      state_->remove(state_->slot(item.free.slot).rank, item.use);
      continue;
    }
    if (state_->has_choice(table)) state_->take_away(table);
  }
  work_ += state_->num_tentative();
}

void BranchAndBound::note_best() {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const FreeItem& free = items_[i].free;
    const Placed& placed = best_[i];
    if (!items_[i].is_table()) {
      state_->add(placed.ranks.front(), items_[i].use);
      state_->keep();
      state_->note_rank(free.slot, placed.ranks.front());
      continue;
    }
    const Choice& choice = state_->model().choices()[placed.choice];
    if (choice.reach == Reach::kAllRanks) state_->add_everywhere(choice);
    for (std::size_t k = 0; k < placed.ranks.size(); ++k)
      state_->add(placed.ranks[k], state_->context().shards(placed.choice)[k]);
    state_->keep();
    state_->note_choice(free.table, placed.choice, placed.ranks);
  }
}

SubproblemAnswer BranchAndBound::solve(const Subproblem& problem) {
  window_.assign(problem.window);
  below_ = std::min(problem.below, kLargest);
  limit_ = problem.limit;
  found_ = false;
  end_of_work_ = work_ + problem.work;
  items_.assign(problem.items, window_, below_);
  begin_symmetry();
  placed_.resize(std::max(placed_.size(), items_.size()));
  best_.resize(placed_.size());
  take_items_away();
  const std::size_t mark = state_->num_tentative();
  visit(0);
  state_->take_back(found_ ? mark : 0);
  if (found_) note_best();
  return {found_, !is_cut()};
}

// The bound. Returns false if the remaining items need more than the ranks have left, at one of the
// prices. Ranks that cannot take even the smallest item count as full.
bool BranchAndBound::may_fit(std::size_t depth) {
  const bool is_end = depth == items_.size();
  FreeItems::Priced room{};
  for (const Rank rank : window_.ranks()) {
    const RankLoad& at = state_->ranks()[rank];
    if (at.load >= below_) return false;
    if (is_end) continue;
    const FreeItems::Least& least = items_[depth].smallest;
    if (at.load + state_->scaled(rank, least.load) >= below_ || !at.has_room(least.storage)) {
      continue;
    }
    const double load = (below_ - at.load) / state_->model().time_scale(rank);
    const PerTier<double> left = as_doubles(most_of(at.left, Storage()));
    for (std::size_t p = 0; p < FreeItems::kPrices; ++p)
      room[p] += items_.priced_without_ssd(p, load, left);
    for (std::size_t p = 0; p < FreeItems::kPrices && left.ssd > 0; ++p)
      room[p] += items_.price_of_ssd(p) * left.ssd;
  }
  work_ += 1 + window_.ranks().size() / 2;
  if (is_end) return true;
  for (std::size_t p = 0; p < FreeItems::kPrices; ++p) {
    if (items_[depth].needed[p] > room[p] * (1 + kRounding)) return false;
  }
  return true;
}

void BranchAndBound::visit(std::size_t depth) {
  if (is_cut() || !may_fit(depth)) return;
  if (depth == items_.size()) return keep_best();
  const FreeItems::Item& item = items_[depth];
  if (!item.is_table()) {
    placed_[depth].ranks.clear();
    Part part = window_.all();
    if (state_->chosen(item.free.table).reach == Reach::kHost) {
      const Rank rank = state_->slot(item.free.slot).rank;
      part = window_.on_host(rank / state_->model().local_world_size());
    }
    return visit_shards(depth, {&item.use, 1}, 0, part);
  }
  for (const std::uint32_t choice : items_.choices(item)) {
    if (is_cut()) return;
    visit_choice(depth, choice);
  }
}

void BranchAndBound::visit_choice(std::size_t depth, std::uint32_t index) {
  ++work_;
  const Choice& choice = state_->model().choices()[index];
  if (state_->context().fastest(choice.max_load) >= below_) return;
  placed_[depth].choice = index;
  placed_[depth].ranks.clear();
  if (choice.reach == Reach::kAllRanks) {
    const std::size_t mark = state_->num_tentative();
    if (add_everywhere(choice)) visit(depth + 1);
    return state_->take_back(mark);
  }
  const std::span<const ShardUse> uses = state_->context().shards(index);
  if (choice.reach == Reach::kWholeHosts) return visit_blocks(depth, uses, 0);
  if (choice.reach == Reach::kDevice) return visit_shards(depth, uses, 0, window_.all());
  for (const std::uint32_t host : window_.hosts()) {
    if (host >= state_->model().num_hosts()) break;
    if (!has_earlier_twin_host(host)) visit_shards(depth, uses, 0, window_.on_host(host));
  }
}

bool BranchAndBound::has_earlier_twin(std::size_t index, Part part) const {
  for (std::size_t i = part.begin; i < index; ++i) {
    if (symmetry_.are_twins(window_.ranks()[i], window_.ranks()[index])) return true;
  }
  return false;
}

bool BranchAndBound::has_earlier_twin_host(std::uint32_t host) const {
  for (const std::uint32_t earlier : window_.hosts()) {
    if (earlier == host) break;
    if (symmetry_.are_twin_hosts(earlier, host)) return true;
  }
  return false;
}

// Interchangeable shards go to ranks in ascending order.
std::size_t BranchAndBound::first_place(std::size_t depth, std::span<const ShardUse> uses,
                                        std::size_t shard, Part part) const {
  if (shard > 0 && are_interchangeable(uses[shard], uses[shard - 1]))
    return window_.index_of(placed_[depth].ranks.back());
  if (items_[depth].like_before) return window_.index_of(placed_[depth - 1].ranks.back());
  return part.begin;
}

// Tries ranks in ascending order of what their load becomes.
void BranchAndBound::visit_shards(std::size_t depth, std::span<const ShardUse> uses,
                                  std::size_t shard, Part part) {
  if (shard == uses.size()) return visit(depth + 1);
  const ShardUse& use = uses[shard];
  const std::size_t begin = order_.size();
  const std::size_t first = first_place(depth, uses, shard, part);
  work_ += 1 + (part.end - std::min(first, part.end));
  for (std::size_t i = first; i < part.end; ++i) {
    const Rank rank = window_.ranks()[i];
    const RankLoad& at = state_->ranks()[rank];
    const double load = at.load + state_->scaled(rank, use.load);
    if (load < below_ && at.has_room_for(use) && !has_earlier_twin(i, part)) {
      order_.emplace_back(load, i);
    }
  }
  const std::size_t end = order_.size();
  std::sort(order_.begin() + static_cast<std::ptrdiff_t>(begin), order_.end());
  for (std::size_t i = begin; i < end && !is_cut(); ++i) {
    const Rank rank = window_.ranks()[order_[i].second];
    const std::size_t mark = state_->num_tentative();
    if (add(rank, use)) {
      placed_[depth].ranks.push_back(rank);
      visit_shards(depth, uses, shard + 1, part);
      placed_[depth].ranks.pop_back();
    }
    state_->take_back(mark);
  }
  order_.resize(begin);
}

// Places the shards block by block, each on a whole host.
void BranchAndBound::visit_blocks(std::size_t depth, std::span<const ShardUse> uses,
                                  std::size_t shard) {
  if (shard == uses.size()) return visit(depth + 1);
  const std::uint32_t local = state_->model().local_world_size();
  std::uint32_t first = 0;
  if (shard > 0) {
    const auto block = uses.subspan(shard, local);
    const auto before = uses.subspan(shard - local, local);
    if (std::equal(block.begin(), block.end(), before.begin(), are_interchangeable))
      first = placed_[depth].ranks.back() / local;
  }
  work_ += window_.hosts().size();
  for (const std::uint32_t host : window_.hosts()) {
    if (is_cut()) break;
    if (host < first) continue;
    const Part part = window_.on_host(host);
    if (part.end - part.begin < local || has_earlier_twin_host(host)) continue;
    visit_block_on(host, depth, uses, shard);
  }
}

void BranchAndBound::visit_block_on(std::uint32_t host, std::size_t depth,
                                    std::span<const ShardUse> uses, std::size_t shard) {
  const std::uint32_t local = state_->model().local_world_size();
  const std::size_t mark = state_->num_tentative();
  bool fits = true;
  for (std::uint32_t k = 0; k < local && fits; ++k)
    fits = add(host * local + k, uses[shard + k]);
  if (fits) {
    std::vector<Rank>& ranks = placed_[depth].ranks;
    for (std::uint32_t k = 0; k < local; ++k)
      ranks.push_back(host * local + k);
    visit_blocks(depth, uses, shard + local);
    ranks.resize(ranks.size() - local);
  }
  state_->take_back(mark);
}

// Tentatively. Returns true if the branch is still feasible.
bool BranchAndBound::add(Rank rank, const ShardUse& use) {
  state_->add(rank, use);
  ++work_;
  const RankLoad& at = state_->ranks()[rank];
  return at.load < (window_.contains(rank) ? below_ : limit_) && at.fits() &&
         state_->rules().broken() == 0;
}

bool BranchAndBound::add_everywhere(const Choice& choice) {
  Rank rank = 0;
  for (const ChoiceRun& run : state_->model().runs(choice)) {
    const ShardUse use{run.load, run.storage};
    for (std::uint32_t k = 0; k < run.count; ++k) {
      if (!add(rank++, use)) return false;
    }
  }
  return true;
}

void BranchAndBound::keep_best() {
  double most = 0;
  for (const Rank rank : window_.ranks())
    most = std::max(most, state_->ranks()[rank].load);
  for (std::size_t i = 0; i < items_.size(); ++i)
    best_[i] = placed_[i];
  found_ = true;
  below_ = most * (1 - kLeastGain);
}

}  // namespace shardwright::embedding
