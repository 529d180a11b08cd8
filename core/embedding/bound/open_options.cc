#include "core/embedding/bound/open_options.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/embedding/bound/bound_options.h"
#include "core/embedding/bound/certified_classes.h"
#include "core/numeric/directed_rounding.h"

namespace shardwright::embedding {

OpenOptions::OpenOptions(const SearchSpace& space, const Topology& available,
                         const CertifiedClasses& classes, const std::function<bool()>& is_stopped)
    : space_(space), available_(available), classes_(classes) {
  constexpr std::size_t kOptionsPerLook = 1024;
  constexpr std::size_t kTablesPerLook = 64;
  has_options_.assign(space.problem().tables().size(), false);
  open_.resize(has_options_.size());
  shards_by_class_.resize(space.size());
  first_run_.resize(space.size());
  counted_run_.resize(classes.uniform_apart() ? space.size() : 0);
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (i % kOptionsPerLook == 0 && is_stopped && is_stopped()) return;
    const ShardingOption& option = space.option(OptionId(i));
    has_options_[option.table.index()] = true;
    shards_by_class_[i] = count_shards_by_class(option);
    const bool is_uniform = is_on_all_ranks(option, available) ||
                            (classes.are_on_one_host() && fills_hosts(option, available));
    if (classes.uniform_apart() && is_uniform) set_apart(OptionId(i));
    if (!may_have_place(space.problem().rules(), available, option)) continue;
    open_[option.table.index()].push_back(
        {OptionId(i), is_uniform ? classes.of_uniform() : classes.of_others()});
  }
  for (std::size_t table = 0; table < open_.size(); ++table) {
    if (table % kTablesPerLook == 0 && is_stopped && is_stopped()) return;
    std::vector<OpenOption>& options = open_[table];
    std::vector<OpenOption> kept;
    for (const OpenOption& domain : options) {
      if (is_possible(domain.option) && !is_replaced(domain.option, options)) {
        kept.push_back(domain);
        add_runs(domain.option);
        can_be_apart_ &= !classes_.uniform_apart() || has_smallest_shards(domain.option);
      }
    }
    options = std::move(kept);
  }
  complete_ = true;
}

void OpenOptions::add_runs(OptionId id) {
  const ShardingOption& option = space_.option(id);
  first_run_[id.index()] = runs_.size();
  for (std::size_t run = 0; run < option.costs.size(); ++run) {
    runs_.push_back(
        {use_of(option.costs[run], classes_.perf_model()), option.layout->extents[run].count});
  }
}

void OpenOptions::restrict_to(std::size_t table, std::span<const std::uint32_t> classes) {
  std::vector<OpenOption> kept;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const OpenOption& open_option = open_[table][i];
    if (classes[i] != 0) kept.push_back({open_option.option, classes[i]});
  }
  num_kept_ += open_[table].size();
  replaced_.push_back({table, std::exchange(open_[table], std::move(kept))});
}

void OpenOptions::restore(std::size_t mark) {
  for (; replaced_.size() > mark; replaced_.pop_back()) {
    std::vector<OpenOption>& options = open_[replaced_.back().table];
    num_kept_ -= replaced_.back().options.size();
    options = std::move(replaced_.back().options);
  }
}

bool OpenOptions::any_table_is_closed() const {
  for (std::size_t table = 0; table < open_.size(); ++table) {
    if (has_options_[table] && open_[table].empty()) return true;
  }
  return false;
}

bool OpenOptions::are_equal(std::size_t table, std::size_t other) const {
  return has_options_[table] == has_options_[other] &&
         std::equal(open_[table].begin(), open_[table].end(), open_[other].begin(),
                    open_[other].end(), [&](const OpenOption& a, const OpenOption& b) {
                      return a.classes == b.classes && are_interchangeable(a.option, b.option);
                    });
}

