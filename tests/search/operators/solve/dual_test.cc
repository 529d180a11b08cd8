// The dual ascent and its parts (lines, steps, prices), compared with enumeration.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/operators/solve/message_passing.h"
#include "search/operators/solve/price_bundle.h"
#include "tests/support/random.h"

namespace shardwright::dual_test {

using namespace shardwright;
using namespace shardwright::operators;
using shardwright::test_support::Random;
using shardwright::test_support::seeds;

namespace {

constexpr double kRelative = 1e-9;  // sums of a few dozen numbers may have another order

double number(Random& random, std::size_t most) { return static_cast<double>(random.below(most)); }

// Nodes in a row, with edges between neighbours and `more` other edges. All nodes hold bytes at the
// only time point, but none with strategy 0.
CostInstance row_of_nodes(Random& random, std::size_t nodes, std::size_t more) {
  CostInstanceSpec spec;
  std::int64_t most = 0;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    CostInstanceSpec::Usage usage{n, {0, 1}, {}};
    CostInstanceSpec::Node node;
    for (int s = 0; s < 3; ++s) {
      node.costs.push_back(number(random, 100));
      usage.bytes.push_back(s == 0 ? 0 : static_cast<std::int64_t>(random.below(50)));
    }
    most += *std::max_element(usage.bytes.begin(), usage.bytes.end());
    spec.nodes.push_back(std::move(node));
    spec.usages.push_back(std::move(usage));
  }
  for (std::size_t e = 0; e + 1 < nodes + more; ++e) {
    const bool in_row = e + 1 < nodes;
    const auto first = static_cast<std::uint32_t>(in_row ? e : random.below(nodes - 1));
    CostInstanceSpec::Matrix matrix{3, 3, {}};
    for (int i = 0; i < 9; ++i)
      matrix.entries.push_back(number(random, 100));
    const auto second = static_cast<std::uint32_t>(in_row ? e + 1 : nodes - 1);
    spec.edges.push_back({first, second, static_cast<std::uint32_t>(spec.matrices.size())});
    spec.matrices.push_back(std::move(matrix));
  }
  spec.limits = {most / 2};
  auto instance = CostInstance::make(std::move(spec));
  REQUIRE(static_cast<bool>(instance));
  return *std::move(instance);
}

// Returns the cost of `choice` if every byte above the limit at the only time point costs `price`.
double priced_cost(const CostInstance& instance, const std::vector<std::uint32_t>& choice,
                   double price) {
  const std::int64_t excess = held_bytes(instance, choice)[0] - instance.limits()[0];
  return evaluate(instance, choice).total() + price * static_cast<double>(excess);
}

// Calls `visit` with every choice.
template <class Visit>
void for_choices(const CostInstance& instance, const Visit& visit) {
  std::vector<std::uint32_t> choice(instance.num_nodes(), 0);
  for (;;) {
    visit(choice);
    std::size_t n = 0;
    while (n < choice.size() && ++choice[n] == instance.num_strategies(n))
      choice[n++] = 0;
    if (n == choice.size()) return;
  }
}

// Returns the largest lower bound that a single price gives. Every choice is a line over the price,
// and the bound is the least of all lines.
double best_priced_bound(const CostInstance& instance) {
  std::vector<std::pair<double, double>> lines;  // cost at price 0, and bytes above the limit
  for_choices(instance, [&](const std::vector<std::uint32_t>& choice) {
    const double cost = priced_cost(instance, choice, 0);
    lines.emplace_back(cost, priced_cost(instance, choice, 1) - cost);
  });
  const auto bound_at = [&](double price) {
    double least = kForbidden;
    for (const auto& [cost, excess] : lines)
      least = std::min(least, cost + price * excess);
    return least;
  };
  // The bound is concave in the price, so a ternary search finds its maximum.
  double low = 0;
  double high = 1000;  // a byte saves at most the costs of two nodes and their edges
  for (int i = 0; i < 200; ++i) {
    const double third = (high - low) / 3;
    if (bound_at(low + third) < bound_at(high - third)) {
      low += third;
    } else {
      high -= third;
    }
  }
  return bound_at((low + high) / 2);
}

}  // namespace

