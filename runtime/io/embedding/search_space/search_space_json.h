// Reads and writes search spaces: the options of every table with their costs.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/embedding/search_space.h"
#include "core/status.h"
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

// Writes `{search_space_size, torchrec, search_space}`. Reading it back gives an equal search
// space.
void write_search_space(const embedding::SearchSpace& space, ShardForm form, const TextSink& sink);

}  // namespace shardwright
