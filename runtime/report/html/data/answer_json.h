// Answers that a page shows as their commands write them.
#pragma once

#include <string_view>

#include "runtime/embedding/sweep/sweep.h"
#include "runtime/io/text_sink.h"
#include "runtime/operators/plan_aten.h"
#include "runtime/operators/sweep_aten.h"

namespace shardwright {

// The JSON of the answer in "answer", with what else the page needs beside it. The text has no "<".
// O(bytes).
void write_sweep_data(const embedding::ProblemSpec& problem, const Sweep& sweep,
                      const TextSink& sink);
void write_sweep_data(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                      const AtenSweep& sweep, const TextSink& sink);

// A saved answer, with what it is and the name of its file.
void write_saved_data(std::string_view title, std::string_view file, std::string_view answer,
                      const TextSink& sink);

}  // namespace shardwright
