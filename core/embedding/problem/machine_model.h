// Measured costs of a machine: what calls of embedding kernels and collectives take on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/problem/kinds.h"
#include "core/status.h"

namespace shardwright::embedding {

// What decides which kernel runs. `optimizer` is FBGEMM's name of an optimizer, such as
// "exact_row_wise_adagrad"; empty without an optimizer.
struct LookupKind {
  ComputeKernel kernel = ComputeKernel::kFused;
  DataType data_type = DataType::kFp32;
  bool weighted = false;
  bool pooled = true;
  std::string optimizer;

  friend bool operator==(const LookupKind&, const LookupKind&) = default;
};

// One call of a table-batched embedding with `tables` tables of equal shape. Numbers of bags and
// lookups are those of one table.
struct LookupCall {
  double tables = 1;
  double rows = 0;
  double dim = 0;
  double bags = 0;  // without pooling, one for each lookup
  double lookups = 0;
  double zipf = 0;      // a row of popularity k is read in proportion to k^-zipf; 0 = uniform
  double hit_rate = 1;  // share of the lookups that a cache in device memory answers
};

// The sizes of a call of which a machine's file has ranges.
struct CallSize {
  std::string_view name;
  double LookupCall::*member;
};
inline constexpr std::array kCallSizes{
    CallSize{"rows", &LookupCall::rows}, CallSize{"dim", &LookupCall::dim},
    CallSize{"bags", &LookupCall::bags}, CallSize{"lookups", &LookupCall::lookups},
    CallSize{"zipf", &LookupCall::zipf}};

// The terms of a time, each with a reason to be there. A time is a sum of terms times coefficients,
// which are nanoseconds and at least 0. All but the first are sums over the tables of a call.
enum class CostTerm : std::uint8_t {
  kCall,           // launching the kernels, once for all tables of a rank
  kTable,          // setting up a table
  kLookup,         // reading an index
  kLookupElement,  // adding an element of a row to its bag
  kBag,            // beginning and ending a bag
  kOutputElement,  // writing the result, reading its gradient
  kL3Line,         // cache lines of rows that L2 does not hold
  kMemoryLine,     // cache lines of rows that no cache holds
  kWalkLine,       // cache lines of page tables, for rows in random order
  kPage,           // distinct pages of rows
  kHostByte,       // bytes of rows read that the cache in device memory misses
  // The backward pass alone:
  kSortPass,            // radix sort of the indices
  kRow,                 // updating a row once
  kScatteredRow,        // latency of a row that no neighbour has fetched
  kRowElement,          // arithmetic of the update
  kGradientLine,        // cache lines of gradients of bags, gathered in the order of rows
  kGradientMemoryLine,  // those of them that no cache holds
  kTableByte,           // the gradient of the whole table; kernel `dense` alone
};
inline constexpr std::size_t kNumCostTerms = 18;
inline constexpr std::size_t kNumForwardTerms = 11;
using CostTerms = std::array<double, kNumCostTerms>;

template <>
struct EnumNames<CostTerm> {
  static constexpr std::string_view kWhat = "term";
  static constexpr std::array<std::string_view, kNumCostTerms> kNames{"call",
                                                                      "table",
                                                                      "lookup",
                                                                      "lookup_element",
                                                                      "bag",
                                                                      "output_element",
                                                                      "l3_line",
                                                                      "memory_line",
                                                                      "walk_line",
                                                                      "page",
                                                                      "host_byte",
                                                                      "sort_pass",
                                                                      "row",
                                                                      "scattered_row",
                                                                      "row_element",
                                                                      "gradient_line",
                                                                      "gradient_memory_line",
                                                                      "table_byte"};
};

// Sizes of a device's caches in bytes; 0 if it has none.
struct CacheSizes {
  double l2 = 0;
  double l3 = 0;
};

// What of a device decides the terms.
struct DeviceMemory {
  CacheSizes caches;
  double page_bytes = 4096;
};

// Returns the multiples of the coefficients that the time of `call` is. Caches are empty at first,
// because a training step reads other data between two calls. O(log rows) time.
CostTerms cost_terms(const LookupKind& kind, const LookupCall& call, const DeviceMemory& memory);

// Returns the share of all lookups that concern the `most` most popular of `rows` rows.
double popular_share(double most, double rows, double zipf);

// The error of predictions for shapes that the fit did not see, relative to the measured time.
struct FitError {
  double median = 0;
  double p90 = 0;
};

struct FittedTime {
  CostTerms ns{};
  FitError error;
};

struct MeasuredRange {
  double least = 0;
  double most = 0;

