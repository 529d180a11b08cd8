#include "runtime/report/program/transfer_ports.h"

#include <algorithm>

namespace shardwright {
namespace {

using namespace redistribution;
using Port = TransferPort::Kind;

void take(ReportedPort& most, std::int64_t number, std::int64_t bytes) {
  if (bytes <= most.bytes) return;
  most.number = number;
  most.bytes = bytes;
}

ReportedPort busiest_of(const TransferProblem& problem, const PortLoads& loads, Port kind) {
  ReportedPort most;
  most.kind = kind;
  for (std::size_t i = 0; i < loads.ranks.size(); ++i) {
    const RankLoad& rank = loads.ranks[i];
    if (kind == Port::kSend) take(most, problem.ranks()[i], rank.sent_within_host);
    if (kind == Port::kReceive) take(most, problem.ranks()[i], rank.received);
  }
  for (const HostLoad& host : loads.hosts) {
    if (kind == Port::kHostOut) take(most, host.host, host.out);
    if (kind == Port::kHostIn) take(most, host.host, host.in);
  }
  most.time = static_cast<double>(most.bytes) / bandwidth(problem, kind);
  return most;
}

// What is proved of the ports of this kind alone; 0 if nothing is.
double proved_of(const TransferProblem& problem, const TransferPlan& plan, Port kind) {
  double best = 0;
  for (const TransferBound& bound : plan.bounds) {
    bool only = true;
    for (const TransferPort& port : bound.ports)
      only = only && port.kind == kind;
    if (only) best = std::max(best, proved(problem, bound));
  }
  return best;
}

}  // namespace

std::vector<ReportedPort> busiest_ports(const TransferProblem& problem,
                                        const TransferAnswer& answer) {
  std::vector<Port> kinds{Port::kReceive, Port::kSend};
  if (problem.hosts()) kinds.insert(kinds.end(), {Port::kHostOut, Port::kHostIn});
  std::vector<ReportedPort> ports;
  for (const Port kind : kinds) {
    ports.push_back(busiest_of(problem, answer.loads, kind));
    ports.back().bound = proved_of(problem, answer.plan, kind);
  }
  return ports;
}

const char* name_of(Port kind, bool hosts) {
  switch (kind) {
    case Port::kSend:
      return hosts ? "rank sending within its host" : "sending rank";
    case Port::kReceive:
      return "receiving rank";
    case Port::kHostOut:
      return "host sending to others";
    case Port::kHostIn:
      return "host receiving from others";
  }
  return "";
}

}  // namespace shardwright
