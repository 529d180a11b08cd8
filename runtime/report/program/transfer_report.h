// The busiest ports of a transfer and their lower bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/program/transfer_tensors.h"

namespace shardwright {

// The busiest port of one kind. Times are in ms if the problem has hosts, otherwise in bytes.
struct ReportedPort {
  redistribution::TransferPort::Kind kind = redistribution::TransferPort::Kind::kSend;
  std::int64_t number = -1;  // rank or host; -1 if no port of this kind carries bytes
  std::int64_t bytes = 0;
  double time = 0;
  double bound = 0;  // lower bound on `time` of any plan; 0 if unknown
};

// Returns the busiest receiving and the busiest sending rank; with hosts, also the busiest links
// out of and into a host.
std::vector<ReportedPort> busiest_ports(const redistribution::TransferProblem& problem,
                                        const TransferAnswer& answer);

// Returns a name such as "receiving rank". With hosts, a rank sends within its host.
const char* name_of(redistribution::TransferPort::Kind kind, bool hosts);

// Reports a transfer. With `full`, every rank has a row.
std::string transfer_text(const redistribution::TransferProblem& problem,
                          const TransferAnswer& answer, bool full, std::size_t width);

}  // namespace shardwright
