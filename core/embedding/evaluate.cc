#include "core/embedding/evaluate.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/embedding/problem/table.h"

namespace shardwright::embedding {
namespace {

bool among(std::int64_t number, const std::vector<std::int64_t>& numbers) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

class ConstraintChecker {
 public:
  ConstraintChecker(const Problem& problem, const Plan& plan) : problem_(problem), plan_(plan) {}

  std::vector<std::string> run() {
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      if (!has_valid_ranks(plan_[i])) continue;
      by_name_.emplace(table_of(plan_[i]).name, i);
      check_table(plan_[i]);
    }
    const ProblemSpec& spec = problem_.spec();
    for (std::size_t g = 0; g < spec.keep_together.size(); ++g)
      check_together(spec.keep_together[g], "/keep_together/" + std::to_string(g));
    for (std::size_t g = 0; g < spec.keep_apart.size(); ++g)
      check_apart(spec.keep_apart[g], "/keep_apart/" + std::to_string(g));
    return std::move(violations_);
  }

 private:
  bool has_valid_ranks(const Assignment& assignment) const {
    const ShardingOption& option = *assignment.option;
    if (option.table.index() >= problem_.tables().size()) return false;
    if (assignment.ranks.size() != 0 && assignment.ranks.size() != option.num_shards())
      return false;
    for (std::uint32_t shard = 0; shard < option.num_shards(); ++shard) {
      if (assignment.rank(shard) >= problem_.topology().world_size()) return false;
    }
    return true;
  }

  const Table& table_of(const Assignment& assignment) const {
    return problem_.table(assignment.option->table);
  }
  std::uint32_t host_of(Rank rank) const { return rank / problem_.topology().local_world_size(); }
  std::string described(const Assignment& assignment, std::uint32_t shard) const {
    return "shard " + std::to_string(shard) + " of table \"" + table_of(assignment).name +
           "\" is on rank " + std::to_string(assignment.rank(shard));
  }

  template <class Allowed>
  void check_shards(const Assignment& assignment, const std::string& place,
                    const Allowed& allowed) {
    std::uint32_t first = 0;
    std::uint32_t wrong = 0;
    for (std::uint32_t shard = 0; shard < assignment.option->num_shards(); ++shard) {
      if (allowed(shard, assignment.rank(shard))) continue;
      if (wrong++ == 0) first = shard;
    }
    if (wrong == 0) return;
    violations_.push_back(
        described(assignment, first) + ", which " + place + " does not allow" +
        (wrong == 1 ? "" : "; further shards that violate it: " + std::to_string(wrong - 1)));
  }

  void check_table(const Assignment& assignment) {
    const TablePlacement& rules = table_of(assignment).placement;
    const std::string place = constraints_place(table_of(assignment).name);
    const std::uint32_t shards = assignment.option->num_shards();
    if (rules.ranks) {
      check_shards(assignment, place + "/ranks",
                   [&](std::uint32_t, Rank rank) { return among(rank, *rules.ranks); });
    }
    if (rules.hosts) {
      check_shards(assignment, place + "/hosts",
                   [&](std::uint32_t, Rank rank) { return among(host_of(rank), *rules.hosts); });
    }
    for (const ShardRanks& own : rules.shard_ranks) {
      check_shards(assignment, place + "/shard_ranks/" + std::to_string(own.shard),
                   [&](std::uint32_t shard, Rank rank) {
                     return shard != own.shard || among(rank, own.ranks);
                   });
    }
    if (rules.max_shards && shards > *rules.max_shards) {
      violations_.push_back("table \"" + table_of(assignment).name + "\" has " +
                            std::to_string(shards) + " shards, and " + place +
                            "/max_shards allows at most " + std::to_string(*rules.max_shards));
    }
    if (rules.distinct_ranks) check_distinct(assignment, place);
  }

