#include "search/redistribution/transfer/balance.h"

#include <algorithm>
#include <cstdint>
#include <stop_token>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/random.h"

namespace shardwright::balance_test {

using namespace shardwright;
using namespace shardwright::redistribution;

namespace {

BipartiteGraph graph_of(const std::vector<std::int64_t>& demands,
                        const std::vector<std::vector<std::uint32_t>>& ports,
                        std::size_t num_ports) {
  BipartiteGraph graph;
  graph.demands = demands;
  graph.num_ports = num_ports;
  graph.first_arc.push_back(0);
  for (const std::vector<std::uint32_t>& list : ports) {
    graph.arc_port.insert(graph.arc_port.end(), list.begin(), list.end());
    graph.first_arc.push_back(graph.arc_port.size());
  }
  return graph;
}

std::vector<std::int64_t> loads_of(const BipartiteGraph& graph,
                                   const std::vector<std::int64_t>& amount) {
  std::vector<std::int64_t> loads(graph.num_ports, 0);
  for (std::size_t d = 0; d < graph.demands.size(); ++d) {
    std::int64_t sum = 0;
    for (std::size_t arc = graph.first_arc[d]; arc < graph.first_arc[d + 1]; ++arc) {
      CHECK(amount[arc] >= 0);
      sum += amount[arc];
      loads[graph.arc_port[arc]] += amount[arc];
    }
    CHECK(sum == graph.demands[d]);
  }
  return loads;
}

Balance balanced(const BipartiteGraph& graph, const std::vector<double>& weights) {
  std::uint64_t work = 0;
  auto result = balance(graph, weights, Budget(), work);
  REQUIRE(result.has_value());
  return std::move(*result);
}

}  // namespace

TEST_CASE("balance: ports without choice keep their load, the others share the rest evenly") {
  const BipartiteGraph graph = graph_of({90, 30, 60}, {{0}, {0, 1, 2}, {1, 2, 3}}, 4);
  const Balance result = balanced(graph, {1, 1, 1, 1});
  CHECK(loads_of(graph, result.amount) == std::vector<std::int64_t>{90, 30, 30, 30});
  CHECK(result.busiest_ports == std::vector<std::uint32_t>{0});
  CHECK(result.level == 90);
}

TEST_CASE("balance: loads are proportional to weights") {
  const BipartiteGraph graph = graph_of({100}, {{0, 1}}, 2);
  const Balance result = balanced(graph, {3, 1});
  const std::vector<std::int64_t> loads = loads_of(graph, result.amount);
  CHECK(loads == std::vector<std::int64_t>{75, 25});
  CHECK(result.level == 25);
  CHECK(result.busiest_ports == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("balance: nothing to spread, ports that nobody uses, and an interruption") {
  std::uint64_t work = 0;
  CHECK(balanced(graph_of({}, {}, 0), {}).busiest_ports.empty());
  CHECK(balanced(graph_of({0}, {{}}, 3), {1, 1, 1}).busiest_ports.empty());
  const Balance result = balanced(graph_of({8}, {{1}}, 3), {1, 1, 1});
  CHECK(result.busiest_ports == std::vector<std::uint32_t>{1});
  std::stop_source stop;
  stop.request_stop();
  const Budget budget({}, {}, stop.get_token());
  CHECK_FALSE(balance(graph_of({8}, {{1}}, 3), {1, 1, 1}, budget, work).has_value());
}

TEST_CASE("balance: the highest level is the best bound of any set of ports") {
  for (const std::uint64_t seed : test_support::seeds({1, 2, 3})) {
    CAPTURE(seed);
    test_support::Random random(seed);
    for (int round = 0; round < 300; ++round) {
      const std::size_t num_ports = 1 + random.below(7);
      std::vector<std::int64_t> demands;
      std::vector<std::vector<std::uint32_t>> ports;
      for (std::size_t n = 1 + random.below(8); n > 0; --n) {
        demands.push_back(static_cast<std::int64_t>(random.below(1000)));
        std::vector<std::uint32_t>& list = ports.emplace_back();
        for (std::uint32_t port = 0; port < num_ports; ++port) {
          if (random.below(2) == 0) list.push_back(port);
        }
        if (list.empty()) list.push_back(0);
      }
      std::vector<double> weights;
      for (std::size_t port = 0; port < num_ports; ++port)
        weights.push_back(static_cast<double>(1 + random.below(4)));
      const BipartiteGraph graph = graph_of(demands, ports, num_ports);
      double best = 0;
      for (std::uint32_t set = 1; set < 1U << num_ports; ++set) {
        double bytes = 0;
        double weight = 0;
        for (std::size_t d = 0; d < demands.size(); ++d) {
          const bool inside = std::all_of(ports[d].begin(), ports[d].end(),
                                          [&](std::uint32_t port) { return set >> port & 1U; });
          if (inside) bytes += static_cast<double>(demands[d]);
        }
        for (std::uint32_t port = 0; port < num_ports; ++port)
          weight += set >> port & 1U ? weights[port] : 0;
        best = std::max(best, bytes / weight);
      }
      const Balance result = balanced(graph, weights);
      // Loads are whole bytes, so the level may be up to one byte less.
      CHECK(result.level <= best * (1 + 1e-12));
      CHECK(result.level > best - 1);
      const std::vector<std::int64_t> loads = loads_of(graph, result.amount);
      for (std::size_t port = 0; port < num_ports; ++port)
        CHECK(static_cast<double>(loads[port]) <= best * weights[port] + 1);
    }
  }
}

}  // namespace shardwright::balance_test
