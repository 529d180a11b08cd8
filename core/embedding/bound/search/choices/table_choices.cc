#include "core/embedding/bound/search/choices/table_choices.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/embedding/bound/options/bound_options.h"
#include "core/embedding/evaluation/shard_tiling.h"

namespace shardwright::embedding {
namespace {

Form form_of(const ShardingOption& option, const Topology& topology) {
  if (is_on_all_ranks(option, topology)) return Form::kInOrder;
  if (fills_hosts(option, topology)) return Form::kWholeHosts;
  return is_free(option, topology) ? Form::kFree : Form::kOneHost;
}

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

// Thread safety: immutable. Refers to its arguments.
class ChoiceMaker {
 public:
  ChoiceMaker(const SearchSpace& space, const Topology& available, std::optional<double> below)
      : space_(space), problem_(space.problem()), available_(available), below_(below) {}

  // Returns false if a plan with the option cannot be one that is asked for.
  bool counts(const ShardingOption& option) const {
    if (!may_have_place(problem_.rules(), available_, option)) return false;
    if (below_) return true;
    const bool wider = problem_.spec().sharder.type == SharderSpec::Type::kQuant;
    return option.costs.size() == option.layout->extents.size() && has_valid_costs(option) &&
           shards_tile_table(option, problem_.table(option.table), wider);
  }

  // Returns false if a shard has no rank.
  bool make(OptionId id, TableChoice& choice) const {
    const ShardingOption& option = space_.option(id);
    choice.option = id;
    choice.form = form_of(option, available_);
    const bool single = choice.form == Form::kWholeHosts || choice.form == Form::kInOrder;
    std::uint32_t shard = 0;
    for (std::size_t run = 0; run < option.costs.size(); ++run) {
      for (std::uint32_t k = 0; k < option.layout->extents[run].count; ++k) {
        const ShardCost& cost = option.costs[run];
        EqualShards shards{1, load(cost), static_cast<double>(cost.storage.hbm.value()),
                           static_cast<double>(cost.storage.ddr.value()),
                           ranks_of(option, choice.form, cost, shard++)};
        if (shards.ranks.empty()) return false;
        if (!single && !choice.shards.empty() && are_equal(choice.shards.back(), shards)) {
          ++choice.shards.back().count;
        } else {
          choice.shards.push_back(std::move(shards));
        }
      }
    }
    if (choice.form == Form::kWholeHosts) join_equal_blocks(choice.shards);
    return true;
  }

  // Of options that replace each other, the first one stays.
  bool is_redundant(const std::vector<OptionId>& all, OptionId id) const {
    return std::any_of(all.begin(), all.end(), [&](OptionId other) {
      if (other == id || !replaces(other, id)) return false;
      return other < id || !replaces(id, other);
    });
  }

 private:
  // Counts a block that is like the one before there.
  void join_equal_blocks(std::vector<EqualShards>& shards) const {
    const auto size = static_cast<std::ptrdiff_t>(available_.local_world_size());
    auto end = shards.begin() + size;  // of the blocks that stay
    for (auto block = end; block != shards.end(); block += size) {
      if (std::equal(block, block + size, end - size, are_equal)) {
        std::for_each(end - size, end, [](EqualShards& own) { ++own.count; });
        continue;
      }
      if (end != block) std::move(block, block + size, end);
      end += size;
    }
    shards.erase(end, shards.end());
  }
  double load(const ShardCost& cost) const {
    return below_ ? load_of(cost, problem_.spec().perf_model) : 0;
  }
  static bool are_equal(const EqualShards& a, const EqualShards& b) {
    return a.load == b.load && a.hbm == b.hbm && a.ddr == b.ddr && a.ranks == b.ranks;
  }

