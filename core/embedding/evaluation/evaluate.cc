#include "core/embedding/evaluation/evaluate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "core/embedding/evaluation/constraint_violations.h"
#include "core/embedding/evaluation/rank_totals.h"
#include "core/embedding/evaluation/shard_tiling.h"

namespace shardwright::embedding {
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

  // The checks that follow rely on this: runs, costs and the number of shards agree.
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

  // Tables of equal shape share layouts, so the result is kept by layout and shape.
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

  // Ends the message about a rank that is too full.
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