// Returns true if the options have the same form and shards of the same costs.
bool OpenOptions::are_interchangeable(OptionId id, OptionId other) const {
  const ShardingOption& a = space_.option(id);
  const ShardingOption& b = space_.option(other);
  if (a.costs.size() != b.costs.size() ||
      is_on_all_ranks(a, available_) != is_on_all_ranks(b, available_) ||
      is_free(a, available_) != is_free(b, available_) ||
      fills_hosts(a, available_) != fills_hosts(b, available_))
    return false;
  for (std::size_t run = 0; run < a.costs.size(); ++run) {
    if (a.layout->extents[run].count != b.layout->extents[run].count ||
        load_of(a.costs[run], classes_.perf_model()) !=
            load_of(b.costs[run], classes_.perf_model()) ||
        a.costs[run].storage != b.costs[run].storage)
      return false;
  }
  return true;
}

std::vector<ClassShards> OpenOptions::count_shards_by_class(const ShardingOption& option) const {
  std::vector<ClassShards> shards;
  if (!is_on_all_ranks(option, available_)) return shards;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> count;
  std::uint32_t rank = 0;
  for (std::uint32_t run = 0; run < option.costs.size(); ++run) {
    const std::uint32_t end = rank + option.layout->extents[run].count;
    while (rank < end) {
      const std::uint32_t next = std::min(end, classes_.equal_until(rank));
      count[{classes_.class_of(rank), run}] += next - rank;
      rank = next;
    }
  }
  for (const auto& [key, number] : count)
    shards.push_back({key.first, key.second, number});
  return shards;
}

// Makes the shards of a uniform option count as the smallest, per class unless it fills hosts.
void OpenOptions::set_apart(OptionId id) {
  const ShardingOption& option = space_.option(id);
  std::vector<ClassShards>& by_class = shards_by_class_[id.index()];
  if (by_class.empty()) {
    counted_run_[id.index()] = smallest_run(option);
    return;
  }
  std::vector<ClassShards> smallest;
  for (std::uint32_t c = 0; c < classes_.uniform_use().size(); ++c) {
    const auto is_least = [&](const ClassShards& class_shards) {
      return class_shards.rank_class == c &&
             std::all_of(by_class.begin(), by_class.end(), [&](const ClassShards& other) {
               return other.rank_class != c || is_smaller(option, class_shards.run, other.run);
             });
    };
    const auto least = std::find_if(by_class.begin(), by_class.end(), is_least);
    if (least != by_class.end())
      smallest.push_back({classes_.uniform_class(c), least->run, classes_.num_ranks(c)});
  }
  by_class = std::move(smallest);
}

// Returns false if a uniform option has no smallest shard in some class. Call after set_apart().
bool OpenOptions::has_smallest_shards(OptionId id) const {
  const ShardingOption& option = space_.option(id);
  if (classes_.are_on_one_host() && fills_hosts(option, available_))
    return counted_run_[id.index()].has_value();
  return !is_on_all_ranks(option, available_) ||
         shards_by_class_[id.index()].size() == classes_.uniform_use().size();
}

// Returns true if shards of `run` use at most the load and memory of shards of `other`.
bool OpenOptions::is_smaller(const ShardingOption& option, std::uint32_t run,
                             std::uint32_t other) const {
  const ShardCost& a = option.costs[run];
  const ShardCost& b = option.costs[other];
  return load_of(a, classes_.perf_model()) <= load_of(b, classes_.perf_model()) &&
         a.storage.fits_in(b.storage);
}

