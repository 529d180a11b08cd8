#include "search/embedding/best/local/construct.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace shardwright::embedding {
namespace {

std::uint32_t choose(const SearchContext& context, std::size_t table, double shard_limit,
                     const MemoryPrices& prices, double price_factor) {
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
    const double cost = load + price_factor * (SearchContext::priced(choices[i], prices) - load);
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return first + best;
}

// Places single shards so that load and scarce memory both stay even: the squares of what a rank
// holds, relative to what it may, rise least. Blocks of ranks whose least loads and bytes already
// cost more than another rank are not looked into.
class EvenPlacer {
 public:
  EvenPlacer(AllocationState& loads, double mean_load, double hbm_weight, double ddr_weight)
      : loads_(&loads),
        load_weight_(mean_load > kNoLoad ? 1 / (mean_load * mean_load) : 0),
        hbm_weight_(hbm_weight),
        ddr_weight_(ddr_weight),
        blocks_((loads.ranks().size() + kBlock - 1) / kBlock) {
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      summarize(i);
  }

  Rank place(const ShardUse& use) {
    std::size_t first = 0;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      blocks_[i].least_rise = least_rise(blocks_[i], use);
      if (blocks_[i].least_rise < blocks_[first].least_rise) first = i;
    }
    Rank best = 0;
    double least = std::numeric_limits<double>::infinity();
    look_into(first, use, best, least);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const bool may_hold_less = blocks_[i].least_rise * (1 + kRounding) < least;
      if (i != first && may_hold_less) look_into(i, use, best, least);
    }
    loads_->add(best, use);
    loads_->keep();
    summarize(best / kBlock);
    return best;
  }

 private:
  static constexpr std::size_t kBlock = 32;  // ranks
  static constexpr double kRounding = 1e-12;
  static constexpr double kNoLoad = 1e-150;  // whose square is none

  struct Block {
    RankLoad least;         // of what its ranks hold; the most room
    double scale = 0;       // the least
    double least_rise = 0;  // for the shard at hand
  };

  Rank end_of(std::size_t block) const {
    return static_cast<Rank>(std::min((block + 1) * kBlock, loads_->ranks().size()));
  }

  void summarize(std::size_t block) {
    Rank rank = static_cast<Rank>(block * kBlock);
    Block& sum = blocks_[block];
    sum.least = loads_->ranks()[rank];
    sum.scale = loads_->scaled(rank, 1);
    for (++rank; rank < end_of(block); ++rank) {
      const RankLoad& at = loads_->ranks()[rank];
      sum.least.load = std::min(sum.least.load, at.load);
      sum.least.hbm_bytes = std::min(sum.least.hbm_bytes, at.hbm_bytes);
      sum.least.ddr_bytes = std::min(sum.least.ddr_bytes, at.ddr_bytes);
      sum.least.hbm_capacity = std::max(sum.least.hbm_capacity, at.hbm_capacity);
      sum.least.ddr_capacity = std::max(sum.least.ddr_capacity, at.ddr_capacity);
      sum.scale = std::min(sum.scale, loads_->scaled(rank, 1));
    }
  }

  // Without what the goal adds for memory and rules.
  double least_rise(const Block& block, const ShardUse& use) const {
    const Goal& goal = loads_->goal();
    double rise = squares_rise(block.least, block.scale * use.load, use);
    if (goal.squared && goal.target <= 0)
      rise += squares(block.least.load, block.scale * use.load, goal.scale);
    return rise;
  }

  void look_into(std::size_t block, const ShardUse& use, Rank& best, double& least) const {
    for (Rank rank = static_cast<Rank>(block * kBlock); rank < end_of(block); ++rank) {
      const double rise = squares_rise(loads_->ranks()[rank], loads_->scaled(rank, use.load), use) +
                          loads_->gain(rank, use);
      if (rise < least || (rise == least && rank < best)) {
        least = rise;
        best = rank;
      }
    }
  }

  double squares_rise(const RankLoad& at, double load, const ShardUse& use) const {
    double rise = load * (2 * at.load + load) * load_weight_;
    if (hbm_weight_ > 0) {
      rise += hbm_weight_ *
              squares(static_cast<double>(at.hbm_bytes), static_cast<double>(use.hbm_bytes),
                      static_cast<double>(std::max<std::int64_t>(at.hbm_capacity, 1)));
    }
    if (ddr_weight_ > 0) {
      rise += ddr_weight_ *
              squares(static_cast<double>(at.ddr_bytes), static_cast<double>(use.ddr_bytes),
                      static_cast<double>(std::max<std::int64_t>(at.ddr_capacity, 1)));
    }
    return rise;
  }

  static double squares(double held, double added, double all) {
    return added * (2 * held + added) / (all * all);
  }

  AllocationState* loads_;
  double load_weight_;
  double hbm_weight_;
  double ddr_weight_;
  std::vector<Block> blocks_;
};

