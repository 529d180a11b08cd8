#include "core/embedding/bound/node/open_options.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/embedding/bound/options/bound_options.h"

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
    const OpenOption& own = open_[table][i];
    if (classes[i] != 0) kept.push_back({own.option, classes[i]});
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
                      return a.classes == b.classes && are_alike(a.option, b.option);
                    });
}

// Returns true if the options have the same shards, which may be on the same ranks and cost the
// same there.
bool OpenOptions::are_alike(OptionId id, OptionId other) const {
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

// All shards of a uniform option count as the smallest one, or the smallest one of their class.
void OpenOptions::set_apart(OptionId id) {
  const ShardingOption& option = space_.option(id);
  std::vector<ClassShards>& by_class = shards_by_class_[id.index()];
  if (by_class.empty()) {
    counted_run_[id.index()] = smallest_run(option);
    return;
  }
  std::vector<ClassShards> smallest;
  for (std::uint32_t c = 0; c < classes_.uniform_use().size(); ++c) {
    const auto is_least = [&](const ClassShards& own) {
      return own.rank_class == c &&
             std::all_of(by_class.begin(), by_class.end(), [&](const ClassShards& other) {
               return other.rank_class != c || is_smaller(option, own.run, other.run);
             });
    };
    const auto least = std::find_if(by_class.begin(), by_class.end(), is_least);
    if (least != by_class.end())
      smallest.push_back({classes_.uniform_class(c), least->run, classes_.num_ranks(c)});
  }
  by_class = std::move(smallest);
}

// Returns false for a uniform option that has no smallest shard somewhere, after set_apart().
bool OpenOptions::has_smallest_shards(OptionId id) const {
  const ShardingOption& option = space_.option(id);
  if (classes_.are_on_one_host() && fills_hosts(option, available_))
    return counted_run_[id.index()].has_value();
  return !is_on_all_ranks(option, available_) ||
         shards_by_class_[id.index()].size() == classes_.uniform_use().size();
}

// Returns true if shards of the run use no more than those of the other one, in load and memory.
bool OpenOptions::is_smaller(const ShardingOption& option, std::uint32_t run,
                             std::uint32_t other) const {
  const ShardCost& a = option.costs[run];
  const ShardCost& b = option.costs[other];
  return load_of(a, classes_.perf_model()) <= load_of(b, classes_.perf_model()) &&
         a.storage.fits_in(b.storage);
}

// The run with shards that no other shard undercuts in load or a memory.
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
    return std::all_of(by_class.begin(), by_class.end(), [&](const ClassShards& own) {
      return classes_.fits(option.costs[own.run], own.rank_class);
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

// Of two options that replace each other, the first stays.
bool OpenOptions::is_replaced(OptionId id, const std::vector<OpenOption>& options) const {
  const ShardingOption& own = space_.option(id);
  const PerfModel model = classes_.perf_model();
  return std::any_of(options.begin(), options.end(), [&](const OpenOption& domain) {
    const OptionId other = domain.option;
    if (other == id || !replaces(space_.option(other), own, available_, model)) return false;
    return other < id || !replaces(own, space_.option(other), available_, model);
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

}  // namespace shardwright::embedding
