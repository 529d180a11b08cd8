#include "search/embedding/best/exact/branch_and_bound.h"

#include <algorithm>
#include <limits>

namespace shardwright::embedding {
namespace {

constexpr double kLargest = 1e300;  // whose sums and products are finite, too

bool alike(const ShardUse& a, const ShardUse& b) {
  return a.table == ShardUse::kUnruled && b.table == ShardUse::kUnruled && a.load == b.load &&
         a.hbm_bytes == b.hbm_bytes && a.ddr_bytes == b.ddr_bytes;
}

}  // namespace

BranchAndBound::BranchAndBound(AllocationState& loads)
    : loads_(&loads), symmetry_(loads), position_(loads.ranks().size()) {
  const SearchContext& context = loads.context();
  const double hbm = 1 / std::max(context.total_hbm(), 1.0);
  const double ddr = 1 / std::max(context.total_ddr(), 1.0);
  load_price_ = {1, 0, 0, 1};
  prices_ = {MemoryPrices{}, MemoryPrices{hbm, 0}, MemoryPrices{0, ddr}, context.prices()};
}

double BranchAndBound::priced(std::size_t price, double load, std::int64_t hbm,
                              std::int64_t ddr) const {
  return load_price_[price] * load + prices_[price].hbm * static_cast<double>(hbm) +
         prices_[price].ddr * static_cast<double>(ddr);
}

// Of a choice on all ranks, what the ranks of the window hold.
BranchAndBound::Priced BranchAndBound::priced_in_window(const Choice& choice) const {
  ShardUse all{choice.load, choice.hbm_bytes, choice.ddr_bytes};
  if (choice.reach == Reach::kAllRanks && window_.size() < position_.size()) {
    all = {};
    Rank rank = 0;
    for (const ChoiceRun& run : loads_->model().runs(choice)) {
      for (std::uint32_t k = 0; k < run.count; ++k) {
        if (position_[rank++] == kOutside) continue;
        all.load += run.load;
        all.hbm_bytes += run.hbm_bytes;
        all.ddr_bytes += run.ddr_bytes;
      }
    }
  }
  Priced sum;
  for (std::size_t p = 0; p < kPrices; ++p)
    sum[p] = priced(p, all.load, all.hbm_bytes, all.ddr_bytes);
  return sum;
}

void BranchAndBound::collect_choices(Item& item) {
  const ChoiceModel& model = loads_->model();
  const SearchContext& context = loads_->context();
  item.first_choice = static_cast<std::uint32_t>(choices_.size());
  item.least_priced.fill(std::numeric_limits<double>::infinity());
  item.least.load = std::numeric_limits<double>::infinity();
  item.least.hbm_bytes = item.least.ddr_bytes = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t i = 0; i < model.choices(item.free.table).size(); ++i) {
    const std::uint32_t index = model.first_choice(item.free.table) + i;
    const Choice& choice = model.choices()[index];
    if (!context.fits(index) || context.fastest(choice.max_load) >= below_) continue;
    choices_.push_back(index);
    const Priced own = priced_in_window(choice);
    for (std::size_t p = 0; p < kPrices; ++p)
      item.least_priced[p] = std::min(item.least_priced[p], own[p]);
    for (const ChoiceRun& run : model.runs(choice)) {
      item.least.load = std::min(item.least.load, run.load);
      item.least.hbm_bytes = std::min(item.least.hbm_bytes, run.hbm_bytes);
      item.least.ddr_bytes = std::min(item.least.ddr_bytes, run.ddr_bytes);
    }
  }
  item.num_choices = static_cast<std::uint32_t>(choices_.size()) - item.first_choice;
  std::stable_sort(choices_.begin() + item.first_choice, choices_.end(),
                   [&](std::uint32_t a, std::uint32_t b) {
                     return context.priced(model.choices()[a]) < context.priced(model.choices()[b]);
                   });
}

void BranchAndBound::collect(std::span<const FreeItem> items) {
  items_.clear();
  choices_.clear();
  for (const FreeItem& free : items) {
    Item item;
    item.free = free;
    if (free.slot == FreeItem::kWholeTable) {
      collect_choices(item);
    } else {
      item.use = loads_->slot(free.slot).use;
      item.least = {item.use.load, item.use.hbm_bytes, item.use.ddr_bytes};
      for (std::size_t p = 0; p < kPrices; ++p)
        item.least_priced[p] = priced(p, item.use.load, item.use.hbm_bytes, item.use.ddr_bytes);
    }
    items_.push_back(item);
  }
}

