#include "runtime/surface/pages.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#ifdef SHARDWRIGHT_HTML_REPORT
#include "runtime/execution/planning_executor.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/report/embedding/plan_change.h"
#include "runtime/report/embedding/plan_report.h"
#include "runtime/report/html/html_report.h"
#endif

namespace shardwright::commands {

#ifdef SHARDWRIGHT_HTML_REPORT

bool has_pages() { return true; }

namespace {

ExplainedTables explained(const EmbeddingPlanResult& result) {
  if (!result.plan || !result.search_space || !result.reservation) return {};
  PlanningExecutor executor(result.threads);
  return explain_tables(*result.problem, result, std::nullopt, executor);
}

// Compares the plan in use with the result's plan, in the form in which a file has it.
Result<PlanChange> change_from(const PlanDocument& old, const EmbeddingPlanResult& result) {
  std::string text;
  write_plan(*result.problem, result, {}, [&](std::string_view piece) { text += piece; });
  SHARDWRIGHT_ASSIGN_OR_RETURN(const PlanDocument document, read_plan(text));
  return make_plan_change(old, document, result.problem->topology().local_world_size());
}

}  // namespace

Page page_of(std::shared_ptr<const EmbeddingPlanResult> result, double read_s,
             std::shared_ptr<const PlanDocument> old) {
  return
      [result = std::move(result), read_s, old = std::move(old)](const PageSink& sink) -> Status {
        std::optional<PlanChange> change;
        if (old != nullptr && result->plan) {
          SHARDWRIGHT_ASSIGN_OR_RETURN(change, change_from(*old, *result));
        }
        write_html_report(make_plan_report(*result->problem, *result, read_s), explained(*result),
                          change ? &*change : nullptr, sink);
        return {};
      };
}

Page page_of(std::shared_ptr<const PlanDocument> from, std::shared_ptr<const PlanDocument> to) {
  return [from = std::move(from), to = std::move(to)](const PageSink& sink) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const PlanChange change,
                                 make_plan_change(*from, *to, std::nullopt));
    write_html_report(change, sink);
    return {};
  };
}

Page page_of(std::shared_ptr<const ProblemDiff> diff) {
  return [diff = std::move(diff)](const PageSink& sink) {
    write_html_report(*diff, sink);
    return Status();
  };
}

Page page_of(std::shared_ptr<const Explanation> explanation,
             std::shared_ptr<const ExplanationAnswer> answer) {
  return [explanation = std::move(explanation), answer = std::move(answer)](const PageSink& sink) {
    write_html_report(*explanation, *answer, sink);
    return Status();
  };
}

Page page_of(std::shared_ptr<const SweepAnswer> sweep) {
  return [sweep = std::move(sweep)](const PageSink& sink) {
    write_html_report(*sweep, sink);
    return Status();
  };
}

Page page_of(std::shared_ptr<const operators::AtenGraph> graph,
             std::shared_ptr<const PlanAtenOptions> options,
             std::shared_ptr<const AtenPlanResult> result) {
  return [graph = std::move(graph), options = std::move(options),
          result = std::move(result)](const PageSink& sink) -> Status {
    std::vector<operators::AtenMove> moves;
    if (result->plan) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(moves, aten_moves(*graph, *options, *result->plan));
    }
    write_html_report(*graph, *options, *result, moves, sink);
    return {};
  };
}

Page page_of(std::shared_ptr<const operators::AtenGraph> graph,
             std::shared_ptr<const PlanAtenOptions> options,
             std::shared_ptr<const AtenSweep> sweep) {
  return [graph = std::move(graph), options = std::move(options),
          sweep = std::move(sweep)](const PageSink& sink) {
    write_html_report(*graph, *options, *sweep, sink);
    return Status();
  };
}

Page page_of(std::shared_ptr<const SavedAnswer> saved, std::function<std::string()> text) {
  return [saved = std::move(saved), text = std::move(text)](const PageSink& sink) {
    write_html_report(*saved, text(), sink);
    return Status();
  };
}

Page page_of_audit(std::string file, std::function<void(const TextSink&)> write_json,
                   std::function<std::string()> text) {
  return [file = std::move(file), write_json = std::move(write_json),
          text = std::move(text)](const PageSink& sink) {
    SavedAnswer answer{SavedAnswer::Page::kAudit, "audit", file, ""};
    write_json([&](std::string_view piece) { answer.json += piece; });
    write_html_report(answer, text(), sink);
    return Status();
  };
}

Page page_of(std::string title, std::function<void(const TextSink&)> write_json,
             std::function<std::string()> text) {
  return [title = std::move(title), write_json = std::move(write_json),
          text = std::move(text)](const PageSink& sink) {
    SavedAnswer answer;
    answer.title = title;
    write_json([&](std::string_view piece) { answer.json += piece; });
    write_html_report(answer, text(), sink);
    return Status();
  };
}

#else

bool has_pages() { return false; }

Page page_of(std::shared_ptr<const EmbeddingPlanResult>, double,
             std::shared_ptr<const PlanDocument>) {
  return {};
}
Page page_of(std::shared_ptr<const PlanDocument>, std::shared_ptr<const PlanDocument>) {
  return {};
}
Page page_of(std::shared_ptr<const ProblemDiff>) { return {}; }
Page page_of(std::shared_ptr<const Explanation>, std::shared_ptr<const ExplanationAnswer>) {
  return {};
}
Page page_of(std::shared_ptr<const SweepAnswer>) { return {}; }
Page page_of(std::shared_ptr<const operators::AtenGraph>, std::shared_ptr<const PlanAtenOptions>,
             std::shared_ptr<const AtenPlanResult>) {
  return {};
}
Page page_of(std::shared_ptr<const operators::AtenGraph>, std::shared_ptr<const PlanAtenOptions>,
             std::shared_ptr<const AtenSweep>) {
  return {};
}
Page page_of(std::shared_ptr<const SavedAnswer>, std::function<std::string()>) { return {}; }
Page page_of(std::string, std::function<void(const TextSink&)>, std::function<std::string()>) {
  return {};
}

Page page_of_audit(std::string, std::function<void(const TextSink&)>,
                   std::function<std::string()>) {
  return {};
}

#endif

}  // namespace shardwright::commands
