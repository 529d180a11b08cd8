// The bytes that a plan puts on ranks, hosts and ports, and lower bounds on these bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/redistribution/transfer/transfer_plan.h"

namespace shardwright::redistribution {

// Returns the bytes that ranks want, do not hold, and cannot receive without using one of `ports`.
// A rank that holds elements can send them within its host through its port kSend, and to another
// host through kHostOut and kHostIn of the two hosts; both ways use kReceive of the receiver.
// Within its host, a rank can also pass on, through kSend, what it wanted and received. O(groups *
// source boxes * target boxes * ranks of a target box).
std::int64_t passing_bytes(const TransferProblem& problem, const std::vector<TransferPort>& ports);

// The bytes of one rank. Thread safety: a value.
struct RankLoad {
  std::int64_t sent = 0;
  std::int64_t received = 0;
  std::int64_t kept = 0;
  std::int64_t sent_within_host = 0;  // part of `sent`; all of it without hosts
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

// The place of a rank in TransferProblem::ranks(). Precondition: it has the rank.
std::size_t place_of(const TransferProblem& problem, Rank rank);

// Preconditions: all ranks are the problem's, and `bytes` of every transfer are right.
PortLoads port_loads(const TransferProblem& problem, const TransferPlan& plan);

// The most bytes that a rank sends, or that it receives.
std::int64_t busiest_bytes(const PortLoads& loads);

// The bandwidth of a port of this kind in bytes per ms. Without hosts it is 1: times are bytes.
double bandwidth(const TransferProblem& problem, TransferPort::Kind kind);

// The load of the busiest port: ms with hosts, bytes without.
double busiest(const TransferProblem& problem, const PortLoads& loads);

// The time that a bound proves, in the unit of busiest(). For a plan, the largest over its bounds.
double proved(const TransferProblem& problem, const TransferBound& bound);
double proved(const TransferProblem& problem, const TransferPlan& plan);

}  // namespace shardwright::redistribution