  void check_distinct(const Assignment& assignment, const std::string& place) {
    std::map<Rank, std::uint32_t> holder;
    for (std::uint32_t shard = 0; shard < assignment.option->num_shards(); ++shard) {
      const auto [other, added] = holder.try_emplace(assignment.rank(shard), shard);
      if (added) continue;
      violations_.push_back(described(assignment, shard) + ", and so is shard " +
                            std::to_string(other->second) + ", but " + place +
                            "/distinct_ranks requires different ranks");
      return;
    }
  }

  // Calls visit(assignment) for every assignment whose table is in the group.
  template <class Visit>
  void for_each_of(const TableGroup& group, const Visit& visit) const {
    for (const std::string& name : group.tables) {
      const auto [begin, end] = by_name_.equal_range(name);
      for (auto entry = begin; entry != end; ++entry)
        visit(plan_[entry->second]);
    }
  }

  void check_together(const TableGroup& group, const std::string& place) {
    const Assignment* first = nullptr;
    bool violated = false;
    for_each_of(group, [&](const Assignment& assignment) {
      for (std::uint32_t shard = 0; shard < assignment.option->num_shards() && !violated; ++shard) {
        if (first == nullptr) first = &assignment;
        const Rank rank = assignment.rank(shard);
        const Rank meeting = first->rank(0);
        violated =
            group.on == GroupScope::kRank ? rank != meeting : host_of(rank) != host_of(meeting);
        if (!violated) continue;
        violations_.push_back(described(assignment, shard) + ", but " + place + " requires " +
                              (group.on == GroupScope::kRank ? "rank " : "the host of rank ") +
                              std::to_string(meeting) + ", which holds shard 0 of table \"" +
                              table_of(*first).name + "\"");
      }
    });
  }

  void check_apart(const TableGroup& group, const std::string& place) {
    std::map<std::uint32_t, const Assignment*> holder;
    bool violated = false;
    for_each_of(group, [&](const Assignment& assignment) {
      for (std::uint32_t shard = 0; shard < assignment.option->num_shards() && !violated; ++shard) {
        const Rank rank = assignment.rank(shard);
        const auto [other, added] =
            holder.try_emplace(group.on == GroupScope::kRank ? rank : host_of(rank), &assignment);
        violated = !added && other->second->option->table != assignment.option->table;
        if (!violated) continue;
        violations_.push_back(described(assignment, shard) + ", but " + place + " forbids a " +
                              (group.on == GroupScope::kRank ? "rank" : "host") +
                              " that holds shards of table \"" + table_of(*other->second).name +
                              "\"");
      }
    });
  }

  const Problem& problem_;
  const Plan& plan_;
  std::multimap<std::string_view, std::size_t> by_name_;  // table name to index in the plan
  std::vector<std::string> violations_;
};

bool has_constraints(const ProblemSpec& spec) {
  return !spec.keep_together.empty() || !spec.keep_apart.empty() ||
         std::any_of(spec.tables.begin(), spec.tables.end(),
                     [](const Table& table) { return table.placement.any(); });
}

}  // namespace

std::vector<std::string> constraint_violations(const Problem& problem, const Plan& plan) {
  if (!has_constraints(problem.spec())) return {};
  return ConstraintChecker(problem, plan).run();
}

