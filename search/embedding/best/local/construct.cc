#include "search/embedding/best/local/construct.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace shardwright::embedding {
namespace {

constexpr double kTinyMean = 1e-300;  // keeps quotients finite
constexpr double kRiseRounding = 1e-12;
constexpr std::uint64_t kLookWork = 12;  // for the ranks of a block
constexpr double kNoLoad = 1e-150;       // its square underflows

// By how much the square of `held` rises, both relative to `all`.
double squares(double held, double added, double all) {
  return added * (2 * held + added) / (all * all);
}

std::uint32_t choose(const SearchContext& context, std::size_t table, double shard_limit,
                     const ChoiceCost& priced) {
  const std::span<const Choice> choices = context.model().choices(table);
  std::uint32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  double smallest = std::numeric_limits<double>::infinity();
  const std::uint32_t first = context.model().first_choice(table);
  for (std::uint32_t i = 0; i < choices.size(); ++i) {
    if (context.fits(first + i)) smallest = std::min(smallest, choices[i].max_load);
  }
  for (std::uint32_t i = 0; i < choices.size(); ++i) {
    if (!context.fits(first + i) || choices[i].max_load > std::max(shard_limit, smallest)) continue;
    const double load = choices[i].load;
    const double memory = SearchContext::priced(choices[i], priced.memory) - load;
    const double factor = choices[i].reach == Reach::kAllRanks ? 1 : priced.single_factor;
    const double cost = factor * load + priced.memory_factor * memory;
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return first + best;
}

// The choice's largest shard, by load or memory, as a part of an even share.
double size_of(const Choice& choice, const EvenWeights& weights, double ranks) {
  const double shards = choice.num_shards;
  double size = choice.max_load / weights.mean_load;
  for (const MemoryTier tier : kMemoryTiers) {
    size = std::max(size, weights.bytes[tier] * choice.bytes[tier] / shards /
                              std::max(weights.total_bytes[tier], 1.0) * ranks);
  }
  return size;
}

// Places each unit of bonded tables where it costs least. Returns false if it was stopped.
bool place_units(EnergyPlacer& placer, AllocationState& state, Allocation& made,
                 StopCheck& stopped) {
  std::vector<Replacement> members;
  const std::uint32_t all = state.model().world_size();
  for (const TableUnits::Unit& unit : state.context().units().units()) {
    if (stopped(placer.work())) return false;
    members.clear();
    for (const std::uint32_t table : unit.tables)
      members.push_back({table, made.choice[table], {}});
    placer.place_unit(members, all, all);
    state.keep();
    for (Replacement& member : members)
      made.ranks[member.table] = std::move(member.ranks);
  }
  return true;
}

// All tables, in the order in which they are placed.
std::vector<std::uint32_t> placement_order(const ChoiceModel& model, const Allocation& made,
                                           const EvenWeights& weights) {
  struct Key {
    Reach reach;
    std::uint32_t table;
    double size;
  };
  std::vector<Key> keys;
  keys.reserve(model.num_tables());
  for (std::uint32_t table = 0; table < model.num_tables(); ++table) {
    const Choice& choice = model.choices()[made.choice[table]];
    const double size =
        choice.reach == Reach::kDevice ? size_of(choice, weights, model.world_size()) : choice.load;
    keys.push_back({choice.reach, table, size});
  }
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    if (a.reach != b.reach) return a.reach > b.reach;
    return a.size != b.size ? a.size > b.size : a.table < b.table;
  });
  std::vector<std::uint32_t> order;
  order.reserve(keys.size());
  for (const Key& key : keys)
    order.push_back(key.table);
  return order;
}

}  // namespace

