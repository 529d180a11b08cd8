#include "search/embedding/best/choices/list_placer.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace shardwright::embedding {
namespace {

constexpr double kTinyLoad = 1e-150;  // its square is not zero
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double square(double value) { return value * value; }

}  // namespace

bool ListPlacer::Shards::operator<(const Shards& other) const {
  if (size != other.size) return size > other.size;
  return table != other.table ? table < other.table : first < other.first;
}

bool ListPlacer::OnHosts::operator<(const OnHosts& other) const {
  if (reach != other.reach) return reach > other.reach;
  return load != other.load ? load > other.load : table < other.table;
}

ListPlacer::ListPlacer(const SearchContext& context, const ConstructParameters& parameters)
    : context_(&context),
      parameters_(parameters),
      ranks_(context.model().world_size()),
      local_(context.model().local_world_size()),
      hosts_(context.model().num_hosts()),
      scale_(context.model().time_scale()),
      host_load_(hosts_) {
  read_capacities();
}

// A tier that no choices of all tables together can fill on any rank is left out.
void ListPlacer::read_capacities() {
  const ChoiceModel& model = context_->model();
  for (const MemoryTier tier : model.tiers()) {
    double most = 0;
    for (std::size_t table = 0; table < model.num_tables(); ++table) {
      double own = 0;
      for (const Choice& choice : model.choices(table))
        own = std::max(own, choice.bytes[tier]);
      most += own;
    }
    std::vector<double>& capacity = capacity_[tier];
    double sum = 0;
    for (const Storage& room : model.room()) {
      capacity.push_back(std::max(0.0, as_doubles(room)[tier]));
      inverse_square_[tier].push_back(1 / square(std::max(capacity.back(), 1.0)));
      sum += capacity.back();
    }
    mean_capacity_[tier] = std::max(1.0, sum / ranks_);
    if (most > *std::min_element(capacity.begin(), capacity.end())) tiers_.push_back(tier);
  }
}

std::uint32_t ListPlacer::num_blocks(std::uint32_t choice) const {
  const Choice& own = context_->model().choices()[choice];
  if (own.reach == Reach::kHost) return 1;
  return own.reach == Reach::kWholeHosts ? own.num_shards / local_ : 0;
}

void ListPlacer::begin(std::span<const std::uint32_t> choices, const ListGoal& goal) {
  goal_ = goal;
  goal_.target = std::max(goal.target, kTinyLoad);
  inverse_target_ = 1 / goal_.target;
  placed_.clear();
  for (const std::uint32_t choice : choices)
    placed_.push_back(
        {choice, std::vector<std::uint32_t>(num_blocks(choice), PlacedChoice::kAnyHost)});
  weights_ = even_weights(*context_, choices, parameters_);
  const double mean = std::max(weights_.mean_load, kTinyLoad);
  load_weight_ = 1 / square(mean);
  shards_.clear();
  on_hosts_.clear();
  base_load_.assign(ranks_, 0);
  for (const MemoryTier tier : tiers_)
    base_held_[tier].assign(ranks_, 0);
  for (std::uint32_t table = 0; table < placed_.size(); ++table)
    list(table);
}

void ListPlacer::exchange(std::uint32_t table, PlacedChoice& other) {
  PlacedChoice& own = placed_[table];
  std::swap(own.hosts, other.hosts);
  if (own.choice == other.choice) return;
  unlist(table);
  std::swap(own.choice, other.choice);
  list(table);
}

ListPlacer::Shards ListPlacer::shards_of(std::uint32_t table, const ChoiceRun& run,
                                         std::uint32_t first) const {
  Shards shards{0, table, first, run.count, run.load, as_doubles(run.storage)};
  shards.size = run.load / std::max(weights_.mean_load, kTinyLoad);
  for (const MemoryTier tier : tiers_) {
    const double mean = std::max(weights_.total_bytes[tier] / ranks_, 1.0);
    shards.size = std::max(shards.size, weights_.bytes[tier] * shards.bytes[tier] / mean);
  }
  return shards;
}

