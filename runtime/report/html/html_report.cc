#include "runtime/report/html/html_report.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/report/html/aten_plan_report_json.h"
#include "runtime/report/html/markup.h"
#include "runtime/report/html/page.h"
#include "runtime/report/html/plan_report_json.h"
#include "runtime/report/html/redistribution_report_json.h"
#include "runtime/report/html/transfer_report_json.h"
#include "runtime/report/operators/aten/aten_plan_text.h"
#include "runtime/report/program/redistribution_text.h"
#include "runtime/report/program/transfer_text.h"

namespace shardwright {
namespace {

constexpr std::size_t kTextWidth = 100;  // columns of the text for readers without scripts

void write_text(std::string_view text, const TextSink& sink) {
  sink("<pre>");
  sink(escaped_markup(text));
  sink("</pre>");
}

}  // namespace

void write_html_report(const PlanReport& report, const TextSink& sink) {
  const PageParts page = plan_page();
  sink(page.before_text);
  sink(page.before_data);
  write_plan_report(report, sink);
  sink(page.after_data);
}

void write_html_report(const RedistributionCase& request, const RedistributionOptions& options,
                       std::span<const PlannedRedistribution> paths, const TextSink& sink) {
  const PageParts page = redistribution_page();
  sink(page.before_text);
  write_text(paths.size() == 1 ? redistribution_text(request, paths.front(), kTextWidth)
                               : redistribution_front_text(request, paths, kTextWidth),
             sink);
  sink(page.before_data);
  write_redistribution_report(make_redistribution_report(request, options, paths), sink);
  sink(page.after_data);
}

void write_html_report(const redistribution::TransferProblem& problem, const TransferAnswer& answer,
                       const TextSink& sink) {
  const PageParts page = transfer_page();
  sink(page.before_text);
  write_text(transfer_text(problem, answer, false, kTextWidth), sink);
  sink(page.before_data);
  write_transfer_report(problem, answer, make_transfer_report(problem, answer), sink);
  sink(page.after_data);
}

void write_html_report(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                       const AtenPlanResult& result, std::span<const operators::AtenMove> moves,
                       const TextSink& sink) {
  const PageParts page = aten_plan_page();
  sink(page.before_text);
  write_text(aten_plan_report(graph, options, result, kTextWidth), sink);
  sink(page.before_data);
  write_aten_plan_report(graph, options, result,
                         make_aten_plan_report(graph, options, result, moves), sink);
  sink(page.after_data);
}

}  // namespace shardwright
