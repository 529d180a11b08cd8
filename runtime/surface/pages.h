// The HTML pages of answers, if the library is built with them.
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

using Page = std::function<Status(const TextSink&)>;

// Returns true if the library is built with HTML pages. Otherwise every page is empty.
bool has_pages();

// Also explains every table: see explain_tables() for the cost. `old` is the plan that a replan
// began with, or null.
Page page_of(std::shared_ptr<const EmbeddingPlanResult> result, double read_s,
             std::shared_ptr<const PlanDocument> old);
// Two plans, before and after, or two problems.
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
// `text` is what readers see without scripts.
Page page_of(std::shared_ptr<const SavedAnswer> saved, std::function<std::string()> text);
// The figures of an answer, and its lists as tables.
Page page_of(std::string title, std::function<void(const TextSink&)> write_json,
             std::function<std::string()> text);

}  // namespace shardwright::commands
