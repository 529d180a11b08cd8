#include "core/embedding/evaluate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "core/embedding/broken_rules.h"

namespace shardwright::embedding {
namespace {

// What the ranks hold and do, a column per quantity: shards on consecutive ranks are added at the
// speed of memory.
class RankLoads {
 public:
  explicit RankLoads(std::size_t world) {
    for (auto& column : ms_)
      column.assign(world, 0.0);
    for (auto& column : bytes_)
      column.assign(world, 0);
  }

  void add(Rank first, std::uint32_t count, const ShardCost& cost) {
    const Perf& perf = cost.perf;
    const double ms[] = {perf.fwd_compute.value(),      perf.fwd_comms.value(),
                         perf.bwd_compute.value(),      perf.bwd_comms.value(),
                         perf.prefetch_compute.value(), perf.total().value()};
    const std::int64_t bytes[] = {cost.storage.hbm.value(), cost.storage.ddr.value()};
    for (std::size_t i = 0; i < ms_.size(); ++i)
      add_to(ms_[i], first, count, ms[i]);
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      add_to(bytes_[i], first, count, bytes[i]);
  }

  double total_ms(std::size_t rank) const { return ms_[5][rank]; }
  Perf parts(std::size_t rank) const {
    return {Milliseconds(ms_[0][rank]), Milliseconds(ms_[1][rank]), Milliseconds(ms_[2][rank]),
            Milliseconds(ms_[3][rank]), Milliseconds(ms_[4][rank])};
  }
  Storage storage(std::size_t rank) const {
    return {Bytes(bytes_[0][rank]), Bytes(bytes_[1][rank])};
  }

 private:
  template <class T>
  static void add_to(std::vector<T>& column, Rank first, std::uint32_t count, T value) {
    if (value == T()) return;
    for (std::uint32_t rank = first; rank < first + count; ++rank)
      column[rank] += value;
  }

  // The parts in the order of Perf, then their total.
  std::array<std::vector<double>, 6> ms_;
  std::array<std::vector<std::int64_t>, 2> bytes_;
};

class Verifier {
 public:
  Verifier(const Problem& problem, const Topology& available, const Plan& plan)
      : problem_(problem), available_(available), plan_(plan), loads_(available.world_size()) {}

  Evaluation run() {
    check_every_table_once();
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      if (plan_[i].option->table.index() < problem_.tables().size()) visit(plan_[i]);
    }
    for (std::size_t rank = 0; rank < available_.world_size(); ++rank) {
      result_.perf_ms_by_rank.push_back(measured(loads_.total_ms(rank), rank));
      result_.perf_parts_by_rank.push_back(measured(loads_.parts(rank), rank));
      result_.storage_by_rank.push_back(loads_.storage(rank));
    }
    check_memory();
    for (std::string& message : broken_rules(problem_, plan_))
      report(Violation::Kind::kBrokenRule, std::move(message));
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
        loads_.add(shard, count, cost);
      } else {
        for (std::uint32_t k = 0; k < count; ++k)
          loads_.add(assignment.rank(shard + k), 1, cost);
      }
      shard += count;
    }
  }

  // Shard i is on rank i, without a list that says so.
  static bool in_rank_order(const Assignment& assignment) { return assignment.ranks.size() == 0; }

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

  // Whether each shard of the run begins at the row where the one before ends: together they are
  // one part. The bound keeps the product from overflowing.
  static bool stacked(const ShardExtent& extent) {
    return extent.column_step == 0 && extent.row_step == extent.rows && extent.rows > 0 &&
           extent.rows <= std::numeric_limits<std::int64_t>::max() / std::max(extent.count, 1U);
  }

  // The part of a table that one shard, or several in a column, hold.
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
    return tiles;
  }

  // Tables of one shape share their layouts, and then the answer.
  void check_covering(const ShardingOption& option) {
    const Table& table = problem_.table(option.table);
    const Covering covering{option.layout, option.sharding_type, table.num_embeddings,
                            table.embedding_dim};
    const auto [known, added] = coverings_.try_emplace(covering, false);
    if (added) known->second = covers(option, table);
    if (!known->second) {
      report(Violation::Kind::kNotCovering,
             "the shards of table \"" + table.name + "\" do not tile its rows and columns");
    }
  }

  // Every replica is the whole table; all other shards form columns of equal width, each of which
  // is cut into rows without a gap or an overlap.
  bool covers(const ShardingOption& option, const Table& table) const {
    // The rows of a quantised table are stored wider than the embedding: scale and bias.
    const bool wider = problem_.spec().sharder.type == SharderSpec::Type::kQuant;
    std::int64_t width = table.embedding_dim;
    if (option.sharding_type == ShardingType::kDataParallel) {
      const auto& extents = option.layout->extents;
      if (wider && !extents.empty()) width = std::max(width, extents.back().columns);
      return std::all_of(extents.begin(), extents.end(), [&](const ShardExtent& extent) {
        return is_replica(extent, table.num_embeddings, width);
      });
    }
    std::vector<Tile> parts = tiles(*option.layout);
    std::sort(parts.begin(), parts.end());
    if (wider && !parts.empty()) {
      width = std::max(width, parts.back().column + parts.back().columns);
    }
    return do_tile(parts, table.num_embeddings, width);
  }

  static bool is_replica(const ShardExtent& extent, std::int64_t rows, std::int64_t columns) {
    return extent.rows == rows && extent.columns == columns && extent.row_offset == 0 &&
           extent.column_offset == 0 &&
           (extent.count == 1 || (extent.row_step == 0 && extent.column_step == 0));
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
                                                (hbm ? "HBM" : "DDR") + " than " + beyond());
    }
  }

  // What the available memory is, for a message.
  const char* beyond() const {
    return problem_.spec().memory.any_margin() ? "it may use: its margin must stay free"
                                               : "it has";
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
  RankLoads loads_;
  std::map<Covering, bool> coverings_;
  Evaluation result_;
};

}  // namespace

Evaluation evaluate(const Problem& problem, const Topology& available, const Plan& plan) {
  return Verifier(problem, available, plan).run();
}

}  // namespace shardwright::embedding
