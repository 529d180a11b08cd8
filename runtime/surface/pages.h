// The HTML pages of answers. A page is empty if the library is built without pages.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/status.h"
#include "runtime/embedding/explain.h"
#include "runtime/embedding/explanation_answer.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/problem_diff.h"
#include "runtime/embedding/sweep_points.h"
#include "runtime/io/text_sink.h"
#include "runtime/operators/plan_aten.h"
#include "runtime/operators/sweep_aten.h"
#include "runtime/report/html/html_report.h"

namespace shardwright::commands {

using Page = std::function<Status(const PageSink&)>;

// Returns true if the library is built with HTML pages.
bool has_pages();

// The page also explains every table; see explain_tables() for the cost. `old` is the plan from
// which a replan started, or null.
Page page_of(std::shared_ptr<const EmbeddingPlanResult> result, double read_s,
             std::shared_ptr<const PlanDocument> old);
// Pages of two plans (before and after), and of two problems.
Page page_of(std::shared_ptr<const PlanDocument> from, std::shared_ptr<const PlanDocument> to);
Page page_of(std::shared_ptr<const ProblemDiff> diff);
Page page_of(std::shared_ptr<const Explanation> explanation,
             std::shared_ptr<const ExplanationAnswer> answer);
Page page_of(std::shared_ptr<const SweepAnswer> sweep);
Page page_of(std::shared_ptr<const operators::AtenGraph> graph,
             std::shared_ptr<const PlanAtenOptions> options,
             std::shared_ptr<const AtenPlanResult> result);
Page page_of(std::shared_ptr<const operators::AtenGraph> graph,
             std::shared_ptr<const PlanAtenOptions> options,
             std::shared_ptr<const AtenSweep> sweep);
// The page shows `text` if scripts are disabled.
Page page_of(std::shared_ptr<const SavedAnswer> saved, std::function<std::string()> text);
// The page of an audit; `write_json` writes an AuditAnswer.
Page page_of_audit(std::string file, std::function<void(const TextSink&)> write_json,
                   std::function<std::string()> text);
// A page of any JSON: single values as figures, lists as tables.
Page page_of(std::string title, std::function<void(const TextSink&)> write_json,
             std::function<std::string()> text);

}  // namespace shardwright::commands