  bool has(double value) const { return least <= value && value <= most; }
};

// The fit of a kernel, and the calls that it comes from.
struct LookupModel {
  LookupKind kind;
  std::int64_t measurements = 0;
  std::array<MeasuredRange, kCallSizes.size()> measured;
  FittedTime forward;
  std::optional<FittedTime> backward;  // with the optimizer's update

  // Returns the measured call that is nearest to `call`.
  LookupCall nearest(LookupCall call) const;
  bool has_measured(const LookupCall& call) const;
};

enum class Collective : std::uint8_t { kAllToAll, kReduceScatter, kAllGather, kAllReduce };
enum class LinkScope : std::uint8_t { kIntraHost, kInterHost };

template <>
struct EnumNames<Collective> {
  static constexpr std::string_view kWhat = "collective";
  static constexpr std::array<std::string_view, 4> kNames{"all_to_all", "reduce_scatter",
                                                          "all_gather", "all_reduce"};
};
template <>
struct EnumNames<LinkScope> {
  static constexpr std::string_view kWhat = "scope";
  static constexpr std::array<std::string_view, 2> kNames{"intra_host", "inter_host"};
};

// The time of a collective: a latency, and bytes at two rates, one below the knee and one above.
// Bytes are those of the larger buffer of a rank: what it sends to all ranks, or receives from all.
struct MeasuredCollective {
  Collective operation = Collective::kAllToAll;
  LinkScope scope = LinkScope::kIntraHost;
  std::int64_t ranks = 0;
  double latency_us = 0;
  double knee_bytes = 0;
  double us_per_byte_below = 0;
  double us_per_byte_above = 0;
  MeasuredRange bytes;
  FitError error;

  double us(double size) const;
  // Microseconds of one byte more in a message of `size` bytes.
  double us_per_byte(double size) const {
    return size < knee_bytes ? us_per_byte_below : us_per_byte_above;
  }
};

// A machine and its measured costs, not yet checked.
struct MachineSpec {
  std::string name;
  ComputeDevice device = ComputeDevice::kCuda;
  std::string device_name;
  std::int64_t memory_bytes = 0;  // of a rank
  CacheSizes caches;
  std::vector<LookupModel> lookups;
  std::vector<MeasuredCollective> collectives;
  std::string digest;  // of the models; identifies the costs

  DeviceMemory memory() const;
};

// Times in ms of a table's part of a call; the fixed time of the call is not in them.
struct LookupTimes {
  double forward_ms = 0;
  double backward_ms = 0;
};

// The measured costs of a machine. Immutable; problems share it.
// Thread safety: const members may be called from any thread.
class MachineModel {
 public:
  // Errors: kInvalidInput with a JSON pointer into the machine's file: a kind or a collective that
  // occurs twice; a coefficient or a range that is negative or not finite; no memory.
  static Result<MachineModel> make(MachineSpec spec);

  const MachineSpec& spec() const { return spec_; }

  // Returns the fit of a kernel, or null. If `kind` names no optimizer, that of the first fit.
  const LookupModel* find(const LookupKind& kind) const;
  const MeasuredCollective* find(Collective operation, LinkScope scope, std::int64_t ranks) const;

  // Returns the times of `call`. Outside of the measured ranges, the time at the nearest measured
  // call grows with the bytes that are read and written.
  LookupTimes times(const LookupModel& model, const LookupCall& call) const;

 private:
  explicit MachineModel(MachineSpec spec) : spec_(std::move(spec)) {}

  MachineSpec spec_;
};

// Returns FBGEMM's name of an optimizer; empty if a table does not say which it has.
std::string_view fbgemm_name(Optimizer optimizer);

}  // namespace shardwright::embedding
