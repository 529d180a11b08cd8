// The report of a plan as one HTML file.
#pragma once

#include "runtime/io/text_sink.h"
#include "runtime/report/embedding/plan/plan_report.h"

namespace shardwright {

// Writes a page that loads nothing: it opens from disk, on a phone and in print.
// Its numbers are those of `write_plan_report`. Names are shown as text, whatever they contain.
void write_html_report(const PlanReport& report, const TextSink& sink);

}  // namespace shardwright
