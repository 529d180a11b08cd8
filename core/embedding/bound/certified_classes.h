// The rank classes of a certificate, and the use of ranks by shards, rounded down.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/bound/bound_options.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/storage.h"
#include "core/embedding/problem/topology.h"
#include "core/embedding/sharding_option.h"
#include "core/numeric/directed_rounding.h"

namespace shardwright::embedding {

// Load and bytes of shards on one rank, rounded down.
// Thread safety: a value.
struct RankUse {
  double load = 0;
  PerTier<double> bytes = {};
};

// The shards of one run of an open option.
// Thread safety: a value.
struct RunUse {
  RankUse use;  // of one shard
  std::uint32_t count = 0;
};

inline RankUse use_of(const ShardCost& cost, PerfModel model) {
  RankUse use{load_of(cost, model)};
  for (const MemoryTier tier : kMemoryTiers)
    use.bytes[tier] = rounded_down(cost.storage[tier].value());
  return use;
}

// Combines load and bytes of every memory tier.
template <class Combine>
RankUse combined(const RankUse& a, const RankUse& b, const Combine& combine) {
  return {combine(a.load, b.load),
          {combine(a.bytes.hbm, b.bytes.hbm), combine(a.bytes.ddr, b.bytes.ddr),
           combine(a.bytes.ssd, b.bytes.ssd)}};
}
inline RankUse least_of(const RankUse& a, const RankUse& b) {
  return combined(a, b, [](double x, double y) { return std::min(x, y); });
}
inline RankUse most_of(const RankUse& a, const RankUse& b) {
  return combined(a, b, [](double x, double y) { return std::max(x, y); });
}
inline RankUse sum_of(const RankUse& a, const RankUse& b) { return combined(a, b, add_down); }
inline RankUse without(const RankUse& all, const RankUse& use) {
  return combined(all, use, [](double x, double y) { return add_down(x, -y); });
}

// The cost of a shard at the multipliers of a class, rounded down.
inline double cost_at(const CapacityMultipliers& multipliers, const RankUse& use) {
  double sum = multiply_down(multipliers.load, use.load);
  for (const MemoryTier tier : kMemoryTiers)
    sum = add_down(sum, multiply_down(multipliers[tier], use.bytes[tier]));
  return sum;
}

// The rank classes of a certificate. A class has the memory of its largest rank and the load limit
// of its fastest rank, which only weakens a bound. With BoundCertificate::uniform_apart, every
// class has a second class, which is the capacity for uniform options.
// Thread safety: const members may be called from any thread.
class CertifiedClasses {
 public:
  // `target`: the check shows that no plan rates below it. Returns nullopt if the certificate's
  // `class_of_rank` does not have a class for every rank, or has more classes than an OptionDomain
  // has bits.
  static std::optional<CertifiedClasses> make(const ProblemSpec& spec, const Topology& available,
                                              const BoundCertificate& certificate, double target);

  std::size_t size() const { return num_ranks_.size(); }
  std::uint32_t num_ranks(std::size_t rank_class) const { return num_ranks_[rank_class]; }
  const Storage& room(std::size_t rank_class) const { return room_[rank_class]; }
  // In a plan below the target, every rank of the class has a load below this limit.
  double load_limit(std::size_t rank_class) const { return load_limit_[rank_class]; }
  std::uint32_t class_of(std::size_t rank) const { return class_of_rank_[rank]; }
  // Returns the first rank after `rank` of another class, or the number of ranks.
  std::uint32_t equal_until(std::size_t rank) const { return equal_until_[rank]; }
  // All classes as bits.
  std::uint32_t all() const { return (std::uint32_t{1} << size()) - 1; }
  bool uniform_apart() const { return !uniform_use_.empty(); }
  // True if every class lies on one host, so that options that fill hosts use its ranks alike.
  bool are_on_one_host() const { return are_on_one_host_; }
  // The classes, as bits, for uniform options and for all other options. Both are all classes
  // without uniform_apart().
  std::uint32_t of_uniform() const;
  std::uint32_t of_others() const;
  // Returns the class for the uniform options of `rank_class`: `rank_class` itself without
  // uniform_apart().
  std::uint32_t uniform_class(std::uint32_t rank_class) const;
  // Returns the class of whole ranks that contains this class; the class itself without
  // uniform_apart(). whole_room() and whole_limit() are the capacity of such a rank.
  std::size_t whole_class(std::size_t rank_class) const { return rank_class % num_whole(); }
  std::size_t num_whole() const { return uniform_apart() ? uniform_use_.size() : size(); }
  const Storage& whole_room(std::size_t rank_class) const {
    return uniform_apart() ? whole_room_[rank_class] : room_[rank_class];
  }
  double whole_limit(std::size_t rank_class) const {
    return uniform_apart() ? whole_limit_[rank_class] : load_limit_[rank_class];
  }
  // By class of whole ranks; empty without uniform_apart().
  const std::vector<UniformUse>& uniform_use() const { return uniform_use_; }
  // Precondition: use.size() == uniform_use().size().
  void set_uniform_use(const std::vector<UniformUse>& use);
  // The classes of the ranks of every host, as bits; indexed by host.
  std::span<const std::uint32_t> classes_of_host() const { return classes_of_host_; }

  // Returns true if an otherwise empty rank of the class may hold the shard.
  bool fits(const ShardCost& cost, std::size_t rank_class) const;
  // Returns true if an otherwise empty rank may hold shards of this use, which is rounded down.
  bool fits(const RankUse& use, std::size_t rank_class) const {
    const Storage& room = room_[rank_class];
    return use.load < load_limit_[rank_class] &&
           std::all_of(kMemoryTiers.begin(), kMemoryTiers.end(), [&](MemoryTier tier) {
             return use.bytes[tier] <= rounded_up(room[tier].value());
           });
  }
  PerfModel perf_model() const { return perf_model_; }

 private:
  CertifiedClasses() = default;

  bool set_apart();

  PerfModel perf_model_ = PerfModel::kPerf;
  bool are_on_one_host_ = true;
  std::vector<std::uint32_t> class_of_rank_;
  std::vector<std::uint32_t> equal_until_;  // by rank
  std::vector<std::uint32_t> num_ranks_;
  std::vector<Storage> room_;
  std::vector<double> load_limit_;
  std::vector<std::uint32_t> classes_of_host_;
  std::vector<UniformUse> uniform_use_;
  std::vector<Storage> whole_room_;  // by class of whole ranks
  std::vector<double> whole_limit_;
};

}  // namespace shardwright::embedding
