// Reports on communication as the JSON of the HTML page.
#pragma once

#include <span>

#include "runtime/io/text_sink.h"
#include "runtime/program/communication_report.h"

namespace shardwright {

// "names" and "groups" are lists; a group has runs [first rank, count, ...]. A communication is
// [name of the operator, group, start in us, us, bytes from one rank to another one, name of the
// tensor, name of the reader] and, of a message that waits, when it is received; a rank [rank,
// bytes sent, received, us of communication, of local operators, us until it has finished].
// Communications are left out where a page would have too many. The text has no "<". O(bytes).
void write_communication_data(std::span<const CommunicationEntry> entries, bool of_tensors,
                              const TextSink& sink);

}  // namespace shardwright
