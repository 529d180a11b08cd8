#include "runtime/report/program/transfer_report.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <tuple>
#include <utility>

#include "core/units.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

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

// Returns the largest lower bound that concerns only ports of this kind; 0 if there is none.
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

namespace {

using namespace redistribution;
using Align = TextTable::Align;

std::string bytes_text(double bytes) {
  return format_bytes(Bytes(static_cast<std::int64_t>(bytes)));
}

std::string time_text(const TransferProblem& problem, double time) {
  return problem.hosts() ? format_ms(time) + " ms" : bytes_text(time);
}

// Returns how far `value` is above `bound`, such as "0.42 %"; "-" without a bound.
std::string above_text(double value, double bound) {
  if (bound <= 0) return "-";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f %%", (value / bound - 1) * 100);
  return text.data();
}

std::string port_table(const TransferProblem& problem, const TransferAnswer& answer,
                       std::size_t width) {
  const bool hosts = problem.hosts().has_value();
  TextTable table({{"busiest", Align::kLeft},
                   {"number"},
                   {"bytes"},
                   {hosts ? "at least ms" : "at least"},
                   {hosts ? "ms" : "above it"}});
  for (const ReportedPort& port : busiest_ports(problem, answer)) {
    const std::string least =
        port.bound > 0 ? (hosts ? format_ms(port.bound) : bytes_text(port.bound)) : "-";
    table.add_row({name_of(port.kind, hosts), port.number < 0 ? "-" : std::to_string(port.number),
                   bytes_text(static_cast<double>(port.bytes)), least,
                   hosts ? format_ms(port.time) : above_text(port.time, port.bound)});
  }
  return table.render(width);
}

std::string rank_table(const TransferProblem& problem, const PortLoads& loads, std::size_t width) {
  TextTable table({{"rank"}, {"sends"}, {"receives"}, {"keeps"}});
  for (std::size_t i = 0; i < loads.ranks.size(); ++i) {
    const RankLoad& rank = loads.ranks[i];
    table.add_row({std::to_string(problem.ranks()[i]), bytes_text(static_cast<double>(rank.sent)),
                   bytes_text(static_cast<double>(rank.received)),
                   bytes_text(static_cast<double>(rank.kept))});
  }
  return table.render(width);
}

}  // namespace

std::string transfer_text(const TransferProblem& problem, const TransferAnswer& answer, bool full,
                          std::size_t width) {
  const auto size = [](std::int64_t bytes) { return bytes_text(static_cast<double>(bytes)); };
  std::string report = format_plural(problem.tensors().size(), "tensor") + " in " +
                       format_plural(problem.groups().size(), "group") + " of equal ones, " +
                       format_plural(problem.ranks().size(), "rank") + ": " +
                       size(answer.moved_bytes) + " move, " + size(answer.kept_bytes) +
                       " stay where they are\n\n" + port_table(problem, answer, width) + "\n";
  report += (problem.hosts() ? "estimated time " : "busiest rank ") +
            time_text(problem, answer.busiest) + ", proved at least " +
            time_text(problem, answer.bound) + " (" + above_text(answer.busiest, answer.bound) +
            " above)\n";
  report += problem.hosts()
                ? "(for all plans in which ranks pass on what they want within their host)\n"
                : "(for all plans in which ranks pass on what they want)\n";
  report += format_plural(static_cast<std::uint64_t>(answer.messages), "message") + " of at most " +
            size(answer.plan.message_bytes) + " in " +
            format_plural(static_cast<std::uint64_t>(answer.plan.rounds), "round") +
            " of at most " + size(answer.plan.memory_bytes) + " per rank and direction (at least " +
            format_plural(static_cast<std::uint64_t>(answer.least_rounds), "round") + ")\n";
  return full ? report + "\n" + rank_table(problem, answer.loads, width) : report;
}

}  // namespace shardwright
