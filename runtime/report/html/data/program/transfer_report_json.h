// A transfer's report as the JSON of the HTML page.
#pragma once

#include "runtime/io/text_sink.h"
#include "runtime/report/program/transfer_report.h"

namespace shardwright {

// Lists stand for what comes in large numbers. A block is [first rank, last rank, ranks], a flow
// [sender, receiver, bytes] with places in the lists of blocks, a load [first rank, last rank,
// sent, received, kept], rounds are [first, last, bytes, most sent, most received]. The text has no
// "<". O(bytes).
void write_transfer_report(const redistribution::TransferProblem& problem,
                           const TransferAnswer& answer, const TransferReport& report,
                           const TextSink& sink);

}  // namespace shardwright
