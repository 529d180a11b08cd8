// The busiest ports of a transfer and their lower bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/program/transfer_tensors.h"

namespace shardwright {

// The busiest port of a kind. Times are ms with hosts, otherwise bytes.
struct ReportedPort {
  redistribution::TransferPort::Kind kind = redistribution::TransferPort::Kind::kSend;
  std::int64_t number = -1;  // of the rank or host; -1 if no port carries bytes
  std::int64_t bytes = 0;
  double time = 0;
  double bound = 0;  // the least time of the busiest port of this kind; 0 if nothing is proved
};

// Returns the busiest receiving and sending rank, with hosts also the busiest link out and in.
std::vector<ReportedPort> busiest_ports(const redistribution::TransferProblem& problem,
                                        const TransferAnswer& answer);

// "receiving rank"; with hosts, a rank sends within its host.
const char* name_of(redistribution::TransferPort::Kind kind, bool hosts);

// `full`: a row for every rank. `width` columns wide.
std::string transfer_text(const redistribution::TransferProblem& problem,
                          const TransferAnswer& answer, bool full, std::size_t width);

}  // namespace shardwright
