// Search spaces in files: the options of every table with their costs.
#pragma once

#include <memory>
#include <string_view>

#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/io/text_sink.h"

namespace shardwright {

enum class ShardForm : unsigned char {
  kExpanded,  // every shard by itself, as TorchRec's answers have them
  kRuns,      // equal neighbours as one entry with `count` and `step`
};

// Reads the list under `search_space`; other keys of the file mean nothing here. Tables are matched
// by module and name, by name alone where an option gives no module. Shards may come in either
// form; equal neighbours are held as runs. Costs are taken exactly.
// Errors: kInvalidInput with `where` = the JSON pointer, for options that do not belong to the
// problem, tables without an option and costs that are negative or too large to add up.
Result<std::shared_ptr<const embedding::SearchSpace>> read_search_space(
    std::string_view text, std::shared_ptr<const embedding::Problem> problem);

// Writes `{search_space_size, search_space}`; reading it gives an equal search space.
void write_search_space(const embedding::SearchSpace& space, ShardForm form, const TextSink& sink);

}  // namespace shardwright
