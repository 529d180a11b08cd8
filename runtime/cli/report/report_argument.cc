#include "runtime/cli/report/report_argument.h"

#include <utility>
#include <vector>

#ifdef SHARDWRIGHT_HTML_REPORT
#include "runtime/cli/options/arguments.h"
#include "runtime/io/file.h"
#include "runtime/report/embedding/plan/plan_report.h"
#include "runtime/report/html/html_report.h"
#endif

namespace shardwright::cli {

#ifdef SHARDWRIGHT_HTML_REPORT

namespace {

// Calls write(sink) for the file if there is one.
template <class Write>
Status write_page(const std::string& path, const Write& write) {
  if (path.empty()) return {};
  if (path == "-") {
    return invalid_input("--report", "needs the name of a file; standard output has the text");
  }
  Result<OutputFile> file = OutputFile::open(path);
  if (!file.ok()) return file.error();
  OutputFile output = std::move(file).value();
  write([&](std::string_view text) { output.write(text); });
  return output.commit();
}

}  // namespace

void add_report_argument(CLI::App& command, std::string& path) {
  command.add_option("--report", path, "Write a report as one HTML page to this file")
      ->type_name(kFile);
}

Status write_report(const std::string& path, const embedding::Problem& problem,
                    const EmbeddingPlanResult& result, double read_s) {
  return write_page(path, [&](const TextSink& sink) {
    write_html_report(make_plan_report(problem, result, read_s), sink);
  });
}

Status write_report(const std::string& path, const RedistributionCase& request,
                    const RedistributionOptions& options,
                    std::span<const PlannedRedistribution> paths) {
  return write_page(
      path, [&](const TextSink& sink) { write_html_report(request, options, paths, sink); });
}

Status write_report(const std::string& path, const redistribution::TransferProblem& problem,
                    const TransferAnswer& answer) {
  return write_page(path, [&](const TextSink& sink) { write_html_report(problem, answer, sink); });
}

Status write_report(const std::string& path, const operators::AtenGraph& graph,
                    const PlanAtenOptions& options, const AtenPlanResult& result) {
  std::vector<operators::AtenMove> moves;
  if (!path.empty() && result.plan) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(moves, aten_moves(graph, options, *result.plan));
  }
  return write_page(
      path, [&](const TextSink& sink) { write_html_report(graph, options, result, moves, sink); });
}

#else

void add_report_argument(CLI::App&, std::string&) {}

Status write_report(const std::string&, const embedding::Problem&, const EmbeddingPlanResult&,
                    double) {
  return {};
}
Status write_report(const std::string&, const RedistributionCase&, const RedistributionOptions&,
                    std::span<const PlannedRedistribution>) {
  return {};
}
Status write_report(const std::string&, const redistribution::TransferProblem&,
                    const TransferAnswer&) {
  return {};
}
Status write_report(const std::string&, const operators::AtenGraph&, const PlanAtenOptions&,
                    const AtenPlanResult&) {
  return {};
}

#endif

}  // namespace shardwright::cli
