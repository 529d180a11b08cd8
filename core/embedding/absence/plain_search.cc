#include "core/embedding/absence/plain_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/embedding/absence/interchangeable_ranks.h"
#include "core/embedding/evaluation/evaluate.h"

namespace shardwright::embedding {
namespace {

// The search recurses once per shard.
constexpr std::uint64_t kMostShards = 4096;
constexpr std::uint32_t kMostRanks = 4096;

bool has_valid_costs(const ShardingOption& option) {
  return std::all_of(option.costs.begin(), option.costs.end(), [](const ShardCost& cost) {
    const Perf& perf = cost.perf;
    for (const Milliseconds part : {perf.fwd_compute, perf.fwd_comms, perf.bwd_compute,
                                    perf.bwd_comms, perf.prefetch_compute, perf.total()}) {
      if (!std::isfinite(part.value()) || part.value() < 0) return false;
    }
    return cost.storage.hbm.value() >= 0 && cost.storage.ddr.value() >= 0;
  });
}

// Returns true if `a` has the same shards as `b`, may be where `b` may be, and needs no more
// memory.
bool needs_no_more(const ShardingOption& a, const ShardingOption& b) {
  if (a.sharding_type != b.sharding_type || !(*a.layout == *b.layout)) return false;
  if (a.costs.size() != b.costs.size()) return false;
  for (std::size_t run = 0; run < a.costs.size(); ++run) {
    if (!a.costs[run].storage.fits_in(b.costs[run].storage)) return false;
  }
  return true;
}

struct TableOptions {
  TableId table;
  std::vector<const ShardingOption*> options;
  bool is_ruled = false;
  std::uint64_t most_shards = 0;
  std::int64_t least_bytes = 0;
};

void add_option(const ShardingOption& option, TableOptions& table) {
  if (!has_valid_costs(option) || option.num_shards() == 0) return;
  for (const ShardingOption*& known : table.options) {
    if (needs_no_more(*known, option)) return;
    if (!needs_no_more(option, *known)) continue;
    known = &option;
    return;
  }
  table.options.push_back(&option);
}

// Tables that rules name come first, then the largest, so that dead ends come early.
std::vector<TableOptions> options_by_table(const SearchSpace& space) {
  std::vector<TableOptions> tables(space.problem().tables().size());
  for (const ShardingOption& option : space.options())
    add_option(option, tables[option.table.index()]);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    TableOptions& own = tables[i];
    own.table = TableId(i);
    own.is_ruled = space.problem().rules().constrains(own.table);
    for (const ShardingOption* const option : own.options) {
      const Storage total = option->total_storage();
      const std::int64_t bytes = total.hbm.value() + total.ddr.value();
      own.least_bytes = option == own.options.front() ? bytes : std::min(own.least_bytes, bytes);
      own.most_shards = std::max<std::uint64_t>(own.most_shards, option->num_shards());
    }
  }
  std::stable_sort(tables.begin(), tables.end(), [](const TableOptions& a, const TableOptions& b) {
    if (a.is_ruled != b.is_ruled) return a.is_ruled;
    return a.least_bytes > b.least_bytes;
  });
  return tables;
}

// One call of search_plainly().
// Thread safety: one thread at a time.
class PlainSearch {
 public:
  PlainSearch(std::shared_ptr<const SearchSpace> space, std::vector<TableOptions> tables,
              const Topology& available, std::uint64_t work_limit)
      : space_(std::move(space)),
        problem_(space_->problem()),
        rules_(problem_.rules()),
        available_(available),
        local_(available.local_world_size()),
        alike_(*space_, available),
        tables_(std::move(tables)),
        work_limit_(work_limit),
        work_left_(work_limit),
        used_(available.world_size()),
        shards_on_rank_(available.world_size(), 0),
        shards_on_host_(available.num_hosts(), 0),
        chosen_(problem_.tables().size(), nullptr),
        ranks_(problem_.tables().size()) {}

  PlainSearchResult run() {
    using Answer = PlainSearchResult::Answer;
    const bool found = place_tables(0);
    const std::uint64_t steps = work_limit_ - work_left_;
    if (found) return {Answer::kFound, std::move(found_), steps};
    return {work_left_ == 0 ? Answer::kGivenUp : Answer::kNoneExists, std::nullopt, steps};
  }

