#include "runtime/embedding/other_machine.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.h"
#include "runtime/embedding/identity.h"

namespace shardwright {
namespace {

using embedding::MemoryTier;
using embedding::Problem;
using embedding::ProblemSpec;
using embedding::Topology;
using embedding::TorchRecRelease;

// Returns the exact size in the largest unit, such as "80GiB".
std::string size_flag(std::int64_t bytes) {
  if (bytes % kGibibyte == 0) return std::to_string(bytes / kGibibyte) + "GiB";
  if (bytes % kMebibyte == 0) return std::to_string(bytes / kMebibyte) + "MiB";
  return std::to_string(bytes) + "B";
}

// Returns the bytes of a tier that every rank has according to the file; nullopt if the file does
// not say, or if ranks differ.
std::optional<std::int64_t> claimed_capacity(const PlanDocument& document, std::size_t tier) {
  std::optional<std::int64_t> all;
  for (const ClaimedMemory& memory : document.memory_parts_by_rank) {
    if (tier >= memory.capacity.size()) return std::nullopt;
    if (all && *all != memory.capacity[tier]) return std::nullopt;
    all = memory.capacity[tier];
  }
  return all;
}

std::optional<std::int64_t> capacity_of(const Topology& topology, MemoryTier tier) {
  const std::int64_t first = topology.storage().front()[tier].value();
  for (const embedding::Storage& storage : topology.storage()) {
    if (storage[tier].value() != first) return std::nullopt;
  }
  return first;
}

// Returns a sentence if the machines differ in kind, with or without sharding groups or HBM, so
// that a comparison of their sizes would mislead. Otherwise returns nullopt.
std::optional<std::string> other_kind(const PlanDocument& document, const Topology& topology) {
  const bool is_whole = document.reserved_topology && !document.sharding_group_size &&
                        document.reserved_topology->world_size == topology.spec().world_size;
  if (topology.num_replicas() > 1 && is_whole) {
    return "the plan was made without sharding groups, the problem as it is given has " +
           std::to_string(topology.num_replicas()) +
           "; leave out --sharding-group-size, or `sharding_groups` in the problem's topology";
  }
  const auto hbm = claimed_capacity(document, static_cast<std::size_t>(MemoryTier::kHbm));
  if (!hbm || (*hbm > 0) == topology.has_hbm()) return std::nullopt;
  if (topology.has_hbm())
    return "the plan was made for ranks without HBM; give the device that it was made for: "
           "--device cpu";
  return "the plan was made for ranks with " + size_flag(*hbm) +
         " of HBM, the problem as it is given has none; give the device that it was made for, "
         "such as --device cuda";
}

// Returns the digest of the named part; empty if the part is missing.
std::string digest_of(const ProblemParts& parts, std::string_view name) {
  for (const auto& [part, digest] : parts) {
    if (part == name) return digest;
  }
  return "";
}

// Returns the first of `values` for which `given` has the same digest of `part` as the file;
// nullopt if none has. `set` puts a value into a problem.
template <class Value, class Set>
std::optional<Value> value_of(const ProblemParts& claimed, std::string_view part,
                              const ProblemSpec& given, const std::vector<Value>& values,
                              const Set& set) {
  const std::string digest = digest_of(claimed, part);
  for (const Value& value : values) {
    ProblemSpec spec = given;
    set(spec, value);
    const Result<Problem> problem = Problem::make(std::move(spec));
    if (problem.ok() && digest_of(identify(*problem).parts, part) == digest) return value;
  }
  return std::nullopt;
}

// The batch sizes to try: the powers of two up to 2^20.
std::vector<std::int64_t> usual_batch_sizes() {
  constexpr int kLargest = 20;
  std::vector<std::int64_t> sizes;
  for (int power = 0; power <= kLargest; ++power)
    sizes.push_back(std::int64_t{1} << power);
  return sizes;
}

std::vector<std::int64_t> divisors(std::int64_t ranks) {
  constexpr std::int64_t kLargestHost = 256;
  std::vector<std::int64_t> all;
  for (std::int64_t local = 1; local <= std::min(ranks, kLargestHost); ++local) {
    if (ranks % local == 0) all.push_back(local);
  }
  return all;
}

// Returns true if the file's digest of the part differs from the problem's. Returns false if the
// file has no digests.
bool differs(const PlanDocument& document, const Problem& problem, std::string_view part) {
  const ProblemParts& claimed = document.problem_parts;
  return !claimed.empty() && digest_of(claimed, part) != digest_of(identify(problem).parts, part);
}

template <class Add>
void add_batch_size(const PlanDocument& document, const Problem& problem, const Add& add) {
  if (!differs(document, problem, "batch_size")) return;
  const auto size =
      value_of(document.problem_parts, "batch_size", problem.spec(), usual_batch_sizes(),
               [](ProblemSpec& spec, std::int64_t samples) { spec.batch_size = samples; });
  const std::string text = size ? " " + std::to_string(*size) : "";
  add(size ? "batches of" + text + " samples" : "another batch size",
      std::to_string(problem.batch_size()), "--batch-size" + text);
}

template <class Add>
void add_release(const PlanDocument& document, const Problem& problem, const Add& add) {
  if (!differs(document, problem, "torchrec")) return;
  const std::vector<TorchRecRelease> releases{TorchRecRelease::kA48cef79, TorchRecRelease::k1_9_2};
  const auto release =
      value_of(document.problem_parts, "torchrec", problem.spec(), releases,
               [](ProblemSpec& spec, TorchRecRelease own) { spec.torchrec = own; });
  if (!release) return;
  const std::string name(to_name(*release));
  add("TorchRec " + name, std::string(to_name(problem.spec().torchrec)), "--torchrec " + name);
}

// `ranks` is the number of ranks of the plan's machine, if the file says so.
template <class Add>
void add_hosts(const PlanDocument& document, const Problem& problem,
               const std::optional<std::int64_t>& ranks, const Add& add) {
  if (!differs(document, problem, "topology")) return;
  ProblemSpec spec = problem.spec();
  embedding::TopologySpec& machine = spec.topology;
  const std::int64_t local = machine.local_world_size;
  const bool one_host = local == machine.world_size;
  if (ranks) machine.world_size = *ranks;
  for (const MemoryTier tier : embedding::kMemoryTiers) {
    const auto bytes = claimed_capacity(document, static_cast<std::size_t>(tier));
    if (!bytes || bytes == capacity_of(problem.topology(), tier)) continue;
    machine.set_cap_bytes(tier, *bytes);
    machine.custom_cap_bytes(tier).clear();
  }
  const std::int64_t expected = one_host ? machine.world_size : local;
  std::vector<std::int64_t> sizes = divisors(machine.world_size);
  sizes.insert(sizes.begin(), expected);
  const auto host =
      value_of(document.problem_parts, "topology", spec, sizes,
               [](ProblemSpec& own, std::int64_t size) { own.topology.local_world_size = size; });
  if (!host || *host == expected) return;
  const std::string flag = "--ranks-per-host " + std::to_string(*host);
  if (*host == local) {
    add("", "", flag);  // equal now, but --ranks alone would change it
  } else {
    add("hosts of " + std::to_string(*host) + " ranks", std::to_string(local), flag);
  }
}

}  // namespace

std::optional<std::string> other_machine(const PlanDocument& document, const Problem& problem) {
  const Topology& topology = problem.topology();
  if (std::optional<std::string> kind = other_kind(document, topology)) return kind;
  std::string made_for, instead, flags;
  // If `was` is empty, only the flag is named.
  const auto add = [&](const std::string& was, const std::string& is, const std::string& flag) {
    flags += " " + flag;
    if (was.empty()) return;
    made_for += (made_for.empty() ? "" : " and ") + was;
    instead += (instead.empty() ? "" : " and ") + is;
  };
  const std::int64_t ranks = topology.world_size();
  // With sharding groups, the file has the ranks of one group, but --ranks sets those of the
  // machine.
  const bool is_whole = document.reserved_topology && !document.sharding_group_size;
  const auto claimed =
      is_whole ? document.reserved_topology->world_size : std::optional<std::int64_t>();
  if (claimed && *claimed != ranks) {
    add(std::to_string(*claimed) + " ranks", std::to_string(ranks),
        "--ranks " + std::to_string(*claimed));
  }
  for (const MemoryTier tier : embedding::kMemoryTiers) {
    const std::string name(embedding::to_name(tier));
    const auto was = claimed_capacity(document, static_cast<std::size_t>(tier));
    const auto is = capacity_of(topology, tier);
    if (!was || !is || *was == *is) continue;
    add(size_flag(*was) + " of " + std::string(embedding::label_of(tier)) + " per rank",
        size_flag(*is), "--" + name + " " + size_flag(*was));
  }
  add_batch_size(document, problem, add);
  add_release(document, problem, add);
  add_hosts(document, problem, claimed, add);
  if (flags.empty()) return std::nullopt;
  return "the plan was made for " + made_for + ", the problem as it is given has " + instead +
         "; give the flags that the plan was made with:" + flags;
}

}  // namespace shardwright
