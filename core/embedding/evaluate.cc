#include "core/embedding/evaluate.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <string>

namespace shardwright::embedding {
namespace {

class Verifier {
 public:
  Verifier(const Problem& problem, const Topology& available, const Plan& plan)
      : problem_(problem), available_(available), plan_(plan) {}

  Evaluation run() {
    const std::size_t world = available_.world_size();
    result_.perf_ms_by_rank.assign(world, 0.0);
    result_.perf_parts_by_rank.assign(world, Perf());
    result_.storage_by_rank.assign(world, Storage());
    check_every_table_once();
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      if (plan_[i].option->table.index() < problem_.tables().size()) visit(plan_[i]);
    }
    check_memory();
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
      check_cost(option, cost);
      for (std::uint32_t k = 0; k < option.layout->extents[run].count; ++k, ++shard) {
        const Rank rank = assignment.rank(shard);
        result_.perf_ms_by_rank[rank] += cost.perf.total().value();
        result_.perf_parts_by_rank[rank] += cost.perf;
        result_.storage_by_rank[rank] += cost.storage;
      }
    }
  }

  // Runs, costs and the number of shards must agree, or nothing below can be counted.
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

  // The part of a table that one shard holds.
  struct Tile {
    std::int64_t column = 0;
    std::int64_t row = 0;
    std::int64_t columns = 0;
    std::int64_t rows = 0;
    friend auto operator<=>(const Tile&, const Tile&) = default;
  };

  static std::vector<Tile> tiles(const ShardLayout& layout) {
    std::vector<Tile> tiles;
    for (const ShardExtent& extent : layout.extents) {
      if (extent.empty()) continue;
      for (std::int64_t k = 0; k < extent.count; ++k) {
        tiles.push_back(Tile{extent.column_offset + k * extent.column_step,
                             extent.row_offset + k * extent.row_step, extent.columns, extent.rows});
      }
    }
    return tiles;
  }

  // Every replica is the whole table; all other shards form columns of equal width, each of which
  // is cut into rows without a gap or an overlap.
  void check_covering(const ShardingOption& option) {
    const Table& table = problem_.table(option.table);
    std::vector<Tile> parts = tiles(*option.layout);
    std::sort(parts.begin(), parts.end());
    // The rows of a quantised table are stored wider than the embedding: scale and bias.
    const bool wider = problem_.spec().sharder.type == SharderSpec::Type::kQuant;
    const std::int64_t width =
        wider && !parts.empty()
            ? std::max(table.embedding_dim, parts.back().column + parts.back().columns)
            : table.embedding_dim;
    const bool right = option.sharding_type == ShardingType::kDataParallel
                           ? are_replicas(parts, option.num_shards(), table.num_embeddings, width)
                           : do_tile(parts, table.num_embeddings, width);
    if (!right) {
      report(Violation::Kind::kNotCovering,
             "the shards of table \"" + table.name + "\" do not tile its rows and columns");
    }
  }

  static bool are_replicas(const std::vector<Tile>& parts, std::uint32_t count, std::int64_t rows,
                           std::int64_t columns) {
    const Tile whole{0, 0, columns, rows};
    return parts.size() == count &&
           std::all_of(parts.begin(), parts.end(), [&](const Tile& part) { return part == whole; });
  }

  // Precondition: ordered by column, then row.
  static bool do_tile(const std::vector<Tile>& parts, std::int64_t rows, std::int64_t columns) {
    std::int64_t column = 0;
    for (std::size_t i = 0; i < parts.size();) {
      const Tile& first = parts[i];
      std::int64_t row = 0;
      for (; i < parts.size() && parts[i].column == first.column; ++i) {
        if (parts[i].row != row || parts[i].columns != first.columns || parts[i].rows < 0)
          return false;
        row += parts[i].rows;
      }
      if (first.column != column || first.columns < 0 || row != rows) return false;
      column += first.columns;
    }
    return column == columns;
  }

  bool check_ranks(const Assignment& assignment) {
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
    bool right = true;
    switch (option.partition_by()) {
      case PartitionBy::kDevice:
        break;
      case PartitionBy::kUniform:
        right = shards == available_.world_size();
        for (std::uint32_t i = 0; right && i < shards; ++i)
          right = assignment.rank(i) == i;
        break;
      case PartitionBy::kHost:
        for (std::uint32_t i = 1; right && i < shards; ++i) {
          right = assignment.rank(i) / local == assignment.rank(0) / local;
        }
        if (option.sharding_type != ShardingType::kTableRowWise) break;
        [[fallthrough]];
      case PartitionBy::kMultiHost:
        // Whole hosts, each rank once and in rank order.
        right = right && shards % local == 0;
        for (std::uint32_t i = 0; right && i < shards; ++i) {
          right = assignment.rank(i) % local == i % local &&
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
    bool right = cost.storage.hbm.value() >= 0 && cost.storage.ddr.value() >= 0;
    for (const Milliseconds part : {perf.fwd_compute, perf.fwd_comms, perf.bwd_compute,
                                    perf.bwd_comms, perf.prefetch_compute, perf.total()}) {
      right = right && std::isfinite(part.value()) && part.value() >= 0;
    }
    if (!right) {
      report(Violation::Kind::kBadCost,
             "a shard of table \"" + name(option) + "\" has a negative or not finite cost");
    }
  }

  void check_memory() {
    for (std::size_t rank = 0; rank < available_.world_size(); ++rank) {
      const Storage used = result_.storage_by_rank[rank];
      const Storage cap = available_.storage()[rank];
      // A rank that holds nothing fits whatever the reservation left of it.
      if (used == Storage() || used.fits_in(cap)) continue;
      const bool hbm = used.hbm > cap.hbm;
      const std::int64_t over = hbm ? (used.hbm - cap.hbm).value() : (used.ddr - cap.ddr).value();
      report(Violation::Kind::kOutOfMemory, "rank " + std::to_string(rank) + " needs " +
                                                std::to_string(over) + " bytes more " +
                                                (hbm ? "HBM" : "DDR") + " than it has");
    }
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

  const Problem& problem_;
  const Topology& available_;
  const Plan& plan_;
  Evaluation result_;
};

}  // namespace

Evaluation evaluate(const Problem& problem, const Topology& available, const Plan& plan) {
  return Verifier(problem, available, plan).run();
}

}  // namespace shardwright::embedding