namespace {

// The part of a table in one shard, or in several shards stacked row over row.
struct Tile {
  std::int64_t column = 0;
  std::int64_t row = 0;
  std::int64_t columns = 0;
  std::int64_t rows = 0;
  friend auto operator<=>(const Tile&, const Tile&) = default;
};

// Returns true if each shard of the run begins at the row where the previous shard ends. Such
// shards form one tile. The limit on the rows prevents overflow of rows * count.
bool stacked(const ShardExtent& extent) {
  return extent.column_step == 0 && extent.row_step == extent.rows && extent.rows > 0 &&
         extent.rows <= std::numeric_limits<std::int64_t>::max() / std::max(extent.count, 1U);
}

std::vector<Tile> sorted_tiles(const ShardLayout& layout) {
  std::vector<Tile> tiles;
  for (const ShardExtent& extent : layout.extents) {
    if (extent.empty()) continue;
    if (stacked(extent)) {
      tiles.push_back(Tile{extent.column_offset, extent.row_offset, extent.columns,
                           extent.rows * extent.count});
      continue;
    }
    for (std::int64_t k = 0; k < extent.count; ++k) {
      tiles.push_back(Tile{extent.column_offset + k * extent.column_step,
                           extent.row_offset + k * extent.row_step, extent.columns, extent.rows});
    }
  }
  std::sort(tiles.begin(), tiles.end());
  return tiles;
}

bool is_replica(const ShardExtent& extent, std::int64_t rows, std::int64_t columns) {
  return extent.rows == rows && extent.columns == columns && extent.row_offset == 0 &&
         extent.column_offset == 0 &&
         (extent.count == 1 || (extent.row_step == 0 && extent.column_step == 0));
}

// Precondition: `tiles` is sorted by column, then row.
bool tile_exactly(const std::vector<Tile>& tiles, std::int64_t rows, std::int64_t columns) {
  std::int64_t column = 0;
  for (std::size_t i = 0; i < tiles.size();) {
    const Tile& first = tiles[i];
    std::int64_t row = 0;
    for (; i < tiles.size() && tiles[i].column == first.column; ++i) {
      if (tiles[i].row != row || tiles[i].columns != first.columns || tiles[i].rows < 0)
        return false;
      row += tiles[i].rows;
    }
    if (first.column != column || first.columns < 0 || row != rows) return false;
    column += first.columns;
  }
  return column == columns;
}

}  // namespace

bool shards_tile_table(const ShardingOption& option, const Table& table, bool rows_may_be_wider) {
  std::int64_t width = table.embedding_dim;
  if (option.sharding_type == ShardingType::kDataParallel) {
    const auto& extents = option.layout->extents;
    if (rows_may_be_wider && !extents.empty()) width = std::max(width, extents.back().columns);
    return std::all_of(extents.begin(), extents.end(), [&](const ShardExtent& extent) {
      return is_replica(extent, table.num_embeddings, width);
    });
  }
  const std::vector<Tile> tiles = sorted_tiles(*option.layout);
  if (rows_may_be_wider && !tiles.empty())
    width = std::max(width, tiles.back().column + tiles.back().columns);
  return tile_exactly(tiles, table.num_embeddings, width);
}

namespace {

class Verifier {
 public:
  Verifier(const Problem& problem, const Topology& available, const Plan& plan)
      : problem_(problem), available_(available), plan_(plan), totals_(available.world_size()) {}

  Evaluation run() {
    check_every_table_once();
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      if (plan_[i].option->table.index() < problem_.tables().size()) visit(plan_[i]);
    }
    for (std::size_t rank = 0; rank < available_.world_size(); ++rank) {
      result_.perf_ms_by_rank.push_back(measured(totals_.total_ms(rank), rank));
      result_.perf_parts_by_rank.push_back(measured(totals_.parts(rank), rank));
      result_.storage_by_rank.push_back(totals_.storage(rank));
    }
    check_memory();
    for (std::string& message : constraint_violations(problem_, plan_))
      report(Violation::Kind::kPlacementConstraint, std::move(message));
    rate();
    return std::move(result_);
  }

 private:
  void report(Violation::Kind kind, std::string message) {
    result_.violations.push_back(Violation{kind, std::move(message)});
  }
  const std::string& name(const ShardingOption& option) const {
    return problem_.table(option.table).name;
  }

  double measured(double ms, std::size_t rank) const {
    const std::vector<double>& factors = problem_.spec().calibration.rank_time;
    return factors.empty() ? ms : ms * factors[rank];
  }
  Perf measured(const Perf& perf, std::size_t rank) const {
    const auto scaled = [&](Milliseconds ms) { return Milliseconds(measured(ms.value(), rank)); };
    return {scaled(perf.fwd_compute), scaled(perf.fwd_comms), scaled(perf.bwd_compute),
            scaled(perf.bwd_comms), scaled(perf.prefetch_compute)};
  }