TEST_CASE("chain line: the cheapest chains cost what the pass says, and no chains cost less") {
  for (const std::uint64_t seed : seeds({31})) {
    Random random(seed);
    for (int i = 0; i < 50; ++i) {
      const CostInstance instance = row_of_nodes(random, 6, 4);
      MessagePassing messages(instance, std::vector<double>{number(random, 5)});
      double bound = 0;
      for (int sweep = 0; sweep < 3; ++sweep) {
        messages.pass(true);
        bound = messages.pass(false);
        const ChainChoice cheapest = cheapest_chains(messages);
        CHECK(chain_bound(messages, cheapest) == doctest::Approx(bound).epsilon(kRelative));
        ChainChoice other = cheapest;
        for (std::uint32_t& strategy : other)
          strategy = static_cast<std::uint32_t>(random.below(3));
        CHECK(chain_bound(messages, other) >= bound - kRelative * std::abs(bound));
      }
    }
  }
}

TEST_CASE("chain line: chains that agree cost what their choice costs, whatever the messages") {
  Random random(32);
  for (int i = 0; i < 50; ++i) {
    const CostInstance instance = row_of_nodes(random, 6, 4);
    const double price = number(random, 5);
    MessagePassing messages(instance, std::vector<double>{price});
    messages.pass(true);
    messages.pass(false);
    std::vector<std::uint32_t> choice(instance.num_nodes());
    ChainChoice chains(messages.first_chain(static_cast<std::uint32_t>(instance.num_nodes())));
    for (std::uint32_t node = 0; node < choice.size(); ++node) {
      choice[node] = static_cast<std::uint32_t>(random.below(3));
      for (std::size_t c = messages.first_chain(node); c < messages.first_chain(node + 1); ++c)
        chains[c] = choice[node];
    }
    CHECK(chain_bound(messages, chains) ==
          doctest::Approx(priced_cost(instance, choice, price)).epsilon(kRelative));
    const double excess =
        static_cast<double>(held_bytes(instance, choice)[0] - instance.limits()[0]);
    CHECK(chain_excess(messages, chains)[0] == doctest::Approx(excess).epsilon(kRelative));
  }
}

TEST_CASE("proximal step: no prices near by are better") {
  for (const std::uint64_t seed : seeds({33})) {
    Random random(seed);
    for (int i = 0; i < 100; ++i) {
      ProximalModel model{{number(random, 3), number(random, 3)}, {}, {}, 0.01};
      for (int line = 0; line < 5; ++line) {
        model.values.push_back(number(random, 100));
        model.slopes.push_back({number(random, 41) - 20, number(random, 41) - 20});
      }
      const auto value = [&](double first, double second) {
        const double a = first - model.center[0];
        const double b = second - model.center[1];
        double least = kForbidden;
        for (std::size_t line = 0; line < 5; ++line) {
          least = std::min(
              least, model.values[line] + model.slopes[line][0] * a + model.slopes[line][1] * b);
        }
        return least - (a * a + b * b) / (2 * model.step);
      };
      const ProximalStep step = proximal_step(model, std::vector<double>(5, 1), 1000);
      const double found = value(step.prices[0], step.prices[1]);
      // A step ends when the lines of the mean differ by a thousandth of the gain.
      const double tolerance = 2e-3 * step.gain + 1e-9;
      for (double first = 0; first < 5; first += 0.05) {
        for (double second = 0; second < 5; second += 0.05)
          CHECK(found >= value(first, second) - tolerance);
      }
    }
  }
}

