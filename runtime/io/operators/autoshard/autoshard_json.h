// Auto-sharding graphs and answers in files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/operators/autoshard/autoshard_graph.h"
#include "core/status.h"
#include "runtime/io/text_sink.h"
#include "runtime/operators/autoshard.h"

namespace shardwright {

// A graph with what its file says about how to shard it.
struct AutoshardEntry {
  std::string place;  // JSON pointer; empty for the whole file
  std::shared_ptr<const operators::autoshard::Graph> graph;
  std::optional<std::int64_t> devices;
  std::optional<operators::autoshard::CostModel> model;
};

// One object with a `graph`, or a list of them.
struct AutoshardFile {
  bool is_list = false;
  std::vector<AutoshardEntry> entries;
};

// Keys of recorded answers are ignored. Errors: kInvalidInput with `where` = the JSON pointer.
Result<AutoshardFile> read_autoshard(std::string_view text);

// The form of the recorded answers: one object, or a list where `as_list`. Costs that are whole are
// written without a fraction.
void write_autoshard(std::span<const AutoshardAnswer> answers, bool as_list, const TextSink& sink);

}  // namespace shardwright
