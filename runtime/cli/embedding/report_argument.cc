#include "runtime/cli/embedding/report_argument.h"

#include <utility>

#ifdef SHARDWRIGHT_HTML_REPORT
#include "runtime/cli/options/arguments.h"
#include "runtime/io/file.h"
#include "runtime/report/embedding/plan/plan_report.h"
#include "runtime/report/html/html_report.h"
#endif

namespace shardwright::cli {

#ifdef SHARDWRIGHT_HTML_REPORT

void add_report_argument(CLI::App& command, std::string& path) {
  command.add_option("--report", path, "Write a report as one HTML page to this file")
      ->type_name(kFile);
}

Status write_report(const std::string& path, const embedding::Problem& problem,
                    const EmbeddingPlanResult& result, double read_s) {
  if (path.empty()) return {};
  if (path == "-") {
    return invalid_input("--report", "needs the name of a file; standard output has the text");
  }
  Result<OutputFile> file = OutputFile::open(path);
  if (!file.ok()) return file.error();
  OutputFile output = std::move(file).value();
  write_html_report(make_plan_report(problem, result, read_s),
                    [&](std::string_view text) { output.write(text); });
  return output.commit();
}

#else

void add_report_argument(CLI::App&, std::string&) {}

Status write_report(const std::string&, const embedding::Problem&, const EmbeddingPlanResult&,
                    double) {
  return {};
}

#endif

}  // namespace shardwright::cli
