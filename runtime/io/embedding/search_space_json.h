// Reads and writes search spaces: the options of all tables with their costs.
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
  kExpanded,  // an entry per shard, as in TorchRec
  kRuns,      // an entry per run of equal shards, with `count` and `step`
};

// Reads the list under `search_space` and ignores other keys. An option names its table by name, or
// by module and name. Shards may be in either form. Costs are not rounded. If the file says that
// another TorchRec release made its costs, `warnings` gets a warning. Errors: kInvalidInput with a
// JSON pointer for options that do not fit the problem, tables without an option, negative costs,
// sums that overflow, and costs for another batch size.
Result<std::shared_ptr<const embedding::SearchSpace>> read_search_space(
    std::string_view text, std::shared_ptr<const embedding::Problem> problem,
    std::vector<Error>* warnings = nullptr);

// Returns the shape of a file with a search space.
JsonShape search_space_shape();

// Writes `{search_space_size, torchrec, search_space}`. Reading the text gives an equal search
// space.
void write_search_space(const embedding::SearchSpace& space, ShardForm form, const TextSink& sink);

// Writes the ms of a shard or rank: [fwd_compute, fwd_comms, bwd_compute, bwd_comms,
// prefetch_compute].
void write_perf(const embedding::Perf& perf, JsonWriter& json);
JsonShape perf_shape();

// Writes the list of options as the next value of `json`.
void write_options(const embedding::SearchSpace& space, ShardForm form, JsonWriter& json);

// Takes options in the order of enumeration, shard by shard, and merges adjacent equal shards into
// runs. Checks that an option has the number of shards that partitioners assume, that its shards
// hold each row and column of the table once, that options with the same name in plan files have
// equal costs, and that byte sums do not overflow. Errors have an empty `where`.
// Thread safety: one thread at a time.
class SearchSpaceBuilder {
 public:
  // Most shards of an option or a run.
  static constexpr std::uint32_t kMaxShards = std::uint32_t{1} << 24;

  explicit SearchSpaceBuilder(std::shared_ptr<const embedding::Problem> problem);

  // Reserves memory for this number of options.
  void reserve(std::size_t options) { options_.reserve(options); }

  // Starts an option of the table with this index, with the table's batch size, factors and
  // weights.
  Status begin_option(std::uint64_t table, embedding::ShardingType type,
                      embedding::ComputeKernel kernel);
  // Returns the current option. The caller may change members that differ from the table's values.
  embedding::ShardingOption& option() { return option_; }
  // Appends a run of shards to the current option. Costs are not rounded; -0.0 becomes 0.
  Status add_shards(const embedding::ShardExtent& extent, const embedding::ShardCost& cost);
  // Ends the current option and checks its shards.
  Status end_option();

  // Returns the space; called last. Errors: kInvalidInput if a table has no option.
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
  std::vector<bool> has_option_;  // index: table
  // Layouts known to tile a table: (layout, sharding type, rows, columns).
  using Tiling = std::tuple<const embedding::ShardLayout*, embedding::ShardingType, std::int64_t,
                            std::int64_t>;
  std::set<Tiling> tilings_;
  // By the values that name an option in plan files: index in options_ of the first such option.
  using Name = std::tuple<std::uint64_t, embedding::ShardingType, embedding::ComputeKernel,
                          std::optional<double>, const embedding::ShardLayout*>;
  std::map<Name, std::size_t> names_;

  embedding::ShardingOption option_;
  embedding::ShardRuns runs_;
  embedding::Storage bytes_left_;  // bytes that further shards may add
};

}  // namespace shardwright