// Returns the run whose shards use the least load and the least of every memory, if any.
std::optional<std::uint32_t> OpenOptions::smallest_run(const ShardingOption& option) const {
  const auto has_shards = [&](std::uint32_t run) { return option.layout->extents[run].count > 0; };
  for (std::uint32_t own = 0; own < option.costs.size(); ++own) {
    bool is_smallest = has_shards(own);
    for (std::uint32_t run = 0; run < option.costs.size() && is_smallest; ++run)
      is_smallest = !has_shards(run) || is_smaller(option, own, run);
    if (is_smallest) return own;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> OpenOptions::counted_run(OptionId option) const {
  return counted_run_.empty() ? std::nullopt : counted_run_[option.index()];
}

bool OpenOptions::is_possible(OptionId id) const {
  const ShardingOption& option = space_.option(id);
  const std::span<const ClassShards> by_class = shards_by_class(id);
  if (!by_class.empty()) {
    return std::all_of(by_class.begin(), by_class.end(), [&](const ClassShards& class_shards) {
      return classes_.fits(option.costs[class_shards.run], class_shards.rank_class);
    });
  }
  for (std::size_t run = 0; run < option.costs.size(); ++run) {
    bool somewhere = option.layout->extents[run].count == 0;
    for (std::size_t c = 0; c < classes_.size() && !somewhere; ++c)
      somewhere = classes_.fits(option.costs[run], c);
    if (!somewhere) return false;
  }
  return true;
}

// Of two options that replace each other, the first one stays.
bool OpenOptions::is_replaced(OptionId id, const std::vector<OpenOption>& options) const {
  const ShardingOption& option = space_.option(id);
  const PerfModel model = classes_.perf_model();
  return std::any_of(options.begin(), options.end(), [&](const OpenOption& domain) {
    const OptionId other = domain.option;
    if (other == id || !replaces(space_.option(other), option, available_, model)) return false;
    return other < id || !replaces(option, space_.option(other), available_, model);
  });
}

bool OpenOptions::lies_on_one_side(const OpenOption& domain, std::uint32_t inside) const {
  const ShardingOption& option = space_.option(domain.option);
  if (is_on_all_ranks(option, available_)) return false;
  if (is_free(option, available_)) return option.num_shards() == 1;
  if (fills_hosts(option, available_) && option.num_shards() != available_.local_world_size()) {
    return false;
  }
  const std::span<const std::uint32_t> hosts = classes_.classes_of_host();
  return std::all_of(hosts.begin(), hosts.end(), [&](std::uint32_t host) {
    const std::uint32_t own = host & domain.classes;
    return (own & inside) == 0 || (own & ~inside) == 0;
  });
}

namespace {

// Returns the cost of all shards of an option, each in its cheapest class, rounded down.
double all_shards_of(const OpenOptions& options, const OpenOption& domain,
                     const std::vector<CapacityMultipliers>& multipliers) {
  const CertifiedClasses& classes = options.classes();
  const std::span<const RunUse> runs = options.runs(domain.option);
  const auto cost = [&](std::size_t run, std::size_t rank_class) {
    return cost_at(multipliers[rank_class], runs[run].use);
  };
  double sum = 0;
  for (const ClassShards& shards : options.shards_by_class(domain.option))
    sum = add_down(sum, multiply_down(shards.count, cost(shards.run, shards.rank_class)));
  if (!options.shards_by_class(domain.option).empty()) return sum;
  const auto add = [&](std::size_t run, std::int64_t count) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < multipliers.size(); ++c) {
      if ((domain.classes >> c & 1) == 0 || !classes.fits(runs[run].use, c)) continue;
      least = std::min(least, cost(run, c));
    }
    sum = add_down(sum, multiply_down(static_cast<double>(count), least));
  };
  if (const std::optional<std::uint32_t> counted = options.counted_run(domain.option)) {
    add(*counted, options.space().option(domain.option).num_shards());
    return sum;
  }
  for (std::size_t run = 0; run < runs.size(); ++run)
    add(run, runs[run].count);
  return sum;
}

// Returns the value of one rank's capacity at the multipliers of its class, rounded up.
double capacity_of(const CertifiedClasses& classes, std::size_t rank_class,
                   const CapacityMultipliers& multipliers) {
  const Storage& room = classes.room(rank_class);
  double sum = multiply_up(multipliers.load, classes.load_limit(rank_class));
  for (const MemoryTier tier : kMemoryTiers)
    sum = add_up(sum, multiply_up(multipliers[tier], rounded_up(room[tier].value())));
  return sum;
}

}  // namespace