TEST_CASE("price bundle: finds the highest point under many lines") {
  for (const std::uint64_t seed : seeds({34})) {
    Random random(seed);
    for (int i = 0; i < 50; ++i) {
      // The lines are tangents of a parabola whose highest point is at `top`.
      const double top = 1 + number(random, 20);
      const auto bound_at = [&](double price) { return 1000 - (price - top) * (price - top); };
      const auto slope_at = [&](double price) { return -2 * (price - top); };
      PriceBundle bundle({0.0});
      std::vector<double> made_at;
      for (int round = 0; round < 60; ++round) {
        const double price = bundle.prices()[0];
        const std::size_t line = bundle.add(bound_at(price), {slope_at(price)});
        made_at.resize(std::max(made_at.size(), line + 1));
        made_at[line] = price;
        std::vector<double> values;
        for (const double at : made_at)
          values.push_back(bound_at(at) + slope_at(at) * (price - at));
        bundle.move(values, 1100);
      }
      CHECK(bundle.best_bound() >= 1000 - 0.01);  // the first bound is at least 1 below the highest
      CHECK(bundle.best_bound() == doctest::Approx(bound_at(bundle.best_prices()[0])));
    }
  }
}

TEST_CASE("dual ascent: finds the best price where messages are exact") {
  for (const std::uint64_t seed : seeds({35})) {
    Random random(seed);
    for (int i = 0; i < 30; ++i) {
      const CostInstance instance = row_of_nodes(random, 6, 0);
      const double best = best_priced_bound(instance);
      DualAscent dual(instance);
      Budget budget;
      for (int round = 0; round < 150; ++round)
        dual.round(2, best, budget);
      CHECK(dual.bound() <= best * (1 + kRelative));
      CHECK(dual.bound() >= best * (1 - 1e-3));  // rounds end before the last digits are found
    }
  }
}

TEST_CASE("dual ascent: parts of rounds have the bounds, prices and choices of whole rounds") {
  Random random(37);
  for (int i = 0; i < 10; ++i) {
    const CostInstance instance = row_of_nodes(random, 12, 6);
    DualAscent whole(instance);
    DualAscent parts(instance);
    for (int round = 0; round < 20; ++round) {
      Budget budget;
      whole.round(2, 1000, budget);
      do {
        parts.step(2, 1000, 1 + random.below(60));
      } while (!parts.is_between_rounds());
      CHECK(parts.bound() == whole.bound());
      CHECK(parts.prices() == whole.prices());
      CHECK(parts.choice() == whole.choice());
    }
  }
}

TEST_CASE("dual ascent: a round that has begun in parts is ended as a whole") {
  Random random(38);
  const CostInstance instance = row_of_nodes(random, 12, 6);
  DualAscent whole(instance);
  DualAscent begun(instance);
  Budget budget;
  whole.round(2, 1000, budget);
  begun.step(2, 1000, 1);
  REQUIRE_FALSE(begun.is_between_rounds());
  begun.round(2, 1000, budget);
  CHECK(begun.bound() == whole.bound());
  CHECK(begun.prices() == whole.prices());
  CHECK(begun.choice() == whole.choice());
}

TEST_CASE("dual ascent: the best choice is that of the round with the best bound") {
  Random random(39);
  const CostInstance instance = row_of_nodes(random, 12, 6);
  DualAscent dual(instance);
  Budget budget;
  int spoilt = 0;
  double best = 0;
  std::vector<std::uint32_t> expected;
  for (int round = 0; round < 60; ++round) {
    dual.round(2, 1000, budget);
    if (dual.bound() > best) {
      best = dual.bound();
      expected = dual.choice();
    }
    spoilt += dual.choice() != expected ? 1 : 0;
    CHECK(dual.best_choice() == expected);
  }
  CHECK(spoilt > 0);
}

TEST_CASE("dual ascent: claims nothing if it is stopped before the first round") {
  Random random(36);
  const CostInstance instance = row_of_nodes(random, 6, 4);
  std::stop_source stop;
  stop.request_stop();
  Budget budget(std::nullopt, std::nullopt, stop.get_token());
  DualAscent dual(instance);
  dual.round(2, 1000, budget);
  CHECK(dual.bound() == 0);
  CHECK(dual.bound_with(0, 1) == -kForbidden);
}

}  // namespace shardwright::dual_test