// The largest first, by load or memory, as a part of what there is.
void BranchAndBound::order_items() {
  const SearchContext& context = loads_->context();
  const double load = std::max(context.bound() * context.speed(), 1e-300);
  for (Item& item : items_) {
    item.size = std::max({item.least_priced[0] / load, item.least_priced[1], item.least_priced[2]});
  }
  std::stable_sort(items_.begin(), items_.end(),
                   [](const Item& a, const Item& b) { return a.size > b.size; });
  for (std::size_t i = items_.size(); i > 0; --i) {
    Item& item = items_[i - 1];
    item.needed = item.least_priced;
    item.smallest = item.least;
    if (i == items_.size()) continue;
    const Item& next = items_[i];
    for (std::size_t p = 0; p < kPrices; ++p)
      item.needed[p] += next.needed[p];
    item.smallest.load = std::min(item.smallest.load, next.smallest.load);
    item.smallest.hbm_bytes = std::min(item.smallest.hbm_bytes, next.smallest.hbm_bytes);
    item.smallest.ddr_bytes = std::min(item.smallest.ddr_bytes, next.smallest.ddr_bytes);
  }
  for (std::size_t i = 1; i < items_.size(); ++i) {
    const Item& before = items_[i - 1];
    Item& item = items_[i];
    if (item.free.slot == FreeItem::kWholeTable || before.free.slot == FreeItem::kWholeTable)
      continue;
    item.like_before = item.free.table == before.free.table && alike(item.use, before.use);
  }
}

void BranchAndBound::begin_symmetry() {
  bool ruled = false;
  bool hosts_apart = false;
  for (const Item& item : items_) {
    ruled = ruled || loads_->model().rules().constrains(loads_->model().table(item.free.table));
    if (item.free.slot == FreeItem::kWholeTable) continue;
    hosts_apart = hosts_apart || loads_->chosen(item.free.table).reach == Reach::kHost;
  }
  symmetry_.begin(window_, choices_, ruled, hosts_apart);
}

// Off their ranks, tentatively.
void BranchAndBound::take_items() {
  for (const Item& item : items_) {
    const std::uint32_t table = item.free.table;
    if (item.free.slot != FreeItem::kWholeTable) {
      loads_->remove(loads_->slot(item.free.slot).rank, item.use);
      continue;
    }
    if (loads_->has_choice(table)) loads_->take_away(table);
  }
  work_ += loads_->num_tentative();
}

void BranchAndBound::note_best() {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const FreeItem& free = items_[i].free;
    const Placed& placed = best_[i];
    if (free.slot != FreeItem::kWholeTable) {
      loads_->add(placed.ranks.front(), items_[i].use);
      loads_->keep();
      loads_->note_rank(free.slot, placed.ranks.front());
      continue;
    }
    const Choice& choice = loads_->model().choices()[placed.choice];
    if (choice.reach == Reach::kAllRanks) loads_->add_everywhere(choice);
    for (std::size_t k = 0; k < placed.ranks.size(); ++k)
      loads_->add(placed.ranks[k], loads_->context().shards(placed.choice)[k]);
    loads_->keep();
    loads_->note_choice(free.table, placed.choice, placed.ranks);
  }
}

SubproblemAnswer BranchAndBound::solve(const Subproblem& question) {
  window_.assign(question.window.begin(), question.window.end());
  std::fill(position_.begin(), position_.end(), kOutside);
  for (std::uint32_t i = 0; i < window_.size(); ++i)
    position_[window_[i]] = i;
  hosts_.clear();
  for (const Rank rank : window_) {
    const std::uint32_t host = rank / loads_->model().local_world_size();
    if (hosts_.empty() || hosts_.back() != host) hosts_.push_back(host);
  }
  below_ = std::min(question.below, kLargest);
  limit_ = question.limit;
  found_ = false;
  end_of_work_ = work_ + question.work;
  collect(question.items);
  order_items();
  begin_symmetry();
  placed_.resize(std::max(placed_.size(), items_.size()));
  best_.resize(placed_.size());
  take_items();
  const std::size_t mark = loads_->num_tentative();
  visit(0);
  loads_->take_back(found_ ? mark : 0);
  if (found_) note_best();
  return {found_, !cut()};
}

