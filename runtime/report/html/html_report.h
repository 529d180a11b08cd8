// An answer as a command wrote it.
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

// Thread safety: a value. Invariant: `json` is one of the answers that `page` shows.
struct SavedAnswer {
  // kAny shows figures and lists; the others are the pages of the commands.
  enum class Page : std::uint8_t { kAny, kSweep, kMeshSweep, kPlanDiff, kProblemDiff };

  Page page = Page::kAny;
  std::string title;  // the kind of answer: "plan"
  std::string file;   // name of its file
  std::string json;
};

// A plan, with the costs of its tables' other options where they are known. `change`: after a
// replan, the changes from the plan in use; may be null.
void write_html_report(const PlanReport& report, const ExplainedTables& explained,
                       const PlanChange* change, const TextSink& sink);

// Why every table is sharded as it is, or why nothing fits and what would help. `answer`: by
// explanation_answer().
void write_html_report(const Explanation& explanation, const ExplanationAnswer& answer,
                       const TextSink& sink);

// Two plans, or two problems, before and after.
void write_html_report(const PlanChange& change, const TextSink& sink);
void write_html_report(const ProblemDiff& diff, const TextSink& sink);

// Machines compared.
void write_html_report(const SweepAnswer& sweep, const TextSink& sink);

// A plan for a graph of PyTorch's operators, or why there is none. `moves`: by aten_moves().
void write_html_report(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                       const AtenPlanResult& result, std::span<const operators::AtenMove> moves,
                       const TextSink& sink);

// Meshes compared.
void write_html_report(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                       const AtenSweep& sweep, const TextSink& sink);

// `text` is what readers see without scripts.
void write_html_report(const SavedAnswer& saved, std::string_view text, const TextSink& sink);

}  // namespace shardwright
