#include "search/embedding/questions/move_costs.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "core/numeric/assignment.h"

namespace shardwright::embedding {
namespace {

// Largest size of table_costs_, 16 MiB.
constexpr std::size_t kMostTableCosts = std::size_t{1} << 21;

}  // namespace

MoveCosts::MoveCosts(const ChoiceModel& model, const HeldPlan& held)
    : model_(&model), world_(model.world_size()), charges_(&held), holders_(model.num_tables()) {
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    const std::optional<HeldTable>& own = held.tables[model.table(table).index()];
    if (!own || !own->layout) continue;
    // Leaves out ranks that the machine no longer has.
    for (const std::int64_t rank : own->ranks) {
      if (rank < static_cast<std::int64_t>(world_))
        holders_[table].push_back(static_cast<Rank>(rank));
    }
    std::sort(holders_[table].begin(), holders_[table].end());
    const auto end = std::unique(holders_[table].begin(), holders_[table].end());
    holders_[table].erase(end, holders_[table].end());
  }
  fill_table_costs();
}

double MoveCosts::compute(std::uint32_t choice, std::uint32_t shard, Rank rank) const {
  const ShardingOption& option = model_->pool().option(model_->choices()[choice].option);
  if (!charges_.has(option.table)) return 0;
  const ShardExtent* extent = option.layout->extents.data();
  while (shard >= extent->count)
    shard -= (extent++)->count;
  const TensorPart part{extent->row_offset + std::int64_t{shard} * extent->row_step,
                        extent->column_offset + std::int64_t{shard} * extent->column_step,
                        extent->rows, extent->columns};
  return charges_.charge(option.table, part, rank);
}

double MoveCosts::cost(std::uint32_t choice, std::span<const Rank> ranks) const {
  double sum = 0;
  const std::uint32_t shards = model_->choices()[choice].num_shards;
  for (std::uint32_t shard = 0; shard < shards; ++shard)
    sum += cost(choice, shard, ranks.empty() ? shard : ranks[shard]);
  return sum;
}

void MoveCosts::fill_table_costs() {
  std::size_t size = 0;
  for (const Choice& choice : model_->choices())
    size += choice.num_shards * world_;
  if (size > kMostTableCosts) return;
  std::vector<double> costs;
  costs.reserve(size);
  for (std::uint32_t choice = 0; choice < model_->choices().size(); ++choice) {
    first_.push_back(costs.size());
    for (std::uint32_t shard = 0; shard < model_->choices()[choice].num_shards; ++shard) {
      for (Rank rank = 0; rank < world_; ++rank)
        costs.push_back(compute(choice, shard, rank));
    }
  }
  table_costs_ = std::move(costs);
}

namespace {

// The cost of moves if all shards of one rank go to another rank, or those of one host to another
// host.
class LabelCosts {
 public:
  LabelCosts(const ChoiceModel& model, const MoveCosts& costs, const Allocation& allocation)
      : local_(model.local_world_size()),
        ranks_(model.world_size()),
        hosts_(ranks_ / local_),
        by_rank_(std::size_t{ranks_} * ranks_),
        by_host_(std::size_t{hosts_} * hosts_) {
    for (std::size_t table = 0; table < allocation.choice.size(); ++table) {
      const std::uint32_t choice = allocation.choice[table];
      const Reach reach = model.choices()[choice].reach;
      const std::span<const Rank> ranks = allocation.ranks[table];
      for (std::uint32_t shard = 0; shard < ranks.size(); ++shard) {
        if (reach == Reach::kWholeHosts) {
          add_block_shard(costs, choice, shard, ranks[shard]);
        } else {
          add_shard(costs, choice, shard, ranks[shard]);
        }
      }
    }
  }

  std::uint32_t local() const { return local_; }
  std::uint32_t hosts() const { return hosts_; }

