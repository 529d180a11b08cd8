#include <algorithm>
#include <string>
#include <tuple>

#include "tests/support/embedding/naive/naive_planner.h"

namespace shardwright::test_support::naive {

using namespace embedding;

namespace {

constexpr std::int64_t kTenMebibytes = 10 * kMebibyte;

struct Device {
  Rank rank = 0;
  Storage storage;
  Perf perf;
};
using Devices = std::vector<Device*>;
using Ranks = std::vector<std::vector<Rank>>;

std::vector<ShardCost> shards_of(const ShardingOption& option) {
  std::vector<ShardCost> shards;
  for (std::uint32_t i = 0; i < option.num_shards(); ++i)
    shards.push_back(option.shard_cost(i));
  return shards;
}

void put(Device& device, const ShardCost& shard, std::vector<Rank>& ranks) {
  device.storage -= shard.storage;
  device.perf += shard.perf;
  ranks.push_back(device.rank);
}

bool place_in_order(const ShardingOption& option, const Devices& devices,
                    std::vector<Rank>& ranks) {
  const std::vector<ShardCost> shards = shards_of(option);
  if (shards.size() != devices.size()) return false;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (!shards[i].storage.fits_in(devices[i]->storage)) return false;
    put(*devices[i], shards[i], ranks);
  }
  return true;
}

bool place_on_least_loaded(const ShardingOption& option, const Devices& devices,
                           std::size_t local_world_size, bool distinct, std::vector<Rank>& ranks) {
  const auto key = [&](const Device& device) {
    return std::make_tuple(device.perf.total().value(), device.rank % local_world_size,
                           device.rank);
  };
  for (const ShardCost& shard : shards_of(option)) {
    Device* least = nullptr;
    for (Device* device : devices) {
      if (!shard.storage.fits_in(device->storage)) continue;
      if (distinct && std::find(ranks.begin(), ranks.end(), device->rank) != ranks.end()) continue;
      if (least == nullptr || key(*device) < key(*least)) least = device;
    }
    if (least == nullptr) return false;
    put(*least, shard, ranks);
  }
  return true;
}

// Indices into the proposal of options that are placed together.
struct Group {
  std::string key;
  std::vector<std::size_t> members;
  Storage storage;
  double perf = 0;
  std::int64_t param_count = 0;
};

class Partitioner {
 public:
  Partitioner(const Problem& problem, const Topology& available, const Proposal& proposal,
              PartitionerSpec::SortBy sort_by)
      : problem_(problem), available_(available), proposal_(proposal), sort_by_(sort_by) {}

  // Returns the ranks of the shards of all options, or nullopt if a shard does not fit.
  std::optional<Ranks> run(std::int64_t hbm_per_device = 0) {
    devices_.clear();
    for (Rank rank = 0; rank < available_.world_size(); ++rank) {
      Device device{rank, available_.storage()[rank], {}};
      if (hbm_per_device != 0) device.storage.hbm = Bytes(hbm_per_device);
      devices_.push_back(device);
    }
    Ranks ranks(proposal_.size());
    for (std::size_t i = 0; i < proposal_.size(); ++i) {
      if (proposal_[i]->partition_by() != PartitionBy::kUniform) continue;
      if (!place_in_order(*proposal_[i], all_devices(), ranks[i])) return std::nullopt;
    }
    for (const Group& group : sorted_groups()) {
      if (!place_group(group, ranks)) return std::nullopt;
    }
    return ranks;
  }

 private:
  Devices all_devices() {
    Devices all;
    for (Device& device : devices_)
      all.push_back(&device);
    return all;
  }

  std::int64_t tables_in_module_of(const ShardingOption& option) const {
    std::int64_t count = 0;
    for (const ShardingOption* other : proposal_) {
      if (problem_.table(other->table).module == problem_.table(option.table).module) ++count;
    }
    return count;
  }

