#include "tests/support/operators/random_cost_instance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random.h"

namespace shardwright::test_support {
namespace {

using operators::CostInstanceSpec;
using operators::kForbidden;

std::uint64_t between(Random& random, std::uint64_t low, std::uint64_t high) {
  return low + random.next() % (high - low + 1);
}

bool chance(Random& random, double share) {
  return static_cast<double>(random.next() >> 11) < share * 9007199254740992.0;  // 2^53
}

// Thread safety: one thread at a time.
class Generator {
 public:
  Generator(std::uint64_t seed, const RandomCostInstanceStyle& style)
      : random_(seed), style_(style) {}

  CostInstanceSpec run() {
    std::size_t layer = 0;
    for (std::size_t n = 0; n < style_.num_nodes; ++n) {
      const std::size_t width = std::max<std::size_t>(style_.layer_width, 1);
      if (n % width == 0) {
        layer = n / width;
        repeats_ = layer > 1 && chance(random_, style_.repeated_share);
      }
      add_node(n, repeats_ ? n - width : n);
      add_edges(n, width);
    }
    if (style_.slack > 0) add_limits();
    return std::move(spec_);
  }

 private:
  // Adds node n with the costs of node `like`; with new costs if `like` is n.
  void add_node(std::size_t n, std::size_t like) {
    if (like != n) {
      spec_.nodes.push_back(spec_.nodes[like]);
      frugal_.push_back(frugal_[like]);
    } else {
      CostInstanceSpec::Node node;
      const std::uint64_t count = between(random_, style_.min_strategies, style_.max_strategies);
      for (std::uint64_t s = 0; s < count; ++s)
        node.costs.push_back(static_cast<double>(between(random_, 0, 1000)));
      frugal_.push_back(static_cast<std::uint32_t>(between(random_, 0, count - 1)));
      spec_.nodes.push_back(std::move(node));
    }
    CostInstanceSpec::Usage usage;
    usage.node = static_cast<std::uint32_t>(n);
    usage.live.begin = static_cast<std::uint32_t>(n);
    usage.live.end = static_cast<std::uint32_t>(n + between(random_, 0, 3 * style_.layer_width));
    if (style_.long_lived_share > 0 && chance(random_, style_.long_lived_share)) {
      usage.live.end =
          static_cast<std::uint32_t>(n + between(random_, 1, style_.num_nodes / 2 + 1));
    }
    const auto least =
        static_cast<std::int64_t>(between(random_, 1, 100) << between(random_, 0, 6));
    for (std::size_t s = 0; s < spec_.nodes[n].costs.size(); ++s) {
      const bool frugal = s == frugal_[n];
      usage.bytes.push_back(frugal ? least
                                   : least * static_cast<std::int64_t>(between(random_, 1, 4)));
    }
    spec_.usages.push_back(std::move(usage));
  }

  void add_edges(std::size_t n, std::size_t width) {
    if (n == 0) return;
    const std::uint64_t count = between(random_, 1, 2);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::size_t reach = std::min(n, 2 * width);
      const std::size_t from = n - 1 - static_cast<std::size_t>(between(random_, 0, reach - 1));
      spec_.edges.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(n),
                             static_cast<std::uint32_t>(spec_.matrices.size())});
      spec_.matrices.push_back(random_matrix(from, n));
    }
  }

  CostInstanceSpec::Matrix random_matrix(std::size_t first, std::size_t second) {
    CostInstanceSpec::Matrix matrix;
    matrix.rows = static_cast<std::uint32_t>(spec_.nodes[first].costs.size());
    matrix.columns = static_cast<std::uint32_t>(spec_.nodes[second].costs.size());
    const bool functional = chance(random_, style_.functional_share);
    for (std::uint32_t s = 0; s < matrix.rows; ++s) {
      const std::uint64_t partner = between(random_, 0, matrix.columns - 1);
      for (std::uint32_t t = 0; t < matrix.columns; ++t) {
        const bool allowed = !functional || t == partner || chance(random_, 0.15) ||
                             (s == frugal_[first] && t == frugal_[second]);
        const bool free = chance(random_, 0.5);
        matrix.entries.push_back(!allowed ? kForbidden
                                 : free   ? 0
                                          : static_cast<double>(between(random_, 1, 5000)));
      }
    }
    return matrix;
  }

  void add_limits() {
    std::vector<std::int64_t> changes;
    for (const CostInstanceSpec::Usage& usage : spec_.usages) {
      changes.resize(std::max<std::size_t>(changes.size(), usage.live.end + std::size_t{1}), 0);
      changes[usage.live.begin] += usage.bytes[frugal_[usage.node]];
      changes[usage.live.end] -= usage.bytes[frugal_[usage.node]];
    }
    std::int64_t held = 0;
    std::int64_t peak = 0;
    for (const std::int64_t change : changes)
      peak = std::max(peak, held += change);
    const auto limit =
        static_cast<std::int64_t>(std::ceil(style_.slack * static_cast<double>(peak)));
    spec_.limits.assign(changes.size(), limit);
  }

  Random random_;
  const RandomCostInstanceStyle& style_;
  CostInstanceSpec spec_;
  std::vector<std::uint32_t> frugal_;  // by node: the strategy with the least bytes
  bool repeats_ = false;
};

// Returns the cost as the contest writes it: an integer, or 10^18 if forbidden.
void append_cost(std::string& text, double cost) {
  text += cost == kForbidden ? "1000000000000000000"
                             : std::to_string(static_cast<std::int64_t>(std::llround(cost)));
}

template <class Items, class Append>
void append_list(std::string& text, const Items& items, const Append& append) {
  text += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!first) text += ',';
    first = false;
    append(item);
  }
  text += ']';
}

}  // namespace

CostInstanceSpec random_cost_instance(std::uint64_t seed, const RandomCostInstanceStyle& style) {
  return Generator(seed, style).run();
}

std::string contest_text(const CostInstanceSpec& spec) {
  std::string text = R"({"problem":{"name":"random","nodes":{"intervals":)";
  const auto costs = [&](const std::vector<double>& list) {
    append_list(text, list, [&](double cost) { append_cost(text, cost); });
  };
  append_list(text, spec.usages, [&](const CostInstanceSpec::Usage& usage) {
    text += '[' + std::to_string(usage.live.begin) + ',' + std::to_string(usage.live.end) + ']';
  });
  text += R"(,"costs":)";
  append_list(text, spec.nodes, [&](const CostInstanceSpec::Node& node) { costs(node.costs); });
  text += R"(,"usages":)";
  append_list(text, spec.usages, [&](const CostInstanceSpec::Usage& usage) {
    append_list(text, usage.bytes, [&](std::int64_t bytes) { text += std::to_string(bytes); });
  });
  text += R"(},"edges":{"nodes":)";
  append_list(text, spec.edges, [&](const CostInstanceSpec::Edge& edge) {
    text += '[' + std::to_string(edge.first) + ',' + std::to_string(edge.second) + ']';
  });
  text += R"(,"costs":)";
  append_list(text, spec.edges, [&](const CostInstanceSpec::Edge& edge) {
    costs(spec.matrices[edge.matrix].entries);
  });
  text += '}';
  if (!spec.limits.empty()) text += R"(,"usage_limit":)" + std::to_string(spec.limits.front());
  return text + "}}\n";
}

}  // namespace shardwright::test_support