void ListPlacer::add_everywhere(double sign, const Choice& choice) {
  constexpr std::uint64_t kFillsPerUpdate = 8;  // in order
  work_ += ranks_ / kFillsPerUpdate;
  Rank rank = 0;
  for (const ChoiceRun& run : context_->model().runs(choice)) {
    const PerTier<double> bytes = as_doubles(run.storage);
    for (const Rank end = rank + run.count; rank < end; ++rank) {
      base_load_[rank] += sign * scaled(rank, run.load);
      for (const MemoryTier tier : tiers_)
        base_held_[tier][rank] += sign * bytes[tier];
    }
  }
}

void ListPlacer::list(std::uint32_t table) {
  constexpr std::uint64_t kListWork = 4;
  work_ += kListWork;
  const ChoiceModel& model = context_->model();
  const Choice& choice = model.choices()[placed_[table].choice];
  if (choice.reach == Reach::kAllRanks) return add_everywhere(1, choice);
  if (choice.reach != Reach::kDevice) {
    const OnHosts own{choice.reach, choice.load, table};
    on_hosts_.insert(std::lower_bound(on_hosts_.begin(), on_hosts_.end(), own), own);
    return;
  }
  std::uint32_t first = 0;
  for (const ChoiceRun& run : model.runs(choice)) {
    const Shards own = shards_of(table, run, first);
    shards_.insert(std::lower_bound(shards_.begin(), shards_.end(), own), own);
    first += run.count;
  }
}

void ListPlacer::unlist(std::uint32_t table) {
  const ChoiceModel& model = context_->model();
  const Choice& choice = model.choices()[placed_[table].choice];
  if (choice.reach == Reach::kAllRanks) return add_everywhere(-1, choice);
  if (choice.reach != Reach::kDevice) {
    const OnHosts own{choice.reach, choice.load, table};
    on_hosts_.erase(std::lower_bound(on_hosts_.begin(), on_hosts_.end(), own));
    return;
  }
  std::uint32_t first = 0;
  for (const ChoiceRun& run : model.runs(choice)) {
    const Shards own = shards_of(table, run, first);
    shards_.erase(std::lower_bound(shards_.begin(), shards_.end(), own));
    first += run.count;
  }
}

double ListPlacer::memory_over(Rank rank) const {
  double sum = 0;
  for (const MemoryTier tier : tiers_)
    sum += std::max(0.0, held_[tier][rank] - capacity_[tier][rank]) / mean_capacity_[tier];
  return goal_.memory_weight * sum;
}

// Everything that is on all ranks.
void ListPlacer::start() {
  constexpr std::uint64_t kReadsPerUpdate = 4;
  work_ += ranks_ / kReadsPerUpdate;
  load_ = base_load_;
  for (const MemoryTier tier : tiers_)
    held_[tier] = base_held_[tier];
  energy_ = 0;
  for (Rank rank = 0; rank < ranks_; ++rank)
    energy_ += over(load_[rank]) + memory_over(rank);
  if (on_hosts_.empty()) return;
  for (std::uint32_t host = 0; host < hosts_; ++host) {
    host_load_[host] = 0;
    for (Rank rank = host * local_; rank < (host + 1) * local_; ++rank)
      host_load_[host] += load_[rank];
  }
}

void ListPlacer::add(Rank rank, double load, const PerTier<double>& bytes) {
  double& own = load_[rank];
  const double before = own;
  own += scaled(rank, load);
  energy_ += over(own) - over(before);
  if (tiers_.empty()) return;
  const double over_before = memory_over(rank);
  for (const MemoryTier tier : tiers_)
    held_[tier][rank] += bytes[tier];
  energy_ += memory_over(rank) - over_before;
}

