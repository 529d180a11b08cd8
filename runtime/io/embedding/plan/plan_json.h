// Plans in files: what `shardwright plan` answers, and reading it back.
#pragma once

#include <string_view>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/status.h"
#include "runtime/embedding/result/plan_result.h"
#include "runtime/io/text_sink.h"

namespace shardwright {

struct PlanJsonOptions {
  bool search_space = false;  // write the options, too
  bool stats = false;         // write `stats` of the plan
  bool trace = false;         // write `proposals` even where the search had none
  double read_s = 0;  // time it took to read the problem
};

// Writes the result in the form of the recorded answers (formats: `plan`); the trace where the
// result has one or `trace` is set. O(ranks written).
void write_plan(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                const PlanJsonOptions& options, const TextSink& sink);

// Errors: kInvalidInput with `where` = the JSON pointer.
Result<PlanDocument> read_plan(std::string_view text);

}  // namespace shardwright