LagrangianSum::LagrangianSum(const OpenOptions& options,
                             const std::vector<CapacityMultipliers>& multipliers) {
  for (std::size_t table = 0; table < options.num_tables(); ++table) {
    const std::vector<OpenOption>& open = options.of_table(table);
    double least = open.empty() ? 0 : std::numeric_limits<double>::infinity();
    first_.push_back(costs_.size());
    for (const OpenOption& domain : open) {
      costs_.push_back(all_shards_of(options, domain, multipliers));
      least = std::min(least, costs_.back());
    }
    least_.push_back(least);
    needed_ = add_down(needed_, least);
  }
  const CertifiedClasses& classes = options.classes();
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const double own = capacity_of(classes, c, multipliers[c]);
    capacity_ = add_up(capacity_, multiply_up(classes.num_ranks(c), own));
  }
}

bool LagrangianSum::excludes(std::size_t table, std::size_t option) const {
  const double others = add_down(needed_, -least_[table]);
  return add_down(others, costs_[first_[table] + option]) > capacity_;
}

namespace {

constexpr double kMost = std::numeric_limits<double>::infinity();
constexpr RankUse kLargest{kMost, {kMost, kMost, kMost}};

// Thread safety: one thread at a time. Refers to its argument.
class CommonUseDrop {
 public:
  explicit CommonUseDrop(OpenOptions& options)
      : options_(options),
        classes_(options.classes()),
        common_(options),
        beside_(classes_.size()) {}

  // Returns true if some option was dropped or lost a class.
  bool drop() {
    bool any = false;
    for (std::size_t table = 0; table < options_.num_tables(); ++table)
      any |= drop_of(table);
    return any;
  }

 private:
  bool drop_of(std::size_t table) {
    const RankUse largest = largest_of(table);
    roomy_ = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (has_room_for(largest, c)) {
        roomy_ |= std::uint32_t{1} << c;
      } else {
        beside_[c] = common_.on_beside(c, table);
      }
    }
    left_.clear();
    bool differs = false;
    for (const OpenOption& domain : options_.of_table(table)) {
      left_.push_back(classes_left(domain));
      differs |= left_.back() != domain.classes;
    }
    if (differs) options_.restrict_to(table, left_);
    return differs;
  }

  // Returns true if the use fits beside the common use of all tables, including the current one.
  // Directed rounding is not needed, since an error can only keep an option.
  bool has_room_for(const RankUse& use, std::size_t rank_class) const {
    const RankUse& all = common_.on(rank_class);
    if (all.load + use.load >= classes_.load_limit(rank_class)) return false;
    const Storage& room = classes_.room(rank_class);
    return std::all_of(kMemoryTiers.begin(), kMemoryTiers.end(), [&](MemoryTier tier) {
      return all.bytes[tier] + use.bytes[tier] <= static_cast<double>(room[tier].value());
    });
  }

  // Returns the componentwise maximum over the shards of all open options of the table.
  RankUse largest_of(std::size_t table) const {
    RankUse largest;
    for (const OpenOption& domain : options_.of_table(table)) {
      for (const RunUse& run : options_.runs(domain.option)) {
        if (run.count > 0) largest = most_of(largest, run.use);
      }
    }
    return largest;
  }

  // Returns those of `classes` with room for the shard beside the common use of all other tables.
  std::uint32_t with_room(const RunUse& run, std::uint32_t classes) const {
    std::uint32_t left = classes & roomy_;
    for (std::uint32_t open = classes & ~roomy_; open != 0; open &= open - 1) {
      const auto c = static_cast<std::size_t>(std::countr_zero(open));
      if (classes_.fits(run.use, c) && classes_.fits(sum_of(beside_[c], run.use), c))
        left |= std::uint32_t{1} << c;
    }
    return left;
  }

