#include "runtime/report/program/transfer_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "core/units.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
namespace {

using namespace redistribution;
using Align = TextTable::Align;
using Kind = TransferPort::Kind;

std::string bytes_text(double bytes) {
  return format_bytes(Bytes(static_cast<std::int64_t>(bytes)));
}

std::string time_text(const TransferProblem& problem, double time) {
  return problem.hosts() ? format_ms(time) + " ms" : bytes_text(time);
}

// "0.42 %"; "-" if nothing is proved.
std::string above_text(double value, double bound) {
  if (bound <= 0) return "-";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f %%", (value / bound - 1) * 100);
  return text.data();
}

// The busiest port of a kind.
struct Busiest {
  std::int64_t number = -1;
  std::int64_t bytes = 0;

  void take(std::int64_t other, std::int64_t load) {
    if (load > bytes) *this = {other, load};
  }
};

Busiest busiest_of(const TransferProblem& problem, const PortLoads& loads, Kind kind) {
  Busiest most;
  for (std::size_t i = 0; i < loads.ranks.size(); ++i) {
    const RankLoad& rank = loads.ranks[i];
    if (kind == Kind::kSend) most.take(problem.ranks()[i], rank.sent_within_host);
    if (kind == Kind::kReceive) most.take(problem.ranks()[i], rank.received);
  }
  for (const HostLoad& host : loads.hosts) {
    if (kind == Kind::kHostOut) most.take(host.host, host.out);
    if (kind == Kind::kHostIn) most.take(host.host, host.in);
  }
  return most;
}

// What is proved of the ports of this kind alone; 0 if nothing is.
double proved_of(const TransferProblem& problem, const TransferPlan& plan, Kind kind) {
  double best = 0;
  for (const TransferBound& bound : plan.bounds) {
    bool only = true;
    for (const TransferPort& port : bound.ports)
      only = only && port.kind == kind;
    if (only) best = std::max(best, proved(problem, bound));
  }
  return best;
}

std::string port_table(const TransferProblem& problem, const TransferAnswer& answer,
                       std::size_t width) {
  struct Row {
    Kind kind;
    const char* name;
  };
  const bool hosts = problem.hosts().has_value();
  std::vector<Row> rows{{Kind::kReceive, "receiving rank"},
                        {Kind::kSend, hosts ? "rank sending within its host" : "sending rank"}};
  if (hosts) {
    rows.push_back({Kind::kHostOut, "host sending to others"});
    rows.push_back({Kind::kHostIn, "host receiving from others"});
  }
  TextTable table({{"busiest", Align::kLeft},
                   {"number"},
                   {"bytes"},
                   {hosts ? "at least ms" : "at least"},
                   {hosts ? "ms" : "above it"}});
  for (const Row& row : rows) {
    const Busiest most = busiest_of(problem, answer.loads, row.kind);
    const double bound = proved_of(problem, answer.plan, row.kind);
    const double time = static_cast<double>(most.bytes) / bandwidth(problem, row.kind);
    const std::string least = bound > 0 ? (hosts ? format_ms(bound) : bytes_text(bound)) : "-";
    table.add_row({row.name, most.number < 0 ? "-" : std::to_string(most.number),
                   bytes_text(static_cast<double>(most.bytes)), least,
                   hosts ? format_ms(time) : above_text(time, bound)});
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
  report += format_plural(static_cast<std::uint64_t>(answer.messages), "message") +
            " of at most " + size(answer.plan.message_bytes) + " in " +
            format_plural(static_cast<std::uint64_t>(answer.plan.rounds), "round") +
            " of at most " + size(answer.plan.memory_bytes) +
            " per rank and direction (at least " +
            format_plural(static_cast<std::uint64_t>(answer.least_rounds), "round") + ")\n";
  return full ? report + "\n" + rank_table(problem, answer.loads, width) : report;
}

}  // namespace shardwright