  std::vector<Group> sorted_groups() const {
    std::vector<Group> groups;
    for (std::size_t i = 0; i < proposal_.size(); ++i) {
      const ShardingOption& option = *proposal_[i];
      if (option.partition_by() == PartitionBy::kUniform) continue;
      const Table& table = problem_.table(option.table);
      const std::string key = table.dependency.empty() ? table.fqn() : table.dependency;
      auto group = std::find_if(groups.begin(), groups.end(),
                                [&](const Group& other) { return other.key == key; });
      if (group == groups.end()) {
        groups.push_back(
            {key, {i}, total_storage(option), total_perf(option), -tables_in_module_of(option)});
      } else {
        group->members.push_back(i);
        group->storage += total_storage(option);
        group->perf += total_perf(option);
      }
    }
    const bool balance = problem_.spec().partitioner.balance_modules;
    std::stable_sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) {
      if (balance && a.param_count != b.param_count) return a.param_count > b.param_count;
      return sort_by_ == PartitionerSpec::SortBy::kPerf ? a.perf > b.perf : a.storage > b.storage;
    });
    return groups;
  }

  bool place_group(const Group& group, Ranks& ranks) {
    const std::size_t first = group.members.front();
    switch (proposal_[first]->partition_by()) {
      case PartitionBy::kDevice:
        return group.members.size() == 1 &&
               place_on_least_loaded(*proposal_[first], all_devices(), ranks_per_host(),
                                     wants_distinct_ranks(*proposal_[first]), ranks[first]);
      case PartitionBy::kHost:
        return place_on_one_host(group, ranks);
      case PartitionBy::kMultiHost:
        return group.members.size() == 1 && place_on_several_hosts(first, ranks);
      case PartitionBy::kUniform:
        break;
    }
    return false;
  }

  std::size_t ranks_per_host() const {
    return problem_.release().pod_links == PodLinks::kBetweenHosts
               ? available_.ranks_per_physical_host()
               : available_.local_world_size();
  }

  bool wants_distinct_ranks(const ShardingOption& option) const {
    return problem_.release().spreads_key_value_columns &&
           option.sharding_type == ShardingType::kColumnWise &&
           option.compute_kernel == ComputeKernel::kKeyValue;
  }

  // Returns the ranks of every host. The least loaded host comes first; of equal ones, the lower.
  std::vector<std::vector<Rank>> sorted_hosts() const {
    std::vector<std::pair<double, std::vector<Rank>>> hosts;
    for (Rank begin = 0; begin < available_.world_size(); begin += available_.local_world_size()) {
      double perf = 0;
      std::vector<Rank> ranks;
      for (Rank rank = begin; rank < begin + available_.local_world_size(); ++rank) {
        perf += devices_[rank].perf.total().value();
        ranks.push_back(rank);
      }
      hosts.emplace_back(perf, std::move(ranks));
    }
    std::stable_sort(hosts.begin(), hosts.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::vector<Rank>> sorted;
    for (auto& host : hosts)
      sorted.push_back(std::move(host.second));
    return sorted;
  }

  Devices pick(const std::vector<Rank>& ranks) {
    Devices devices;
    for (const Rank rank : ranks)
      devices.push_back(&devices_[rank]);
    return devices;
  }

  bool place_on_one_host(const Group& group, Ranks& ranks) {
    for (const std::vector<Rank>& host : sorted_hosts()) {
      Storage room;
      for (const Rank rank : host)
        room += devices_[rank].storage;
      if (!group.storage.fits_in(room)) continue;
      const std::vector<Device> saved = devices_;
      bool placed = true;
      for (const std::size_t member : group.members) {
        const ShardingOption& option = *proposal_[member];
        ranks[member].clear();
        placed = placed &&
                 ((option.sharding_type == ShardingType::kTableRowWise &&
                   place_in_order(option, pick(host), ranks[member])) ||
                  (option.sharding_type == ShardingType::kTableColumnWise &&
                   place_on_least_loaded(option, pick(host), host.size(), false, ranks[member])));
      }
      if (placed) return true;
      devices_ = saved;
    }
    return false;
  }

  bool place_on_several_hosts(std::size_t position, Ranks& ranks) {
    const ShardingOption& option = *proposal_[position];
    const std::size_t local = available_.local_world_size();
    if (option.num_shards() % local != 0) return false;
    const std::size_t wanted = option.num_shards() / local;
    const auto hosts = sorted_hosts();
    const bool circle = wanted >= hosts.size();
    for (std::size_t begin = 0; circle ? begin == 0 : begin + wanted <= hosts.size(); ++begin) {
      std::vector<Rank> window;
      for (std::size_t i = 0; i < wanted; ++i) {
        const auto& host = hosts[(begin + i) % hosts.size()];
        window.insert(window.end(), host.begin(), host.end());
      }
      const std::vector<Device> saved = devices_;
      ranks[position].clear();
      if (place_in_order(option, pick(window), ranks[position])) return true;
      devices_ = saved;
    }
    return false;
  }

  const Problem& problem_;
  const Topology& available_;
  const Proposal& proposal_;
  PartitionerSpec::SortBy sort_by_;
  std::vector<Device> devices_;
};

