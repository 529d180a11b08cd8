// The bytes that a plan sends through ranks, hosts and ports, and lower bounds on these bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/redistribution/transfer/transfer_plan.h"

namespace shardwright::redistribution {

// Returns the bytes that ranks want, do not hold, and cannot receive without using one of `ports`.
// Within its host, a rank sends elements through its port kSend. To another host, it sends through
// kHostOut and kHostIn of the two hosts. Both ways use kReceive of the receiver. Within its host, a
// rank can also pass on, through kSend, elements that it wanted and received. O(groups * source
// boxes * target boxes * ranks of a target box).
std::int64_t passing_bytes(const TransferProblem& problem, const std::vector<TransferPort>& ports);

// The bytes of one rank. Thread safety: a value.
struct RankLoad {
  std::int64_t sent = 0;
  std::int64_t received = 0;
  std::int64_t kept = 0;
  std::int64_t sent_within_host = 0;  // part of `sent`; equal to `sent` without hosts
};

// The bytes of one host. Thread safety: a value.
struct HostLoad {
  std::int64_t host = 0;
  std::int64_t out = 0;
  std::int64_t in = 0;
};

// Thread safety: a value.
struct PortLoads {
  std::vector<RankLoad> ranks;  // in the order of TransferProblem::ranks()
  std::vector<HostLoad> hosts;  // ascending; empty without hosts
};

// Returns the index of a rank in TransferProblem::ranks(). Precondition: `rank` is in this list.
std::size_t place_of(const TransferProblem& problem, Rank rank);

// Preconditions: all ranks are ranks of the problem, and `bytes` of every transfer are right.
PortLoads port_loads(const TransferProblem& problem, const TransferPlan& plan);

// Returns the largest number of bytes that a rank sends, or that a rank receives.
std::int64_t busiest_bytes(const PortLoads& loads);

// Returns the bandwidth of a port of this kind in bytes per ms, or 1 without hosts.
double bandwidth(const TransferProblem& problem, TransferPort::Kind kind);

// Returns the load of the busiest port: ms with hosts, bytes without hosts.
double busiest(const TransferProblem& problem, const PortLoads& loads);

// Returns the time that a bound proves, in the unit of busiest(). For a plan, the largest one.
double proved(const TransferProblem& problem, const TransferBound& bound);
double proved(const TransferProblem& problem, const TransferPlan& plan);

}  // namespace shardwright::redistribution