// Of the squares of load and scarce memory, and of the energy.
double ListPlacer::rise(Rank rank, double load, const PerTier<double>& bytes) const {
  constexpr double kFullRank = 10;  // better a rank with more load than one that is too full
  const double own = scaled(rank, load);
  double sum = load_weight_ * own * (2 * load_[rank] + own) + over(load_[rank] + own);
  for (const MemoryTier tier : tiers_) {
    const double held = held_[tier][rank];
    sum += weights_.bytes[tier] * bytes[tier] * (2 * held + bytes[tier]) *
           inverse_square_[tier][rank];
    const double excess = held + bytes[tier] - capacity_[tier][rank];
    if (excess > 0) sum += kFullRank * goal_.memory_weight * excess / mean_capacity_[tier];
  }
  return sum;
}

Rank ListPlacer::best_rank(Rank begin, Rank end, double load, const PerTier<double>& bytes) {
  constexpr std::uint64_t kReadsPerUpdate = 4;
  work_ += 2 + (end - begin) * (1 + tiers_.size()) / kReadsPerUpdate;
  Rank best = begin;
  if (tiers_.empty() && scale_.empty()) {
    for (Rank rank = begin; rank < end; ++rank)
      best = load_[rank] < load_[best] ? rank : best;
    return best;
  }
  double least = kInfinity;
  for (Rank rank = begin; rank < end; ++rank) {
    const double own = rise(rank, load, bytes);
    if (own >= least) continue;
    least = own;
    best = rank;
  }
  return best;
}

std::uint32_t ListPlacer::lightest_host() const {
  return static_cast<std::uint32_t>(std::min_element(host_load_.begin(), host_load_.end()) -
                                    host_load_.begin());
}

template <class Note>
void ListPlacer::place_on_hosts(std::uint32_t table, const Note& note) {
  PlacedChoice& own = placed_[table];
  const std::span<const ShardUse> uses = context_->shards(own.choice);
  const bool whole = context_->model().choices()[own.choice].reach == Reach::kWholeHosts;
  const std::size_t per_block = whole ? local_ : uses.size();
  work_ += uses.size();
  for (std::uint32_t shard = 0; shard < uses.size(); ++shard) {
    std::uint32_t& host = own.hosts[shard / per_block];
    if (host == PlacedChoice::kAnyHost) host = lightest_host();
    const ShardUse& use = uses[shard];
    const PerTier<double> bytes = as_doubles(use.storage);
    const Rank first = host * local_;
    const Rank rank =
        whole ? first + shard % local_ : best_rank(first, first + local_, use.load, bytes);
    add(rank, use.load, bytes);
    host_load_[host] += scaled(rank, use.load);
    note(table, shard, rank);
  }
}

// Returns false as soon as the energy exceeds `most`.
template <class Note>
bool ListPlacer::place_all(double most, const Note& note) {
  start();
  for (const OnHosts& own : on_hosts_) {
    if (energy_ > most) return false;
    place_on_hosts(own.table, note);
  }
  for (const Shards& own : shards_) {
    if (energy_ > most) return false;
    for (std::uint32_t i = 0; i < own.count; ++i) {
      const Rank rank = best_rank(0, ranks_, own.load, own.bytes);
      add(rank, own.load, own.bytes);
      note(own.table, own.first + i, rank);
    }
  }
  return energy_ <= most;
}

double ListPlacer::energy(double most) {
  const bool is_placed = place_all(most, [](std::uint32_t, std::uint32_t, Rank) {});
  return is_placed ? std::max(0.0, energy_) : kInfinity;
}

Allocation ListPlacer::allocation() {
  Allocation made(placed_.size());
  for (std::size_t table = 0; table < placed_.size(); ++table) {
    made.choice[table] = placed_[table].choice;
    const Choice& choice = context_->model().choices()[made.choice[table]];
    if (choice.reach != Reach::kAllRanks) made.ranks[table].resize(choice.num_shards);
  }
  place_all(kInfinity, [&](std::uint32_t table, std::uint32_t shard, Rank rank) {
    made.ranks[table][shard] = rank;
  });
  return made;
}

}  // namespace shardwright::embedding