  void check_every_table_once() {
    std::vector<int> seen(problem_.tables().size(), 0);
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      const TableId id = plan_[i].option->table;
      if (id.index() < seen.size()) {
        ++seen[id.index()];
      } else {
        report(Violation::Kind::kUnknownTable, "entry " + std::to_string(i) +
                                                   " of the plan is for a table that the problem "
                                                   "does not have");
      }
    }
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const std::string& table = problem_.tables()[i].name;
      if (seen[i] == 0)
        report(Violation::Kind::kMissingTable, "table \"" + table + "\" is not in the plan");
      if (seen[i] > 1) {
        report(Violation::Kind::kDuplicateTable,
               "table \"" + table + "\" is in the plan more than once");
      }
    }
  }

  void visit(const Assignment& assignment) {
    const ShardingOption& option = *assignment.option;
    if (!check_shards(option)) return;
    if (assignment.ranks.size() != 0 && assignment.ranks.size() != option.num_shards()) {
      report(Violation::Kind::kWrongShardCount,
             "table \"" + name(option) + "\" has " + std::to_string(option.num_shards()) +
                 " shards but " + std::to_string(assignment.ranks.size()) + " ranks");
      return;
    }
    if (assignment.ranks.size() == 0 && option.partition_by() != PartitionBy::kUniform) {
      report(Violation::Kind::kWrongShardCount, "table \"" + name(option) + "\" is not placed");
      return;
    }
    check_covering(option);
    if (!check_ranks(assignment)) return;
    check_placement(assignment);
    std::uint32_t shard = 0;
    for (std::size_t run = 0; run < option.costs.size(); ++run) {
      const ShardCost& cost = option.costs[run];
      const std::uint32_t count = option.layout->extents[run].count;
      check_cost(option, cost);
      if (in_rank_order(assignment)) {
        totals_.add(shard, count, cost);
      } else {
        for (std::uint32_t k = 0; k < count; ++k)
          totals_.add(assignment.rank(shard + k), 1, cost);
      }
      shard += count;
    }
  }

  // A plan stores no ranks for an option whose shard i is on rank i.
  static bool in_rank_order(const Assignment& assignment) { return assignment.ranks.size() == 0; }

  // Later checks rely on this check: runs, costs and the number of shards agree.
  bool check_shards(const ShardingOption& option) {
    const auto& extents = option.layout->extents;
    std::uint64_t shards = 0;
    for (const ShardExtent& extent : extents)
      shards += extent.count;
    if (shards == option.num_shards() && extents.size() == option.costs.size()) return true;
    report(Violation::Kind::kWrongShardCount,
           "table \"" + name(option) + "\" has " + std::to_string(option.num_shards()) +
               " shards but sizes for " + std::to_string(shards) + ", and " +
               std::to_string(option.costs.size()) + " costs for " +
               std::to_string(extents.size()) + " runs of shards");
    return false;
  }

  // Tables of equal shape share layouts, so results are cached by layout and shape.
  void check_covering(const ShardingOption& option) {
    const Table& table = problem_.table(option.table);
    const Covering covering{option.layout, option.sharding_type, table.num_embeddings,
                            table.embedding_dim};
    const auto [known, added] = coverings_.try_emplace(covering, false);
    if (added) {
      // Quantised rows are stored with a scale and a bias.
      const bool quantised = problem_.spec().sharder.type == SharderSpec::Type::kQuant;
      known->second = shards_tile_table(option, table, quantised);
    }
    if (!known->second) {
      report(Violation::Kind::kNotCovering,
             "the shards of table \"" + table.name + "\" do not tile its rows and columns");
    }
  }

  bool check_ranks(const Assignment& assignment) {
    if (in_rank_order(assignment) && assignment.option->num_shards() <= available_.world_size()) {
      return true;
    }
    for (std::uint32_t shard = 0; shard < assignment.option->num_shards(); ++shard) {
      if (assignment.rank(shard) >= available_.world_size()) {
        report(Violation::Kind::kNoSuchRank, "shard " + std::to_string(shard) + " of table \"" +
                                                 name(*assignment.option) + "\" is on rank " +
                                                 std::to_string(assignment.rank(shard)) + " of " +
                                                 std::to_string(available_.world_size()));
        return false;
      }
    }
    return true;
  }

  void check_placement(const Assignment& assignment) {
    const ShardingOption& option = *assignment.option;
    const std::uint32_t local = available_.local_world_size();
    const std::uint32_t shards = option.num_shards();
    const Rank hosted = available_.num_hosted_ranks();
    bool right = true;
    switch (option.partition_by()) {
      case PartitionBy::kDevice:
        break;
      case PartitionBy::kUniform:
        right = shards == available_.world_size();
        for (std::uint32_t i = 0; right && i < assignment.ranks.size(); ++i)
          right = assignment.rank(i) == i;
        break;
      case PartitionBy::kHost:
        for (std::uint32_t i = 0; right && i < shards; ++i) {
          right = assignment.rank(i) / local == assignment.rank(0) / local &&
                  assignment.rank(i) < hosted;
        }
        if (option.sharding_type != ShardingType::kTableRowWise) break;
        [[fallthrough]];
      case PartitionBy::kMultiHost:
        // Whole hosts; within a host, one shard per rank in rank order.
        right = right && shards % local == 0;
        for (std::uint32_t i = 0; right && i < shards; ++i) {
          right = assignment.rank(i) % local == i % local && assignment.rank(i) < hosted &&
                  assignment.rank(i) / local == assignment.rank(i - i % local) / local;
        }
        break;
    }
    if (!right) {
      report(Violation::Kind::kWrongPlacement,
             "table \"" + name(option) + "\" is " + std::string(to_name(option.sharding_type)) +
                 ", but its ranks are not where that sharding type places them");
    }
  }

  void check_cost(const ShardingOption& option, const ShardCost& cost) {
    const Perf& perf = cost.perf;
    bool right = !cost.storage.is_negative();
    for (const Milliseconds part : {perf.fwd_compute, perf.fwd_comms, perf.bwd_compute,
                                    perf.bwd_comms, perf.prefetch_compute, perf.total()}) {
      right = right && std::isfinite(part.value()) && part.value() >= 0;
    }
    if (!right) {
      report(Violation::Kind::kBadCost,
             "a shard of table \"" + name(option) + "\" has a cost that is negative or not finite");
    }
  }

  void check_memory() {
    for (std::size_t rank = 0; rank < available_.world_size(); ++rank) {
      const Storage used = result_.storage_by_rank[rank];
      const Storage cap = available_.storage()[rank];
      // A rank without shards fits even if the reservation left it less than nothing.
      if (used == Storage() || used.fits_in(cap)) continue;
      const MemoryTier tier = *std::find_if(kMemoryTiers.begin(), kMemoryTiers.end(),
                                            [&](MemoryTier own) { return used[own] > cap[own]; });
      const std::int64_t over = (used[tier] - cap[tier]).value();
      report(Violation::Kind::kOutOfMemory,
             "rank " + std::to_string(rank) + " needs " + std::to_string(over) + " bytes more " +
                 std::string(label_of(tier)) + " than " + limit_text());
    }
  }

  // Returns the end of the message about a rank that exceeds its memory.
  const char* limit_text() const {
    return problem_.spec().memory.any_margin() ? "it may use: its margin must stay free" : "it has";
  }

  void rate() {
    double worst = 0;
    for (std::size_t rank = 0; rank < available_.world_size(); ++rank) {
      const double value = problem_.spec().perf_model == PerfModel::kPerf
                               ? result_.perf_ms_by_rank[rank]
                               : static_cast<double>(result_.storage_by_rank[rank].hbm.value());
      worst = std::max(worst, value);
    }
    result_.rating = worst;
  }

  using Covering = std::tuple<const ShardLayout*, ShardingType, std::int64_t, std::int64_t>;

  const Problem& problem_;
  const Topology& available_;
  const Plan& plan_;
  RankTotals totals_;
  std::map<Covering, bool> coverings_;
  Evaluation result_;
};

}  // namespace

Evaluation evaluate(const Problem& problem, const Topology& available, const Plan& plan) {
  return Verifier(problem, available, plan).run();
}

}  // namespace shardwright::embedding
