// Reads graphs for auto-sharding and writes answers.
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
#include "runtime/io/json/json_shape.h"
#include "runtime/io/text_sink.h"
#include "runtime/operators/autoshard.h"

namespace shardwright {

// A graph, and the sharding options in its file.
struct AutoshardEntry {
  std::string place;  // JSON pointer; empty for the root
  std::shared_ptr<const operators::autoshard::Graph> graph;
  std::optional<std::int64_t> devices;
  std::optional<operators::autoshard::CostModel> model;
};

// The contents of a file: an object with a `graph`, or a list of such objects.
struct AutoshardFile {
  bool is_list = false;
  std::vector<AutoshardEntry> entries;
};

// Ignores the keys of answers. Errors: kInvalidInput with a JSON pointer.
Result<AutoshardFile> read_autoshard(std::string_view text);
JsonShape autoshard_shape();

// Writes one object, or a list if `as_list` is true. Whole costs have no fraction.
void write_autoshard(std::span<const AutoshardAnswer> answers, bool as_list, const TextSink& sink);
JsonShape autoshard_answers_shape();

}  // namespace shardwright
