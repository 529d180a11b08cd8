// Reads and writes plan files, and parts that other files share with them.
#pragma once

#include <string_view>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/storage.h"
#include "core/status.h"
#include "runtime/embedding/plan_result.h"
#include "runtime/embedding/plan_stats.h"
#include "runtime/io/embedding/problem_overrides.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/text_sink.h"

namespace shardwright {

// Writes [hbm, ddr] in bytes, or [hbm, ddr, ssd] if `counts_ssd` or the SSD bytes are not 0.
inline void write_storage(const embedding::Storage& storage, bool counts_ssd, JsonWriter& json) {
  json.begin_array().value(storage.hbm.value()).value(storage.ddr.value());
  if (counts_ssd || storage.ssd != Bytes()) json.value(storage.ssd.value());
  json.end_array();
}

// Returns the shape of what write_storage() writes.
inline JsonShape storage_shape() {
  return json::list(json::integer())
      .from(2)
      .up_to(3)
      .says("[hbm, ddr] or [hbm, ddr, ssd] in bytes.");
}

void describe(JsonMembers& members, TablePlace& place);

// Writes the value of `migration` in a plan file. Cost: O(ranks of moved tables).
void write_migration(const embedding::Problem& problem, const Migration& migration,
                     JsonWriter& json);
JsonShape migration_shape();

// Writes the value of `stats` in a plan file and in a verification. Cost: O(ranks).
void write_stats(const embedding::Problem& problem, const PlanStats& stats, JsonWriter& json);
JsonShape stats_shape();

// The value of `format` in a plan file. The reader refuses other values.
inline constexpr std::string_view kPlanFormat = "shardwright.embedding.plan/1";

struct PlanJsonOptions {
  bool search_space = false;     // write `search_space`: the options of all tables
  bool stats = false;            // write `stats`
  bool trace = false;            // write `proposals` even if there is no trace
  double read_s = 0;             // time spent on reading the problem, in s
  ProblemOverrides overrides{};  // with which the problem was read
};

// Writes a plan file (runtime/io/README.md). Its `other_layouts` holds a plan file for every other
// layout of the machine. Writes the trace if there is one or `options.trace` is set. O(ranks
// written).
void write_plan(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                const PlanJsonOptions& options, const TextSink& sink);

// Errors: kInvalidInput; `where` is a JSON pointer.
Result<PlanDocument> read_plan(std::string_view text);

}  // namespace shardwright
