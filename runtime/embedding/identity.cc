#include "runtime/embedding/identity.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "core/hash/sha256.h"
#include "runtime/embedding/problem_facts.h"

namespace shardwright {
namespace {

using embedding::Assignment;
using embedding::Plan;
using embedding::Problem;
using embedding::SearchSpace;
using embedding::ShardingOption;
using embedding::to_name;

constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kPartDigits = 16;

// SHA-256 over a sequence of values. Each value is delimited; doubles count by their bits.
class ValueDigest {
 public:
  ValueDigest& operator<<(std::string_view text) {
    *this << text.size();
    sha_.update(text);
    return *this;
  }
  template <std::integral Integer>
  ValueDigest& operator<<(Integer number) {
    std::array<char, 24> digits;
    char* const end = std::to_chars(digits.data(), digits.data() + 23, number).ptr;
    *end = ';';
    sha_.update({digits.data(), static_cast<std::size_t>(end + 1 - digits.data())});
    return *this;
  }
  ValueDigest& operator<<(bool flag) { return *this << int{flag}; }
  ValueDigest& operator<<(double number) { return *this << std::bit_cast<std::uint64_t>(number); }
  template <class T>
  ValueDigest& operator<<(const std::optional<T>& maybe) {
    *this << maybe.has_value();
    return maybe ? *this << *maybe : *this;
  }

  std::string hex(std::size_t digits = 64) { return sha_.hex(digits); }

 private:
  Sha256 sha_;
};

// Adds shard by shard, so that the grouping of shards into runs does not change the digest.
void add(const ShardingOption& option, ValueDigest& digest) {
  digest << to_name(option.sharding_type) << to_name(option.compute_kernel) << option.load_factor
         << option.num_shards();
  for (std::size_t i = 0; i < option.layout->extents.size(); ++i) {
    const embedding::ShardExtent& e = option.layout->extents[i];
    const embedding::ShardCost& cost = option.costs[i];
    for (std::int64_t k = 0; k < e.count; ++k) {
      digest << e.rows << e.columns << e.row_offset + k * e.row_step
             << e.column_offset + k * e.column_step << cost.storage.hbm.value()
             << cost.storage.ddr.value();
      // SSD counts only if it is not 0, so digests of problems without SSD do not depend on it.
      if (cost.storage.ssd != Bytes()) digest << true << cost.storage.ssd.value();
      digest << cost.perf.fwd_compute.value() << cost.perf.fwd_comms.value()
             << cost.perf.bwd_compute.value() << cost.perf.bwd_comms.value()
             << cost.perf.prefetch_compute.value();
    }
  }
}

// Returns a digest of the options with their costs, independent of their order.
std::string digest_of(const SearchSpace& space) {
  std::vector<std::string> options;
  for (const ShardingOption& option : space.options()) {
    ValueDigest digest;
    digest << space.problem().table(option.table).fqn();
    add(option, digest);
    options.push_back(digest.hex(kHashDigits));
  }
  std::sort(options.begin(), options.end());
  ValueDigest all;
  for (const std::string& option : options)
    all << option;
  return all.hex();
}

}  // namespace

ProblemIdentity identify(const Problem& problem, const SearchSpace* given) {
  ProblemIdentity identity;
  ValueDigest whole, part;
  std::string section;
  const auto end_part = [&](const std::string& name, const std::string& digest) {
    whole << name << digest;
    identity.parts.emplace_back(name, digest.substr(0, kPartDigits));
  };
  const auto end_section = [&] {
    if (!section.empty()) end_part(section, part.hex());
    part = ValueDigest();
  };
  for_each_fact(problem, [&](const ProblemFact& fact) {
    if (fact.section != section) {
      end_section();
      section = fact.section;
    }
    part << fact.owner << fact.key << fact.value;
  });
  end_section();
  if (given != nullptr) end_part("search_space", digest_of(given->declared()));
  identity.hash = "problem1:" + whole.hex(kHashDigits);
  return identity;
}

std::string differing_parts(const ProblemParts& a, const ProblemParts& b) {
  std::vector<std::string> names;
  const auto add_missing = [&](const ProblemParts& from, const ProblemParts& in) {
    for (const auto& part : from) {
      const bool same = std::find(in.begin(), in.end(), part) != in.end();
      const bool named = std::find(names.begin(), names.end(), part.first) != names.end();
      if (!same && !named) names.push_back(part.first);
    }
  };
  add_missing(a, b);
  add_missing(b, a);
  if (a.empty() || b.empty() || names.empty()) return "parts that are not recorded";
  std::string text = names.front();
  for (std::size_t i = 1; i < names.size(); ++i)
    text += (i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

std::string search_hash(const Problem& problem) {
  const embedding::ProblemSpec& spec = problem.spec();
  ValueDigest digest;
  digest << spec.proposers.size();
  for (const embedding::ProposerSpec& proposer : spec.proposers) {
    digest << static_cast<int>(proposer.type) << proposer.use_depth << proposer.threshold
           << proposer.hbm_bins_per_device << proposer.max_proposals;
  }
  const embedding::PartitionerSpec& partitioner = spec.partitioner;
  digest << static_cast<int>(partitioner.type) << static_cast<int>(partitioner.sort_by)
         << partitioner.balance_modules << partitioner.max_search_count << partitioner.tolerance
         << spec.use_exact_enumerate_order;
  for (const embedding::Table& table : problem.tables()) {
    digest << table.fqn();
    if (!table.constraints) continue;
    digest << table.constraints->sharding_types.size();
    for (const embedding::ShardingType type : table.constraints->sharding_types)
      digest << to_name(type);
    digest << table.constraints->compute_kernels.size();
    for (const embedding::ComputeKernel kernel : table.constraints->compute_kernels)
      digest << to_name(kernel);
  }
  return "search1:" + digest.hex(kHashDigits);
}

std::string plan_hash(const Problem& problem, const Plan& plan) {
  std::vector<std::pair<std::string, std::size_t>> tables;
  for (std::size_t i = 0; i < plan.size(); ++i)
    tables.emplace_back(problem.table(plan[i].option->table).fqn(), i);
  std::sort(tables.begin(), tables.end());
  ValueDigest digest;
  for (const auto& [name, i] : tables) {
    const Assignment& assignment = plan[i];
    const ShardingOption& option = *assignment.option;
    digest << name << to_name(option.sharding_type) << to_name(option.compute_kernel)
           << option.load_factor << option.num_shards();
    for (std::uint32_t shard = 0; shard < option.num_shards(); ++shard)
      digest << assignment.rank(shard);
  }
  return "plan1:" + digest.hex(kHashDigits);
}

}  // namespace shardwright