 private:
  // Returns true once a plan was found.
  bool place_tables(std::size_t next) {
    if (next == tables_.size()) return accept();
    const TableOptions& table = tables_[next];
    for (const ShardingOption* const option : table.options) {
      if (option->num_shards() > rules_.max_shards(table.table) || !has_form(*option)) continue;
      chosen_[table.table.index()] = option;
      ranks_[table.table.index()].clear();
      if (place_shards(next, *option)) return true;
    }
    chosen_[table.table.index()] = nullptr;
    return false;
  }

  bool accept() {
    std::vector<const ShardingOption*> options;
    std::vector<Rank> ranks;
    for (std::size_t table = 0; table < chosen_.size(); ++table) {
      options.push_back(chosen_[table]);
      ranks.insert(ranks.end(), ranks_[table].begin(), ranks_[table].end());
    }
    spend(ranks.size());
    const Plan plan = Plan::make(space_, options, ranks);
    if (!evaluate(problem_, available_, plan).valid()) return false;
    found_ = plan;
    return true;
  }

  void spend(std::uint64_t steps) { work_left_ -= std::min(work_left_, steps); }

  // The conditions of evaluate() on the number of shards.
  bool has_form(const ShardingOption& option) const {
    if (option.partition_by() == PartitionBy::kUniform)
      return option.num_shards() == available_.world_size();
    return !fills_hosts(option) || option.num_shards() % local_ == 0;
  }
  static bool fills_hosts(const ShardingOption& option) {
    return option.partition_by() == PartitionBy::kMultiHost ||
           option.sharding_type == ShardingType::kTableRowWise;
  }

  // The ranks first, first + step, ..., of which there are `count`, are what the sharding type
  // allows for the next shard, given the ranks of those before it.
  struct Candidates {
    Rank first = 0;
    std::uint32_t step = 1;
    std::uint32_t count = 0;
  };
  Candidates candidates(const ShardingOption& option, const std::vector<Rank>& before) const {
    const auto shard = static_cast<std::uint32_t>(before.size());
    if (option.partition_by() == PartitionBy::kUniform) return {shard, 1, 1};
    const bool one_host = option.partition_by() == PartitionBy::kHost && shard > 0;
    if (!fills_hosts(option)) {
      if (one_host) return {before[0] - before[0] % local_, 1, local_};
      return {0, 1, available_.world_size()};
    }
    const std::uint32_t in_block = shard % local_;
    if (in_block > 0) return {before[shard - in_block] + in_block, 1, 1};
    if (one_host) return {before[0], 1, 1};
    return {0, local_, available_.num_hosts()};
  }

  bool place_shards(std::size_t at, const ShardingOption& option) {
    std::vector<Rank>& ranks = ranks_[option.table.index()];
    if (ranks.size() == option.num_shards()) return place_tables(at + 1);
    const auto shard = static_cast<std::uint32_t>(ranks.size());
    const Storage need = option.shard_cost(shard).storage;
    const Candidates where = candidates(option, ranks);
    // Equal shards can change places, so each is on no lower rank than the one before.
    const Rank lowest = has_equal_before(option, shard) ? ranks.back() : 0;
    for (std::uint32_t i = 0; i < where.count && work_left_ > 0; ++i) {
      const Rank rank = where.first + i * where.step;
      spend(1);
      if (rank < lowest) continue;
      if (is_like_an_earlier_one(rank, where) || !may_be_on(option.table, shard, need, rank))
        continue;
      const Storage before = used_[rank];
      put(option.table, rank, before + need, 1);
      if (place_shards(at, option)) return true;
      take_off(option.table, rank, before);
    }
    return false;
  }

  bool has_equal_before(const ShardingOption& option, std::uint32_t shard) const {
    if (option.partition_by() == PartitionBy::kUniform || fills_hosts(option)) return false;
    std::uint32_t first = 0;  // of the shard's run
    for (const ShardExtent& extent : option.layout->extents) {
      if (shard < first + extent.count) break;
      first += extent.count;
    }
    return shard > first && rules_.same_for_all_shards(option.table);
  }

