// A redistribution's report as the JSON of the HTML page.
#pragma once

#include "runtime/io/text_sink.h"
#include "runtime/report/program/redistribution_report.h"

namespace shardwright {

// "dims" are the dimensions that a state cuts. A box of a state is [begin, end, ..., runs] with an
// interval for each of them; runs are [first rank, count, ...]. A step of a path is [kind, axes,
// text, bytes sent, us, state]. The text has no "<". O(bytes).
void write_redistribution_report(const RedistributionReport& report, const TextSink& sink);

}  // namespace shardwright
