#include "search/embedding/improve/construct.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace shardwright::embedding {
namespace {

std::uint32_t choose(const ImproveContext& context, std::size_t table, double shard_limit,
                     double price_factor) {
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
    const double cost =
        choices[i].load + price_factor * (context.priced(choices[i]) - choices[i].load);
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return first + best;
}

// Places single shards so that load and scarce memory both stay even: the squares of what a rank
// holds, relative to what it may, rise least.
class EvenPlacer {
 public:
  EvenPlacer(RankLoads& loads, double mean_load, double hbm_weight, double ddr_weight)
      : loads_(&loads), mean_load_(mean_load), hbm_weight_(hbm_weight), ddr_weight_(ddr_weight) {}

  Rank place(const ShardUse& use) {
    const std::span<const RankLoad> ranks = loads_->ranks();
    Rank best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (Rank rank = 0; rank < ranks.size(); ++rank) {
      const RankLoad& at = ranks[rank];
      const double rise =
          squares(at.load, loads_->scaled(rank, use.load), mean_load_) +
          hbm_weight_ * squares(static_cast<double>(at.hbm_bytes),
                                static_cast<double>(use.hbm_bytes),
                                static_cast<double>(std::max<std::int64_t>(at.room_hbm, 1))) +
          ddr_weight_ * squares(static_cast<double>(at.ddr_bytes),
                                static_cast<double>(use.ddr_bytes),
                                static_cast<double>(std::max<std::int64_t>(at.room_ddr, 1))) +
          loads_->gain(rank, use);
      if (rise < least) {
        least = rise;
        best = rank;
      }
    }
    loads_->add(best, use);
    loads_->keep();
    return best;
  }

 private:
  static double squares(double held, double added, double all) {
    return added * (2 * held + added) / (all * all);
  }

  RankLoads* loads_;
  double mean_load_;
  double hbm_weight_;
  double ddr_weight_;
};

// Tables that are kept together, each unit where it costs least.
void place_units(Placer& placer, RankLoads& loads, Allocation& made) {
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

std::vector<std::uint32_t> choose_priced(const ImproveContext& context, double shard_limit,
                                         double price_factor) {
  std::vector<std::uint32_t> choices;
  for (std::size_t table = 0; table < context.model().num_tables(); ++table)
    choices.push_back(choose(context, table, shard_limit, price_factor));
  return choices;
}

Allocation construct(RankLoads& loads, RandomDraws& draws, std::vector<std::uint32_t> choices) {
  const ImproveContext& context = loads.context();
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
  Placer placer(loads, draws);
  place_units(placer, loads, made);
  EvenPlacer even(loads, mean_load, hbm_weight, ddr_weight);
  for (const std::uint32_t table : order) {
    if (context.units().unit_of(table) != TableUnits::kNone) continue;
    if (model.choices()[made.choice[table]].reach == Reach::kDevice) {
      for (const ShardUse& use : context.shards(made.choice[table]))
        made.ranks[table].push_back(even.place(use));
    } else {
      placer.place(made.choice[table], model.world_size(), made.ranks[table], placer.all_ranks());
      loads.keep();
    }
  }
  return made;
}

}  // namespace shardwright::embedding