std::vector<double> perf_by_rank(const Topology& available, const Proposal& proposal,
                                 const Ranks& ranks) {
  std::vector<double> perf(available.world_size(), 0.0);
  for (std::size_t i = 0; i < proposal.size(); ++i) {
    const auto shards = shards_of(*proposal[i]);
    for (std::size_t s = 0; s < shards.size(); ++s) {
      perf[ranks[i][s]] += shards[s].perf.total().value();
    }
  }
  return perf;
}

std::vector<std::int64_t> hbm_by_rank(const Topology& available, const Proposal& proposal,
                                      const Ranks& ranks) {
  std::vector<std::int64_t> hbm(available.world_size(), 0);
  for (std::size_t i = 0; i < proposal.size(); ++i) {
    const auto shards = shards_of(*proposal[i]);
    for (std::size_t s = 0; s < shards.size(); ++s)
      hbm[ranks[i][s]] += shards[s].storage.hbm.value();
  }
  return hbm;
}

template <class T>
T largest(const std::vector<T>& values) {
  return *std::max_element(values.begin(), values.end());
}

// Lowers the memory limit per device as long as the rating stays within the allowed increase.
std::optional<Ranks> balance_memory(const Problem& problem, const Topology& available,
                                    const Proposal& proposal) {
  const PartitionerSpec& spec = problem.spec().partitioner;
  Partitioner partitioner(problem, available, proposal, PartitionerSpec::SortBy::kPerf);
  std::optional<Ranks> best = partitioner.run();
  if (!best) return std::nullopt;
  const double original = largest(perf_by_rank(available, proposal, *best));
  const std::vector<std::int64_t> hbm = hbm_by_rank(available, proposal, *best);
  std::int64_t total = 0;
  for (const std::int64_t bytes : hbm)
    total += bytes;
  std::int64_t low = static_cast<std::int64_t>(static_cast<double>(total) /
                                               static_cast<double>(available.world_size()));
  for (const ShardingOption* option : proposal) {
    for (const ShardCost& shard : shards_of(*option))
      low = std::max(low, shard.storage.hbm.value());
  }
  std::int64_t high = largest(hbm);
  for (std::int64_t i = 0; i < spec.max_search_count && low + kTenMebibytes < high; ++i) {
    const std::int64_t middle = (high + low) / 2;
    const std::optional<Ranks> ranks = partitioner.run(middle);
    if (ranks &&
        largest(perf_by_rank(available, proposal, *ranks)) <= original * (1 + spec.tolerance)) {
      best = ranks;
      high = middle;
    } else {
      low = middle;
    }
  }
  return best;
}

}  // namespace

Storage total_storage(const ShardingOption& option) {
  Storage total;
  for (const ShardCost& shard : shards_of(option))
    total += shard.storage;
  return total;
}

double total_perf(const ShardingOption& option) {
  double total = 0;
  for (const ShardCost& shard : shards_of(option))
    total += shard.perf.total().value();
  return total;
}

Placed place(const Problem& problem, const Topology& available, const Proposal& proposal) {
  const PartitionerSpec& spec = problem.spec().partitioner;
  const std::optional<Ranks> ranks =
      spec.type == PartitionerSpec::Type::kMemoryBalanced
          ? balance_memory(problem, available, proposal)
          : Partitioner(problem, available, proposal, spec.sort_by).run();
  if (!ranks) return {};
  const double rating =
      problem.spec().perf_model == PerfModel::kPerf
          ? largest(perf_by_rank(available, proposal, *ranks))
          : static_cast<double>(largest(hbm_by_rank(available, proposal, *ranks)));
  return {true, rating, *ranks};
}

}  // namespace shardwright::test_support::naive