  void put(TableId table, Rank rank, const Storage& used, std::uint32_t shards) {
    ranks_[table.index()].push_back(rank);
    used_[rank] = used;
    shards_on_rank_[rank] += shards;
    shards_on_host_[rank / local_] += shards;
  }
  void take_off(TableId table, Rank rank, const Storage& used) {
    ranks_[table.index()].pop_back();
    used_[rank] = used;
    --shards_on_rank_[rank];
    --shards_on_host_[rank / local_];
  }

  // Returns true if another candidate before this one leads to the same plans with ranks exchanged.
  bool is_like_an_earlier_one(Rank rank, const Candidates& where) {
    const Rank host_begin = rank - rank % local_;
    const std::uint32_t host = rank / local_;
    if (where.count > 1 && shards_on_host_[host] == 0 && where.first < host_begin) {
      spend(host);
      for (std::uint32_t other = 0; other < host; ++other) {
        if (shards_on_host_[other] == 0 && alike_.kind_of_host(other) == alike_.kind_of_host(host))
          return true;
      }
    }
    if (where.count == 1 || where.step != 1 || shards_on_rank_[rank] > 0) return false;
    spend(rank - host_begin);
    for (Rank other = host_begin; other < rank; ++other) {
      if (shards_on_rank_[other] == 0 && alike_.kind_of_rank(other) == alike_.kind_of_rank(rank))
        return true;
    }
    return false;
  }

  bool may_be_on(TableId table, std::uint32_t shard, const Storage& need, Rank rank) const {
    const Storage used = used_[rank] + need;
    // A rank without bytes fits even if the reservation left it less than nothing.
    if (!(used == Storage()) && !used.fits_in(available_.storage()[rank])) return false;
    if (!rules_.constrains(table)) return true;
    const RankSet* const allowed = rules_.allowed(table, shard);
    if (allowed != nullptr && !allowed->contains(rank)) return false;
    const std::vector<Rank>& own = ranks_[table.index()];
    if (rules_.distinct_ranks(table) && std::find(own.begin(), own.end(), rank) != own.end()) {
      return false;
    }
    const auto groups = rules_.groups_of(table);
    return std::all_of(groups.begin(), groups.end(), [&](std::uint32_t group) {
      return may_join(rules_.groups()[group], table, rank);
    });
  }

  // Compares with the shards of the group that are placed already.
  bool may_join(const PlacementRules::Group& group, TableId table, Rank rank) const {
    for (const TableId other : group.tables) {
      if (!group.together && other == table) continue;
      if (chosen_[other.index()] == nullptr) continue;
      for (const Rank held : ranks_[other.index()]) {
        const bool same =
            group.on == GroupScope::kRank ? held == rank : held / local_ == rank / local_;
        if (same != group.together) return false;
      }
    }
    return true;
  }

  std::shared_ptr<const SearchSpace> space_;
  const Problem& problem_;
  const PlacementRules& rules_;
  const Topology& available_;
  std::uint32_t local_;
  InterchangeableRanks alike_;
  std::vector<TableOptions> tables_;
  std::uint64_t work_limit_;
  std::uint64_t work_left_;
  std::vector<Storage> used_;  // by rank
  std::vector<std::uint32_t> shards_on_rank_;
  std::vector<std::uint32_t> shards_on_host_;
  std::vector<const ShardingOption*> chosen_;  // by table; null while it is not placed
  std::vector<std::vector<Rank>> ranks_;       // by table, of the shards placed so far
  std::optional<Plan> found_;
};

}  // namespace

PlainSearchResult search_plainly(const std::shared_ptr<const SearchSpace>& space,
                                 const Topology& available, std::uint64_t work_limit) {
  std::vector<TableOptions> tables = options_by_table(*space);
  std::uint64_t shards = 0;
  for (const TableOptions& table : tables)
    shards += table.most_shards;
  if (shards > kMostShards || available.world_size() > kMostRanks) return {};
  return PlainSearch(space, std::move(tables), available, work_limit).run();
}

}  // namespace shardwright::embedding
