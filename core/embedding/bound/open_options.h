// The options of every table that are open in a branch-and-bound node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/bound/certified_classes.h"
#include "core/embedding/search_space.h"

namespace shardwright::embedding {

// `count` shards of one run on ranks of one class.
struct ClassShards {
  std::uint32_t rank_class = 0;
  std::uint32_t run = 0;
  std::uint32_t count = 0;
};

// An open option and the rank classes where its shards may be.
using OpenOption = OptionDomain;

// The open options of the current node, which its plans may use. At the root, an option is open if
// it could be part of a plan below the target and no other option of its table replaces it. A
// replacement keeps a plan below the target but may break a placement rule. Options without any
// placement under the rules are therefore dropped first, and all other rules are ignored.
// Thread safety: one thread at a time. Refers to its arguments.
class OpenOptions {
 public:
  // O(options x options of a table). Incomplete if `is_stopped` (may be empty) returned true.
  OpenOptions(const SearchSpace& space, const Topology& available, const CertifiedClasses& classes,
              const std::function<bool()>& is_stopped);

  bool is_complete() const { return complete_; }
  // Returns false if the certificate has uniform_apart and an open uniform option has no smallest
  // shard in some class.
  bool can_be_apart() const { return can_be_apart_; }

  const SearchSpace& space() const { return space_; }
  const Topology& topology() const { return available_; }
  const CertifiedClasses& classes() const { return classes_; }

  std::size_t num_tables() const { return open_.size(); }
  const std::vector<OpenOption>& of_table(std::size_t table) const { return open_[table]; }
  // Restricts the n-th open option of the table to classes[n], a subset of its domain. Drops
  // options whose classes[n] is 0. Saves the previous options of the table for restore().
  void restrict_to(std::size_t table, std::span<const std::uint32_t> classes);
  // mark() returns the number of changes so far. restore(mark) undoes all later changes.
  std::size_t mark() const { return replaced_.size(); }
  void restore(std::size_t mark);
  // The number of options that are saved for restore().
  std::size_t num_kept() const { return num_kept_; }

  // Returns true if a table with options in the space has no open option.
  bool any_table_is_closed() const;
  // Returns true if, for every n, the n-th open options of both tables have equal shards, costs and
  // domains. Exchanging the two tables in a plan of the node then gives a plan of the node.
  bool are_equal(std::size_t table, std::size_t other) const;

  // Returns true if, in every plan, all shards of the option lie in the classes `inside` or all lie
  // in the other classes of its domain.
  bool lies_on_one_side(const OpenOption& domain, std::uint32_t inside) const;
  // For an option with a shard on every rank, returns its shards by class and run; otherwise empty.
  // With uniform_apart, all shards of a class count as the smallest shard there.
  std::span<const ClassShards> shards_by_class(OptionId option) const {
    return shards_by_class_[option.index()];
  }
  // Returns the use of one shard, by run. Precondition: the option was open at the root.
  std::span<const RunUse> runs(OptionId option) const {
    return {runs_.data() + first_run_[option.index()], space_.option(option).costs.size()};
  }
  // With uniform_apart, returns the run that stands for all shards of an option that fills hosts.
  // Otherwise returns nullopt.
  std::optional<std::uint32_t> counted_run(OptionId option) const;

 private:
  struct Replaced {
    std::size_t table;
    std::vector<OpenOption> options;
  };

  std::vector<ClassShards> count_shards_by_class(const ShardingOption& option) const;
  void set_apart(OptionId id);
  bool has_smallest_shards(OptionId id) const;
  bool is_smaller(const ShardingOption& option, std::uint32_t run, std::uint32_t other) const;
  std::optional<std::uint32_t> smallest_run(const ShardingOption& option) const;
  bool are_interchangeable(OptionId id, OptionId other) const;
  bool is_possible(OptionId id) const;
  void add_runs(OptionId id);
  bool is_replaced(OptionId id, const std::vector<OpenOption>& options) const;

  const SearchSpace& space_;
  const Topology& available_;
  const CertifiedClasses& classes_;
  bool complete_ = false;
  bool can_be_apart_ = true;
  std::vector<bool> has_options_;                          // by table, in the space
  std::vector<std::vector<OpenOption>> open_;              // by table
  std::vector<std::vector<ClassShards>> shards_by_class_;  // by option
  std::vector<RunUse> runs_;                               // of options open at the root
  std::vector<std::size_t> first_run_;                     // index into runs_, by option
  std::vector<std::optional<std::uint32_t>> counted_run_;  // by option; empty without uniform_apart
  std::vector<Replaced> replaced_;                         // in the order of the changes
  std::size_t num_kept_ = 0;                               // number of options in `replaced_`
};

// The Lagrangian bound: compares the cost of all tables at given multipliers with the value of all
// ranks. Every sum is rounded to the safe side.
// Thread safety: immutable.
class LagrangianSum {
 public:
  // `multipliers`: by rank class. O(open options x classes).
  LagrangianSum(const OpenOptions& options, const std::vector<CapacityMultipliers>& multipliers);

  // Returns true if all tables, each with its cheapest open option, cost more than all ranks.
  bool excludes_all() const { return needed_ > capacity_; }
  // Returns the same for the case that `table` takes its open option number `option`.
  bool excludes(std::size_t table, std::size_t option) const;

 private:
  std::vector<double> costs_;       // of all open options, table by table
  std::vector<std::size_t> first_;  // index into costs_, by table
  std::vector<double> least_;       // by table
  double needed_ = 0;
  double capacity_ = 0;
};

// A use of ranks that all plans have in common. If all open options of a table have a shard on
// every rank, the table uses at least the smallest of these shards on every rank.
// Thread safety: immutable.
class CommonUse {
 public:
  explicit CommonUse(const OpenOptions& options);

  // The common use of all tables on a rank of the class.
  const RankUse& on(std::size_t rank_class) const { return all_[rank_class]; }
  // The common use of all tables except `table`, rounded down.
  RankUse on_beside(std::size_t rank_class, std::size_t table) const;

 private:
  std::vector<RankUse> use_of_table(const OpenOptions& options, std::size_t table) const;

  std::vector<RankUse> all_;                    // by class
  std::vector<std::vector<RankUse>> of_table_;  // by table, then class; empty without common use
};

// Drops options that do not fit beside the common use of all other tables, in at most 16 rounds.
// Returns the number of rounds, each of which takes O(open options x classes).
std::uint64_t drop_by_common_use(OpenOptions& options);

// Drops options that LagrangianSum at `multipliers` (by class) excludes. O(open options x classes).
void drop_by_reduced_costs(OpenOptions& options,
                           const std::vector<CapacityMultipliers>& multipliers);

}  // namespace shardwright::embedding