// Tables that are kept together, each unit where it costs least.
void place_units(EnergyPlacer& placer, AllocationState& loads, Allocation& made) {
  std::vector<Replacement> members;
  for (const TableUnits::Unit& unit : loads.context().units().units()) {
    members.clear();
    for (const std::uint32_t table : unit.tables)
      members.push_back({table, made.choice[table], {}});
    placer.place_unit(members, loads.model().world_size(), loads.model().world_size());
    loads.keep();
    for (Replacement& member : members)
      made.ranks[member.table] = std::move(member.ranks);
  }
}

}  // namespace

std::vector<std::uint32_t> choose_priced(const SearchContext& context, double shard_limit,
                                         const MemoryPrices& prices, double price_factor) {
  std::vector<std::uint32_t> choices;
  for (std::size_t table = 0; table < context.model().num_tables(); ++table)
    choices.push_back(choose(context, table, shard_limit, prices, price_factor));
  return choices;
}

Allocation construct(AllocationState& loads, RandomGenerator& draws,
                     std::vector<std::uint32_t> choices) {
  const SearchContext& context = loads.context();
  const ChoiceModel& model = context.model();
  Allocation made;
  made.choice = std::move(choices);
  made.ranks.resize(model.num_tables());
  double load = 0;
  double hbm = 0;
  double ddr = 0;
  for (const std::uint32_t choice : made.choice) {
    const Choice& chosen = model.choices()[choice];
    load += chosen.load;
    hbm += static_cast<double>(chosen.hbm_bytes);
    ddr += static_cast<double>(chosen.ddr_bytes);
  }

  std::vector<std::uint32_t> order(model.num_tables());
  std::iota(order.begin(), order.end(), 0U);
  const double mean_load = std::max(load / context.speed(), 1e-300);
  const double hbm_fill = hbm / std::max(context.total_hbm(), 1.0);
  const double ddr_fill = ddr / std::max(context.total_ddr(), 1.0);
  // Memory that is far from full needs no care.
  const double hbm_weight = hbm_fill > 0.5 ? hbm_fill : 0;
  const double ddr_weight = ddr_fill > 0.5 ? ddr_fill : 0;
  const auto size = [&](const Choice& choice) {
    const double shards = choice.num_shards;
    return std::max({choice.max_load / mean_load,
                     hbm_weight * static_cast<double>(choice.hbm_bytes) / shards /
                         std::max(hbm, 1.0) * model.world_size(),
                     ddr_weight * static_cast<double>(choice.ddr_bytes) / shards /
                         std::max(ddr, 1.0) * model.world_size()});
  };
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Choice& first = model.choices()[made.choice[a]];
    const Choice& second = model.choices()[made.choice[b]];
    if (first.reach != second.reach) return first.reach > second.reach;
    return first.reach == Reach::kDevice ? size(first) > size(second) : first.load > second.load;
  });
  loads.clear();
  EnergyPlacer placer(loads, draws);
  place_units(placer, loads, made);
  const auto single = std::find_if(order.begin(), order.end(), [&](std::uint32_t table) {
    return model.choices()[made.choice[table]].reach == Reach::kDevice;
  });
  const auto alone = [&](std::uint32_t table) {
    return context.units().unit_of(table) == TableUnits::kNone;
  };
  for (const std::uint32_t table : std::span(order.begin(), single)) {
    if (!alone(table)) continue;
    placer.place(made.choice[table], model.world_size(), made.ranks[table], placer.all_ranks());
    loads.keep();
  }
  EvenPlacer even(loads, mean_load, hbm_weight, ddr_weight);
  for (const std::uint32_t table : std::span(single, order.end())) {
    if (!alone(table)) continue;
    for (const ShardUse& use : context.shards(made.choice[table]))
      made.ranks[table].push_back(even.place(use));
  }
  return made;
}

}  // namespace shardwright::embedding