  // Returns the classes of the domain that remain possible beside the common use of all other
  // tables. An option with one shard that may be on any rank keeps the classes with room for the
  // shard. Any other option keeps all its classes, or none if one of its shards has no room.
  std::uint32_t classes_left(const OpenOption& domain) const {
    const std::span<const RunUse> runs = options_.runs(domain.option);
    const std::span<const ClassShards> by_class = options_.shards_by_class(domain.option);
    for (const ClassShards& shards : by_class) {
      const std::uint32_t own = std::uint32_t{1} << shards.rank_class;
      if (with_room(runs[shards.run], own) == 0) return 0;
    }
    if (!by_class.empty()) return domain.classes;
    const ShardingOption& option = options_.space().option(domain.option);
    const bool in_one_place = option.num_shards() == 1 && is_free(option, options_.topology());
    const std::optional<std::uint32_t> counted = options_.counted_run(domain.option);
    for (std::size_t run = 0; run < runs.size(); ++run) {
      if (runs[run].count == 0 || (counted && *counted != run)) continue;
      const std::uint32_t here = with_room(runs[run], domain.classes);
      if (here == 0 || in_one_place) return here;
    }
    return domain.classes;
  }

  OpenOptions& options_;
  const CertifiedClasses& classes_;
  CommonUse common_;
  // State for the current table:
  std::uint32_t roomy_ = 0;          // classes with room for every shard
  std::vector<RankUse> beside_;      // common use of all other tables, by class that is not roomy
  std::vector<std::uint32_t> left_;  // by option
};

}  // namespace

CommonUse::CommonUse(const OpenOptions& options) : all_(options.classes().size()) {
  for (std::size_t table = 0; table < options.num_tables(); ++table)
    of_table_.push_back(use_of_table(options, table));
  for (const std::vector<RankUse>& uses : of_table_) {
    for (std::size_t c = 0; c < uses.size(); ++c)
      all_[c] = sum_of(all_[c], uses[c]);
  }
}

RankUse CommonUse::on_beside(std::size_t rank_class, std::size_t table) const {
  const std::vector<RankUse>& uses = of_table_[table];
  return uses.empty() ? all_[rank_class] : without(all_[rank_class], uses[rank_class]);
}

// Returns the use by class; empty unless every open option has a shard on every rank.
std::vector<RankUse> CommonUse::use_of_table(const OpenOptions& options, std::size_t table) const {
  std::vector<RankUse> least(all_.size());
  for (std::size_t c = 0; c < least.size(); ++c) {
    if ((options.classes().of_uniform() >> c & 1) != 0) least[c] = kLargest;
  }
  const std::vector<OpenOption>& open = options.of_table(table);
  if (open.empty()) return {};
  for (const OpenOption& domain : open) {
    const std::span<const RunUse> runs = options.runs(domain.option);
    const std::span<const ClassShards> by_class = options.shards_by_class(domain.option);
    if (by_class.empty()) return {};
    for (const ClassShards& shards : by_class) {
      RankUse& use = least[shards.rank_class];
      use = least_of(use, runs[shards.run].use);
    }
  }
  return least;
}

std::uint64_t drop_by_common_use(OpenOptions& options) {
  constexpr std::uint64_t kMaxRounds = 16;
  std::uint64_t rounds = 1;
  while (CommonUseDrop(options).drop() && rounds < kMaxRounds)
    ++rounds;
  return rounds;
}

void drop_by_reduced_costs(OpenOptions& options,
                           const std::vector<CapacityMultipliers>& multipliers) {
  const LagrangianSum sum(options, multipliers);
  std::vector<std::pair<std::size_t, std::vector<std::uint32_t>>> changed;
  for (std::size_t table = 0; table < options.num_tables(); ++table) {
    std::vector<std::uint32_t> left;
    bool differs = false;
    for (const OpenOption& open_option : options.of_table(table)) {
      left.push_back(sum.excludes(table, left.size()) ? 0 : open_option.classes);
      differs |= left.back() != open_option.classes;
    }
    if (differs) changed.emplace_back(table, std::move(left));
  }
  for (const auto& [table, left] : changed)
    options.restrict_to(table, left);
}

}  // namespace shardwright::embedding
