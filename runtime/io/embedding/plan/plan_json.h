// Reads and writes plan files, the output of `shardwright plan`.
#pragma once

#include <string_view>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/status.h"
#include "runtime/embedding/result/plan_result.h"
#include "runtime/io/text_sink.h"

namespace shardwright {

// The value of `format` in a plan file. A reader refuses any other.
inline constexpr std::string_view kPlanFormat = "shardwright.embedding.plan/1";

struct PlanJsonOptions {
  bool search_space = false;  // write `search_space`, the options of all tables
  bool stats = false;         // write `stats`
  bool trace = false;         // write `proposals` even if the search recorded none
  double read_s = 0;  // seconds spent on reading the problem
};

// Writes a plan file (see runtime/io/README.md). `other_layouts` holds a plan file for every
// other layout of the machine. Writes the trace if the result has one or
// `options.trace` is set. O(ranks written).
void write_plan(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                const PlanJsonOptions& options, const TextSink& sink);

// Errors: kInvalidInput; `where` is a JSON pointer.
Result<PlanDocument> read_plan(std::string_view text);

}  // namespace shardwright