// Whether the rest may still fit below, at every price; ranks that can take nothing more count for
// nothing.
bool BranchAndBound::may_end_well(std::size_t depth) {
  const bool is_end = depth == items_.size();
  Priced room{};
  for (const Rank rank : window_) {
    const RankLoad& at = loads_->ranks()[rank];
    if (at.load >= below_) return false;
    if (is_end) continue;
    const Least& least = items_[depth].smallest;
    if (at.load + loads_->scaled(rank, least.load) >= below_ ||
        !at.holds(at.hbm_bytes + least.hbm_bytes, at.ddr_bytes + least.ddr_bytes)) {
      continue;
    }
    const double load = (below_ - at.load) / loads_->model().time_scale(rank);
    const std::int64_t hbm = std::max<std::int64_t>(at.hbm_capacity - at.hbm_bytes, 0);
    const std::int64_t ddr = std::max<std::int64_t>(at.ddr_capacity - at.ddr_bytes, 0);
    for (std::size_t p = 0; p < kPrices; ++p)
      room[p] += priced(p, load, hbm, ddr);
  }
  work_ += 1 + window_.size() / 2;
  if (is_end) return true;
  for (std::size_t p = 0; p < kPrices; ++p) {
    if (items_[depth].needed[p] > room[p] * (1 + 1e-12)) return false;
  }
  return true;
}

void BranchAndBound::visit(std::size_t depth) {
  if (cut() || !may_end_well(depth)) return;
  if (depth == items_.size()) return keep_best();
  const Item& item = items_[depth];
  if (item.free.slot != FreeItem::kWholeTable) {
    placed_[depth].ranks.clear();
    Part part{0, window_.size()};
    if (loads_->chosen(item.free.table).reach == Reach::kHost) {
      part = host_part(loads_->slot(item.free.slot).rank / loads_->model().local_world_size());
    }
    return visit_shards(depth, {&item.use, 1}, 0, part);
  }
  for (std::uint32_t i = 0; i < item.num_choices && !cut(); ++i)
    visit_choice(depth, choices_[item.first_choice + i]);
}

void BranchAndBound::visit_choice(std::size_t depth, std::uint32_t index) {
  const Choice& choice = loads_->model().choices()[index];
  if (loads_->context().fastest(choice.max_load) >= below_) return;
  placed_[depth].choice = index;
  placed_[depth].ranks.clear();
  if (choice.reach == Reach::kAllRanks) {
    const std::size_t mark = loads_->num_tentative();
    if (add_everywhere(choice)) visit(depth + 1);
    return loads_->take_back(mark);
  }
  const std::span<const ShardUse> uses = loads_->context().shards(index);
  if (choice.reach == Reach::kWholeHosts) return visit_blocks(depth, uses, 0);
  if (choice.reach == Reach::kDevice) return visit_shards(depth, uses, 0, {0, window_.size()});
  for (const std::uint32_t host : hosts_) {
    if (!has_earlier_twin_host(host)) visit_shards(depth, uses, 0, host_part(host));
  }
}

BranchAndBound::Part BranchAndBound::host_part(std::uint32_t host) const {
  const std::uint32_t local = loads_->model().local_world_size();
  const auto begin = std::lower_bound(window_.begin(), window_.end(), host * local);
  const auto end = std::lower_bound(begin, window_.end(), (host + 1) * local);
  return {static_cast<std::size_t>(begin - window_.begin()),
          static_cast<std::size_t>(end - window_.begin())};
}

bool BranchAndBound::has_earlier_twin(std::size_t index, Part part) const {
  for (std::size_t i = part.begin; i < index; ++i) {
    if (symmetry_.are_twins(window_[i], window_[index])) return true;
  }
  return false;
}

bool BranchAndBound::has_earlier_twin_host(std::uint32_t host) const {
  for (const std::uint32_t earlier : hosts_) {
    if (earlier == host) break;
    if (symmetry_.are_twin_hosts(earlier, host)) return true;
  }
  return false;
}

