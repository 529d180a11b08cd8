// Reports as HTML files, each a page that loads nothing: it opens from disk, on a phone and in
// print. Names are shown as text, whatever they contain.
#pragma once

#include <span>
#include <string_view>

#include "runtime/embedding/explain/explain.h"
#include "runtime/embedding/identity/problem_diff.h"
#include "runtime/embedding/sweep/sweep.h"
#include "runtime/io/text_sink.h"
#include "runtime/operators/plan_aten.h"
#include "runtime/operators/sweep_aten.h"
#include "runtime/program/communication_report.h"
#include "runtime/program/transfer_tensors.h"
#include "runtime/redistribution/plan_redistribution.h"
#include "runtime/report/embedding/changes/plan_change.h"
#include "runtime/report/embedding/plan/plan_report.h"
#include "runtime/report/html/saved_answer.h"

namespace shardwright {

// A plan, with what its tables' other options would cost, as far as that is known. `change` may be
// null; after a replan it is what changes from the plan in use.
void write_html_report(const PlanReport& report, const ExplainedTables& explained,
                       const PlanChange* change, const TextSink& sink);

// Why every table is sharded as it is, or why nothing fits and what would help.
void write_html_report(const Explanation& explanation, const TextSink& sink);

// Two plans, or two problems, before and after.
void write_html_report(const PlanChange& change, const TextSink& sink);
void write_html_report(const ProblemDiff& diff, const TextSink& sink);

// Machines compared.
void write_html_report(const embedding::ProblemSpec& problem, const Sweep& sweep,
                       const TextSink& sink);

// Paths of a redistribution, the first one being the answer. Precondition: at least one.
void write_html_report(const RedistributionCase& request, const RedistributionOptions& options,
                       std::span<const PlannedRedistribution> paths, const TextSink& sink);

// A transfer.
void write_html_report(const redistribution::TransferProblem& problem, const TransferAnswer& answer,
                       const TextSink& sink);

// Programs, or with `of_tensors` single tensors that get another placement. `text` is what readers
// see without scripts. Precondition: at least one entry.
void write_html_report(std::span<const CommunicationEntry> entries, bool of_tensors,
                       std::string_view text, const TextSink& sink);

// A plan for a graph of PyTorch's operators, or why there is none. `moves`: those of the plan.
void write_html_report(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                       const AtenPlanResult& result, std::span<const operators::AtenMove> moves,
                       const TextSink& sink);

// Meshes compared.
void write_html_report(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                       const AtenSweep& sweep, const TextSink& sink);

// `text` is what readers see without scripts.
void write_html_report(const SavedAnswer& saved, std::string_view text, const TextSink& sink);

}  // namespace shardwright
