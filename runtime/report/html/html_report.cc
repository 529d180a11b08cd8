#include "runtime/report/html/html_report.h"

#include "runtime/report/html/page.h"
#include "runtime/report/html/plan_report_json.h"

namespace shardwright {

void write_html_report(const PlanReport& report, const TextSink& sink) {
  sink(page_before_data());
  write_plan_report(report, sink);
  sink(page_after_data());
}

}  // namespace shardwright