EvenWeights even_weights(const SearchContext& context, std::span<const std::uint32_t> choices,
                         const ConstructParameters& parameters) {
  EvenWeights weights;
  double load = 0;
  for (const std::uint32_t choice : choices) {
    const Choice& chosen = context.model().choices()[choice];
    load += chosen.load;
    for (const MemoryTier tier : kMemoryTiers)
      weights.total_bytes[tier] += chosen.bytes[tier];
  }
  weights.mean_load = std::max(load / context.speed(), kTinyMean);
  for (const MemoryTier tier : kMemoryTiers) {
    const double fill = weights.total_bytes[tier] / std::max(context.total_bytes()[tier], 1.0);
    weights.bytes[tier] = fill > parameters.scarce_fill ? fill : 0;
  }
  return weights;
}

EvenPlacer::EvenPlacer(AllocationState& state, const EvenWeights& weights,
                       const ConstructParameters& parameters)
    : state_(&state),
      block_size_(parameters.ranks_per_block),
      load_weight_(weights.mean_load > kNoLoad ? 1 / (weights.mean_load * weights.mean_load) : 0),
      weights_(weights.bytes),
      blocks_((state.ranks().size() + block_size_ - 1) / block_size_),
      work_(state.pass_work()) {
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    summarize(i);
}

Rank EvenPlacer::place(const ShardUse& use) {
  constexpr std::size_t kBlocksPerUpdate = 2;
  constexpr std::uint64_t kSummary = 8;  // and the update of the rank
  work_ += kSummary + blocks_.size() / kBlocksPerUpdate;
  std::size_t first = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].least_rise = least_rise(blocks_[i], use);
    if (blocks_[i].least_rise < blocks_[first].least_rise) first = i;
  }
  Rank best = 0;
  double least = std::numeric_limits<double>::infinity();
  look_into(first, use, best, least);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const bool may_hold_less = blocks_[i].least_rise * (1 + kRiseRounding) < least;
    if (i != first && may_hold_less) look_into(i, use, best, least);
  }
  state_->add(best, use);
  state_->keep();
  summarize(best / block_size_);
  return best;
}

Rank EvenPlacer::end_of(std::size_t block) const {
  return static_cast<Rank>(std::min((block + 1) * block_size_, state_->ranks().size()));
}

void EvenPlacer::summarize(std::size_t block) {
  Rank rank = first_of(block);
  Block& sum = blocks_[block];
  sum.least = state_->ranks()[rank];
  sum.scale = state_->scaled(rank, 1);
  for (++rank; rank < end_of(block); ++rank) {
    const RankLoad& at = state_->ranks()[rank];
    sum.least.load = std::min(sum.least.load, at.load);
    const Storage held = least_of(sum.least.held(), at.held());
    sum.least.capacity = most_of(sum.least.capacity, at.capacity);
    sum.least.left = sum.least.capacity - held;
    sum.scale = std::min(sum.scale, state_->scaled(rank, 1));
  }
}

// A lower bound: it leaves out what the goal adds for memory and rules.
double EvenPlacer::least_rise(const Block& block, const ShardUse& use) const {
  const Goal& goal = state_->goal();
  double rise = squares_rise(block.least, block.scale * use.load, use);
  if (goal.squared && goal.target <= 0)
    rise += squares(block.least.load, block.scale * use.load, goal.scale);
  return rise;
}

void EvenPlacer::look_into(std::size_t block, const ShardUse& use, Rank& best, double& least) {
  const Rank end = end_of(block);
  work_ += kLookWork;
  for (Rank rank = first_of(block); rank < end; ++rank) {
    const double rise = squares_rise(state_->ranks()[rank], state_->scaled(rank, use.load), use) +
                        state_->gain(rank, use);
    if (rise < least || (rise == least && rank < best)) {
      least = rise;
      best = rank;
    }
  }
}