  // Returns for each rank of host `from` its place on host `to`, at the least cost. Adds this cost
  // to `sum`.
  std::vector<std::uint32_t> ranks_between(std::uint32_t from, std::uint32_t to,
                                           double& sum) const {
    const auto cost = [&](std::uint32_t a, std::uint32_t b) {
      const std::size_t rank = std::size_t{from} * local_ + a;
      return by_rank_[rank * ranks_ + std::size_t{to} * local_ + b];
    };
    std::vector<std::uint32_t> places = cheapest_assignment(local_, cost);
    for (std::uint32_t a = 0; a < local_; ++a)
      sum += cost(a, places[a]);
    return places;
  }
  // The cost of moves if the blocks of whole hosts on `from` go to host `to`.
  double blocks_between(std::uint32_t from, std::uint32_t to) const {
    return by_host_[std::size_t{from} * hosts_ + to];
  }

 private:
  void add_shard(const MoveCosts& costs, std::uint32_t choice, std::uint32_t shard, Rank from) {
    for (Rank to = 0; to < ranks_; ++to)
      by_rank_[std::size_t{from} * ranks_ + to] += costs.cost(choice, shard, to);
  }
  void add_block_shard(const MoveCosts& costs, std::uint32_t choice, std::uint32_t shard,
                       Rank from) {
    for (std::uint32_t host = 0; host < hosts_; ++host) {
      by_host_[std::size_t{from / local_} * hosts_ + host] +=
          costs.cost(choice, shard, host * local_ + from % local_);
    }
  }

  std::uint32_t local_;
  std::uint32_t ranks_;
  std::uint32_t hosts_;
  std::vector<double> by_rank_;  // [from][to]
  std::vector<double> by_host_;  // [from][to]
};

}  // namespace

Allocation relabel_ranks(const ChoiceModel& model, const MoveCosts& costs,
                         const Allocation& allocation) {
  const LabelCosts labels(model, costs, allocation);
  const std::uint32_t hosts = labels.hosts();
  const std::uint32_t local = labels.local();
  std::vector<double> host_cost(std::size_t{hosts} * hosts);
  for (std::uint32_t from = 0; from < hosts; ++from) {
    for (std::uint32_t to = 0; to < hosts; ++to) {
      double& sum = host_cost[std::size_t{from} * hosts + to];
      sum = labels.blocks_between(from, to);
      labels.ranks_between(from, to, sum);
    }
  }
  const std::vector<std::uint32_t> host_of =
      cheapest_assignment(hosts, [&](std::uint32_t from, std::uint32_t to) {
        return host_cost[std::size_t{from} * hosts + to];
      });
  std::vector<Rank> label(model.world_size());  // ranks of an incomplete host keep their labels
  std::iota(label.begin(), label.end(), Rank{0});
  std::vector<Rank> label_in_order = label;  // for choices of whole hosts
  for (std::uint32_t from = 0; from < hosts; ++from) {
    double sum = 0;
    const std::vector<std::uint32_t> places = labels.ranks_between(from, host_of[from], sum);
    for (std::uint32_t a = 0; a < local; ++a) {
      label[from * local + a] = host_of[from] * local + places[a];
      label_in_order[from * local + a] = host_of[from] * local + a;
    }
  }
  Allocation out = allocation;
  for (std::size_t table = 0; table < out.ranks.size(); ++table) {
    const bool is_block = model.choices()[out.choice[table]].reach == Reach::kWholeHosts;
    for (Rank& rank : out.ranks[table])
      rank = is_block ? label_in_order[rank] : label[rank];
  }
  return out;
}

std::uint64_t label_work(const ChoiceModel& model, const Allocation& allocation) {
  constexpr std::uint64_t kWorkOfCost = 4;  // one cost takes as long as this many updates of a rank
  std::uint64_t shards = 0;
  for (const std::vector<Rank>& ranks : allocation.ranks)
    shards += ranks.size();
  const std::uint64_t hosts = model.num_hosts();
  const std::uint64_t local = model.local_world_size();
  return kWorkOfCost * shards * model.world_size() + hosts * hosts * local * local * local +
         hosts * hosts * hosts;
}

}  // namespace shardwright::embedding
