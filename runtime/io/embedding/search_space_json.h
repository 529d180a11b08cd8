// Reads and writes search spaces: the options of every table with their costs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/embedding/search_space.h"
#include "core/embedding/sharding_option.h"
#include "core/status.h"
#include "runtime/io/json/json_shape.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/text_sink.h"

namespace shardwright {

enum class ShardForm : unsigned char {
  kExpanded,  // one entry per shard, as in TorchRec
  kRuns,      // one entry per run of equal shards, with `count` and `step`
};

// Reads the list under `search_space` and ignores other keys. An option names its table by module
// and name, or by name alone. Shards may be in either form. Costs are not rounded.
// Errors: kInvalidInput with a JSON pointer for options that do not fit the problem, tables without
// an option, costs that are negative or whose sums overflow, and costs for another batch size. A
// file that says it was made by the rules of another release is read, and `doubts` gets a warning.
Result<std::shared_ptr<const embedding::SearchSpace>> read_search_space(
    std::string_view text, std::shared_ptr<const embedding::Problem> problem,
    std::vector<Error>* doubts = nullptr);

// A file with a search space.
JsonShape search_space_shape();

// Writes `{search_space_size, torchrec, search_space}`. Reading it back gives an equal search
// space.
void write_search_space(const embedding::SearchSpace& space, ShardForm form, const TextSink& sink);

// The times of a shard or a rank: [fwd_compute, fwd_comms, bwd_compute, bwd_comms,
// prefetch_compute] in ms.
void write_perf(const embedding::Perf& perf, JsonWriter& json);
JsonShape perf_shape();

// Writes the list of options as the next value of `json`.
void write_options(const embedding::SearchSpace& space, ShardForm form, JsonWriter& json);

// Takes options in enumeration order, shard by shard. Checks that each option has the number of
// shards that the partitioners assume, that the shards hold every row and column of their table
// once, that options with the same name in plan files cost the same, and that byte sums do not
// overflow. Adjacent equal shards become a run. Errors have an empty `where`; the caller adds the
// place. Thread safety: one thread at a time.
class SearchSpaceBuilder {
 public:
  // The largest number of shards of an option, and so of a run.
  static constexpr std::uint32_t kMaxShards = std::uint32_t{1} << 24;

  explicit SearchSpaceBuilder(std::shared_ptr<const embedding::Problem> problem);

  // Allocates space for this number of options.
  void reserve(std::size_t options) { options_.reserve(options); }

  // Starts the next option, with the table's batch size, pooling factors and weights.
  Status begin_option(std::uint64_t table, embedding::ShardingType type,
                      embedding::ComputeKernel kernel);
  // The current option. The caller may change members that differ from the table's.
  embedding::ShardingOption& option() { return option_; }
  // Appends a shard or a run of shards to the current option. Costs are not rounded; -0.0 becomes
  // 0.
  Status add_shards(const embedding::ShardExtent& extent, const embedding::ShardCost& cost);
  // Ends the current option and checks its shards together.
  Status end_option();

  // Errors: kInvalidInput if a table has no option. Nothing can be added afterwards.
  Result<std::shared_ptr<const embedding::SearchSpace>> finish();

 private:
  bool within_table(const embedding::ShardExtent& extent) const;
  Status check_num_shards() const;
  Status check_tiling();
  Status check_distinct();

  std::shared_ptr<const embedding::Problem> problem_;
  std::shared_ptr<embedding::ShardLayoutInterner> layouts_;
  std::int64_t max_option_bytes_;
  std::vector<embedding::ShardingOption> options_;
  std::vector<bool> has_option_;  // by table
  // Known tilings: layouts that tile tables of the given sharding type, rows and columns.
  using Tiling = std::tuple<const embedding::ShardLayout*, embedding::ShardingType, std::int64_t,
                            std::int64_t>;
  std::set<Tiling> tilings_;
  // By the name of an option in plan files: the first option of that name, an index into options_.
  using Name = std::tuple<std::uint64_t, embedding::ShardingType, embedding::ComputeKernel,
                          std::optional<double>, const embedding::ShardLayout*>;
  std::map<Name, std::size_t> names_;

  embedding::ShardingOption option_;
  embedding::ShardRuns runs_;
  embedding::Storage bytes_left_;  // that shards may still add to the option
};

}  // namespace shardwright