double EvenPlacer::squares_rise(const RankLoad& at, double load, const ShardUse& use) const {
  double rise = load * (2 * at.load + load) * load_weight_;
  // Spelled out: this is the innermost loop of placing.
  const auto add = [&](double weight, Bytes capacity, Bytes left, Bytes more) {
    if (weight <= 0) return;
    rise += weight * squares(static_cast<double>((capacity - left).value()),
                             static_cast<double>(more.value()),
                             static_cast<double>(std::max(capacity, Bytes(1)).value()));
  };
  add(weights_.hbm, at.capacity.hbm, at.left.hbm, use.storage.hbm);
  add(weights_.ddr, at.capacity.ddr, at.left.ddr, use.storage.ddr);
  add(weights_.ssd, at.capacity.ssd, at.left.ssd, use.storage.ssd);
  return rise;
}

std::vector<std::uint32_t> choose_priced(const SearchContext& context, double shard_limit,
                                         const ChoiceCost& cost) {
  std::vector<std::uint32_t> choices;
  for (std::size_t table = 0; table < context.model().num_tables(); ++table)
    choices.push_back(choose(context, table, shard_limit, cost));
  return choices;
}

std::optional<Allocation> construct(AllocationState& state, RandomGenerator& random,
                                    Allocation made, const ConstructParameters& parameters,
                                    std::uint64_t& work, StopCheck& stopped) {
  constexpr std::uint64_t kPasses = 2;           // to clear the ranks
  constexpr std::uint64_t kFillsPerUpdate = 16;  // a choice on all ranks is added to all, in order
  constexpr std::uint64_t kReadsPerUpdate = 4;   // every rank is compared, in order
  constexpr std::uint64_t kOrderWork = 16;       // to put a table into the order
  const SearchContext& context = state.context();
  const ChoiceModel& model = context.model();
  const EvenWeights weights = even_weights(context, made.choice, parameters);
  const std::vector<std::uint32_t> order = placement_order(model, made, weights);
  const auto single = std::find_if(order.begin(), order.end(), [&](std::uint32_t table) {
    return model.choices()[made.choice[table]].reach == Reach::kDevice;
  });
  const auto is_alone = [&](std::uint32_t table) {
    return context.units().unit_of(table) == TableUnits::kNone;
  };
  const auto is_open = [&](std::uint32_t table) {
    return is_alone(table) && made.ranks[table].empty();
  };
  state.clear();
  EnergyPlacer placer(state, random);
  if (!place_units(placer, state, made, stopped)) return std::nullopt;
  std::vector<std::uint32_t> everywhere;
  for (const std::uint32_t table : std::span(order.begin(), single)) {
    if (!is_alone(table)) continue;
    const Choice& choice = model.choices()[made.choice[table]];
    if (choice.reach != Reach::kAllRanks) break;  // these come first
    everywhere.push_back(made.choice[table]);
    work += choice.num_shards / kFillsPerUpdate;
  }
  if (!state.hold_everywhere(everywhere, stopped)) return std::nullopt;
  for (const std::uint32_t table : order) {
    if (!is_alone(table) || made.ranks[table].empty()) continue;
    if (stopped(work += made.ranks[table].size())) return std::nullopt;
    const std::span<const ShardUse> shards = context.shards(made.choice[table]);
    for (std::size_t shard = 0; shard < shards.size(); ++shard)
      state.add(made.ranks[table][shard], shards[shard]);
    state.keep();
  }
  for (const std::uint32_t table : std::span(order.begin(), single)) {
    if (!is_open(table) || model.choices()[made.choice[table]].reach == Reach::kAllRanks) continue;
    if (stopped(placer.work())) return std::nullopt;
    placer.place(made.choice[table], model.world_size(), made.ranks[table], placer.all_ranks());
    state.keep();
  }
  EvenPlacer even(state, weights, parameters);
  for (const std::uint32_t table : std::span(single, order.end())) {
    if (!is_open(table)) continue;
    if (stopped(placer.work() + even.work())) return std::nullopt;
    for (const ShardUse& use : context.shards(made.choice[table]))
      made.ranks[table].push_back(even.place(use));
  }
  work += kPasses * state.pass_work() + kOrderWork * model.num_tables() +
          placer.work() / kReadsPerUpdate + even.work();
  return made;
}

}  // namespace shardwright::embedding
