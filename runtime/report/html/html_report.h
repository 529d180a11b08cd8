// Reports for people, as one HTML file.
#pragma once

#include "runtime/io/text_sink.h"
#include "runtime/report/embedding/plan/plan_report.h"

namespace shardwright {

// A page that holds everything it needs and loads nothing: opens from disk, on a phone, in print.
// Its numbers are `write_plan_report`'s; names are shown as text, whatever they contain.
void write_html_report(const PlanReport& report, const TextSink& sink);

}  // namespace shardwright