// Shards that are alike go in the order of ranks.
std::size_t BranchAndBound::first_place(std::size_t depth, std::span<const ShardUse> uses,
                                        std::size_t shard, Part part) const {
  if (shard > 0 && alike(uses[shard], uses[shard - 1]))
    return position_[placed_[depth].ranks.back()];
  if (items_[depth].like_before) return position_[placed_[depth - 1].ranks.back()];
  return part.begin;
}

// Ranks by what their load becomes, the least first.
void BranchAndBound::visit_shards(std::size_t depth, std::span<const ShardUse> uses,
                                  std::size_t shard, Part part) {
  if (shard == uses.size()) return visit(depth + 1);
  const ShardUse& use = uses[shard];
  const std::size_t begin = order_.size();
  for (std::size_t i = first_place(depth, uses, shard, part); i < part.end; ++i) {
    const RankLoad& at = loads_->ranks()[window_[i]];
    const double load = at.load + loads_->scaled(window_[i], use.load);
    if (load < below_ && at.has_room_for(use) && !has_earlier_twin(i, part)) {
      order_.emplace_back(load, i);
    }
  }
  const std::size_t end = order_.size();
  std::sort(order_.begin() + static_cast<std::ptrdiff_t>(begin), order_.end());
  for (std::size_t i = begin; i < end && !cut(); ++i) {
    const Rank rank = window_[order_[i].second];
    const std::size_t mark = loads_->num_tentative();
    if (add(rank, use)) {
      placed_[depth].ranks.push_back(rank);
      visit_shards(depth, uses, shard + 1, part);
      placed_[depth].ranks.pop_back();
    }
    loads_->take_back(mark);
  }
  order_.resize(begin);
}

void BranchAndBound::visit_blocks(std::size_t depth, std::span<const ShardUse> uses,
                                  std::size_t shard) {
  if (shard == uses.size()) return visit(depth + 1);
  const std::uint32_t local = loads_->model().local_world_size();
  const auto block = uses.subspan(shard, local);
  std::uint32_t first = 0;
  if (shard > 0) {
    const auto before = uses.subspan(shard - local, local);
    if (std::equal(block.begin(), block.end(), before.begin(), alike))
      first = placed_[depth].ranks.back() / local;
  }
  for (const std::uint32_t host : hosts_) {
    if (cut()) break;
    if (host < first) continue;
    const Part part = host_part(host);
    if (part.end - part.begin < local || has_earlier_twin_host(host)) continue;
    const std::size_t mark = loads_->num_tentative();
    bool fits = true;
    for (std::uint32_t k = 0; k < local && fits; ++k)
      fits = add(host * local + k, block[k]);
    if (fits) {
      std::vector<Rank>& ranks = placed_[depth].ranks;
      for (std::uint32_t k = 0; k < local; ++k)
        ranks.push_back(host * local + k);
      visit_blocks(depth, uses, shard + local);
      ranks.resize(ranks.size() - local);
    }
    loads_->take_back(mark);
  }
}

// Tentatively; whether that may stay.
bool BranchAndBound::add(Rank rank, const ShardUse& use) {
  loads_->add(rank, use);
  ++work_;
  const RankLoad& at = loads_->ranks()[rank];
  return at.load < (position_[rank] == kOutside ? limit_ : below_) && at.fits() &&
         loads_->rules().broken() == 0;
}

bool BranchAndBound::add_everywhere(const Choice& choice) {
  Rank rank = 0;
  for (const ChoiceRun& run : loads_->model().runs(choice)) {
    const ShardUse use{run.load, run.hbm_bytes, run.ddr_bytes};
    for (std::uint32_t k = 0; k < run.count; ++k) {
      if (!add(rank++, use)) return false;
    }
  }
  return true;
}

void BranchAndBound::keep_best() {
  double most = 0;
  for (const Rank rank : window_)
    most = std::max(most, loads_->ranks()[rank].load);
  for (std::size_t i = 0; i < items_.size(); ++i)
    best_[i] = placed_[i];
  found_ = true;
  below_ = most * (1 - kLeastGain);
}

}  // namespace shardwright::embedding
