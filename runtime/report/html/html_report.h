// Writes answers as HTML pages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/embedding/explain.h"
#include "runtime/embedding/explanation_answer.h"
#include "runtime/embedding/problem_diff.h"
#include "runtime/embedding/sweep_points.h"
#include "runtime/io/text_sink.h"
#include "runtime/operators/plan_aten.h"
#include "runtime/operators/sweep_aten.h"
#include "runtime/report/embedding/plan_change.h"
#include "runtime/report/embedding/plan_report.h"

namespace shardwright {

// The JSON that a command wrote as its answer. Invariant: `page` can show `json`.
// Thread safety: a value.
struct SavedAnswer {
  // The page that shows the answer. kAny shows figures and lists; the others belong to commands.
  enum class Page : std::uint8_t { kAny, kSweep, kMeshSweep, kPlanDiff, kProblemDiff, kAudit };

  Page page = Page::kAny;
  std::string title;  // kind of answer, such as "plan"
  std::string file;   // name of the file
  std::string json;
};

// Writes a plan, with the costs of other options where these are known. `change` has the changes of
// a replan from the plan in use; it may be null.
void write_html_report(const PlanReport& report, const ExplainedTables& explained,
                       const PlanChange* change, const PageSink& sink);

// Writes why every table is sharded as it is, or why nothing fits and what helps. `answer` is
// explanation_answer() of `explanation`.
void write_html_report(const Explanation& explanation, const ExplanationAnswer& answer,
                       const PageSink& sink);

// Write the difference between two plans, and between two problems.
void write_html_report(const PlanChange& change, const PageSink& sink);
void write_html_report(const ProblemDiff& diff, const PageSink& sink);

// Writes a comparison of machines.
void write_html_report(const SweepAnswer& sweep, const PageSink& sink);

// Writes a plan for a graph of PyTorch operators, or why there is none. `moves`: from aten_moves().
void write_html_report(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                       const AtenPlanResult& result, std::span<const operators::AtenMove> moves,
                       const PageSink& sink);

// Writes a comparison of meshes.
void write_html_report(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                       const AtenSweep& sweep, const PageSink& sink);

// The page shows `text` if scripts are disabled.
void write_html_report(const SavedAnswer& saved, std::string_view text, const PageSink& sink);

}  // namespace shardwright