  std::vector<Rank> ranks_of(const ShardingOption& option, Form form, const ShardCost& cost,
                             std::uint32_t shard) const {
    const RankSet* const allowed = problem_.rules().allowed(option.table, shard);
    const std::uint32_t local = available_.local_world_size();
    const double limit = below_.value_or(std::numeric_limits<double>::infinity());
    const Rank first = form == Form::kInOrder      ? shard
                       : form == Form::kWholeHosts ? shard % local
                                                   : 0;
    const std::uint32_t step = form == Form::kInOrder      ? available_.world_size()
                               : form == Form::kWholeHosts ? local
                                                           : 1;
    std::vector<Rank> ranks;
    for (Rank rank = first; rank < available_.world_size(); rank += step) {
      if (allowed != nullptr && !allowed->contains(rank)) continue;
      // A rank without bytes fits even if the reservation left it less than nothing.
      const bool fits =
          cost.storage == Storage() || cost.storage.fits_in(available_.storage()[rank]);
      if (fits && load(cost) * time_scale_of(problem_.spec(), rank) < limit) ranks.push_back(rank);
    }
    return ranks;
  }

  // Returns true if `a` can stand wherever `b` stands and costs no more, shard by shard.
  bool replaces(OptionId a, OptionId b) const {
    const ShardingOption& own = space_.option(a);
    const ShardingOption& other = space_.option(b);
    if (own.num_shards() != other.num_shards()) return false;
    if (!is_free(own, available_) && form_of(own, available_) != form_of(other, available_))
      return false;
    std::size_t i = 0;
    std::size_t j = 0;
    std::uint32_t end_i = 0;
    std::uint32_t end_j = 0;
    for (std::uint32_t shard = 0; shard < own.num_shards();) {
      while (end_i <= shard)
        end_i += own.layout->extents[i++].count;
      while (end_j <= shard)
        end_j += other.layout->extents[j++].count;
      const ShardCost& cost = own.costs[i - 1];
      const ShardCost& more = other.costs[j - 1];
      if (load(cost) > load(more) || !cost.storage.fits_in(more.storage)) return false;
      shard = std::min(end_i, end_j);
    }
    return true;
  }

  const SearchSpace& space_;
  const Problem& problem_;
  const Topology& available_;
  std::optional<double> below_;
};

}  // namespace

std::pair<std::size_t, std::size_t> EqualShards::places(Rank first, Rank end) const {
  const auto begin = std::lower_bound(ranks.begin(), ranks.end(), first);
  return {static_cast<std::size_t>(begin - ranks.begin()),
          static_cast<std::size_t>(std::lower_bound(begin, ranks.end(), end) - ranks.begin())};
}

bool EqualShards::may_be_on(Rank rank) const {
  return std::binary_search(ranks.begin(), ranks.end(), rank);
}

double time_scale_of(const ProblemSpec& spec, std::size_t rank) {
  const std::vector<double>& scale = spec.calibration.rank_time;
  return scale.empty() || spec.perf_model == PerfModel::kStorage ? 1 : scale[rank];
}

std::vector<ChoicesOfTable> all_choices(const SearchSpace& space, const Topology& available,
                                        std::optional<double> below) {
  const ChoiceMaker maker(space, available, below);
  std::vector<std::vector<OptionId>> options(space.problem().tables().size());
  std::vector<bool> has_options(options.size(), !below);
  for (std::size_t i = 0; i < space.size(); ++i) {
    const ShardingOption& option = space.option(OptionId(i));
    has_options[option.table.index()] = true;
    if (maker.counts(option)) options[option.table.index()].push_back(OptionId(i));
  }
  std::vector<ChoicesOfTable> tables;
  for (std::size_t t = 0; t < options.size(); ++t) {
    if (!has_options[t]) continue;
    ChoicesOfTable& own = tables.emplace_back();
    own.table = TableId(t);
    own.distinct_ranks = space.problem().rules().distinct_ranks(own.table);
    for (const OptionId id : options[t]) {
      TableChoice choice;
      if (maker.is_redundant(options[t], id)) continue;
      if (maker.make(id, choice)) own.choices.push_back(std::move(choice));
    }
  }
  return tables;
}

}  // namespace shardwright::embedding
