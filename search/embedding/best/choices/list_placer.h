// Places the choices of all tables by list scheduling, again and again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/embedding/best/choices/even_weights.h"
#include "search/embedding/best/parameters/construct_parameters.h"
#include "search/embedding/model/allocation.h"
#include "search/embedding/model/context/search_context.h"

namespace shardwright::embedding {

// A table's choice, and the host of each of its blocks: one host if the choice is on one host, one
// per block of whole hosts, none otherwise. Thread safety: a value.
struct PlacedChoice {
  static constexpr std::uint32_t kAnyHost = ~std::uint32_t{0};  // the one with least load

  std::uint32_t choice = 0;
  std::vector<std::uint32_t> hosts;
};

// What a set of choices is rated by, as a squared Goal: by how much loads exceed the target,
// relative to it, squared, and by how much memory is exceeded, relative to the mean capacity.
// Thread safety: a value.
struct ListGoal {
  double target = 0;
  double memory_weight = 1;
};

// Choices and hosts of all tables decide the placement: choices on all ranks first, then those on
// hosts, then single shards in descending order of size, each on the rank that leaves load, and
// memory if it is scarce, most even. Knows no placement rules. A change of one table costs no more
// than its own shards; placing costs a few reads per shard and rank.
// Source: Graham 1969, "Bounds on multiprocessing timing anomalies".
// Thread safety: one thread at a time. Refers to the context.
class ListPlacer {
 public:
  ListPlacer(const SearchContext& context, const ConstructParameters& parameters);

  // Begins anew with these choices of all tables, on hosts that the first placement finds.
  void begin(std::span<const std::uint32_t> choices, const ListGoal& goal);
  // Exchanges what the table has with `other`.
  void exchange(std::uint32_t table, PlacedChoice& other);
  const std::vector<PlacedChoice>& placed() const { return placed_; }

  // Hosts that a choice names.
  std::uint32_t num_blocks(std::uint32_t choice) const;
  std::uint32_t num_hosts() const { return hosts_; }

  // Places everything and returns the energy, or infinity as soon as it exceeds `most`.
  double energy(double most);
  // The same placement, complete.
  Allocation allocation();

  // Ranks and shards read or updated so far.
  std::uint64_t work() const { return work_; }

 private:
  // Equal single shards of one table.
  struct Shards {
    double size = 0;
    std::uint32_t table = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    double load = 0;
    PerTier<double> bytes;

    bool operator<(const Shards& other) const;
  };
  // A table on hosts.
  struct OnHosts {
    Reach reach = Reach::kHost;
    double load = 0;
    std::uint32_t table = 0;

    bool operator<(const OnHosts& other) const;
  };

  void read_capacities();
  Shards shards_of(std::uint32_t table, const ChoiceRun& run, std::uint32_t first) const;
  void list(std::uint32_t table);
  void unlist(std::uint32_t table);
  void add_everywhere(double sign, const Choice& choice);

  double scaled(Rank rank, double load) const {
    return scale_.empty() ? load : load * scale_[rank];
  }
  // A load's part of the energy.
  double over(double load) const {
    const double excess = (load - goal_.target) * inverse_target_;
    return excess > 0 ? excess * excess : 0;
  }
  double memory_over(Rank rank) const;
  void start();
  void add(Rank rank, double load, const PerTier<double>& bytes);
  double rise(Rank rank, double load, const PerTier<double>& bytes) const;
  Rank best_rank(Rank begin, Rank end, double load, const PerTier<double>& bytes);
  std::uint32_t lightest_host() const;
  template <class Note>
  void place_on_hosts(std::uint32_t table, const Note& note);
  template <class Note>
  bool place_all(double most, const Note& note);

  const SearchContext* context_;
  ConstructParameters parameters_;
  std::uint32_t ranks_;
  std::uint32_t local_;
  std::uint32_t hosts_;
  std::vector<MemoryTier> tiers_;  // that may run short
  std::span<const double> scale_;  // by rank; empty where all are 1
  PerTier<std::vector<double>> capacity_;
  PerTier<std::vector<double>> inverse_square_;  // of the capacity
  PerTier<double> mean_capacity_;

  ListGoal goal_;
  double inverse_target_ = 1;
  EvenWeights weights_;
  double load_weight_ = 1;  // of the square of a load

  std::vector<PlacedChoice> placed_;  // by table
  std::vector<OnHosts> on_hosts_;     // in the order of placement
  std::vector<Shards> shards_;        // in the order of placement
  // What choices on all ranks take. Sums of many changes, so correct up to rounding errors.
  std::vector<double> base_load_;
  PerTier<std::vector<double>> base_held_;

  // The placement.
  std::vector<double> load_;
  PerTier<std::vector<double>> held_;
  std::vector<double> host_load_;
  double energy_ = 0;
  std::uint64_t work_ = 0;
};

}  // namespace shardwright::embedding
