// Makes a cost instance from the contents of a contest file.

#include "runtime/io/operators/contest_json.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/json_pointer.h"
#include "core/nearest_name.h"
#include "core/operators/instance/cost_instance.h"
#include "core/status.h"
#include "runtime/io/json/json_scanner.h"

namespace shardwright {
namespace {

using operators::CostInstanceSpec;
using operators::TimeInterval;

std::string problem_place(const char* list, std::size_t i) {
  return std::string("/problem/") + list + "/" + std::to_string(i);
}

// Thread safety: one thread at a time.
class ContestBuilder {
 public:
  ContestBuilder(ContestContents contents, std::optional<std::int64_t> limit)
      : contents_(std::move(contents)), limit_(limit ? limit : contents_.usage_limit) {}

  Result<operators::CostInstance> build() {
    SHARDWRIGHT_RETURN_IF_ERROR(add_nodes());
    contents_.costs = {};
    SHARDWRIGHT_RETURN_IF_ERROR(add_usages());
    contents_.usages = {};
    SHARDWRIGHT_RETURN_IF_ERROR(add_edges());
    contents_ = {};
    Result<operators::CostInstance> instance = operators::CostInstance::make(std::move(spec_));
    if (instance.ok() || !instance.error().where.starts_with("/limits")) return instance;
    return invalid_input("/problem/nodes/usages", instance.error().message);
  }

 private:
  Status add_nodes() {
    const std::size_t num_nodes = contents_.costs.size();
    if (contents_.intervals.size() != num_nodes || contents_.usages.size() != num_nodes) {
      return invalid_input("/problem/nodes",
                           "intervals, costs and usages must have one entry per node, not " +
                               std::to_string(contents_.intervals.size()) + ", " +
                               std::to_string(num_nodes) + " and " +
                               std::to_string(contents_.usages.size()));
    }
    spec_.nodes.resize(num_nodes);
    for (std::size_t n = 0; n < num_nodes; ++n) {
      const std::span<const double> costs = contents_.costs[n];
      if (costs.empty()) {
        return invalid_input(problem_place("nodes/costs", n), "the node has no strategies");
      }
      spec_.nodes[n].costs.assign(costs.begin(), costs.end());
      if (contents_.usages[n].size() != costs.size()) {
        return invalid_input(problem_place("nodes/usages", n),
                             "has " + std::to_string(contents_.usages[n].size()) + " entries for " +
                                 std::to_string(costs.size()) + " strategies");
      }
      if (contents_.intervals[n].size() != 2) {
        return invalid_input(problem_place("nodes/intervals", n), "expected a list [begin, end]");
      }
      if (contents_.intervals[n][0] > contents_.intervals[n][1]) {
        return invalid_input(problem_place("nodes/intervals", n),
                             "the interval ends before it begins");
      }
    }
    return {};
  }

  Status add_usages() {
    if (!limit_) return {};
    std::vector<TimeInterval> intervals(spec_.nodes.size());
    for (std::size_t n = 0; n < intervals.size(); ++n) {
      const std::span<const std::int64_t> usage = contents_.usages[n];
      const bool uses = std::any_of(usage.begin(), usage.end(), [](auto u) { return u > 0; });
      if (uses) intervals[n] = {contents_.intervals[n][0], contents_.intervals[n][1]};
    }
    const operators::CompressedIntervals compressed = operators::compress(intervals);
    const std::int64_t above = *limit_ + (*limit_ < std::numeric_limits<std::int64_t>::max());
    for (std::size_t n = 0; n < intervals.size(); ++n) {
      if (intervals[n].empty()) continue;
      CostInstanceSpec::Usage usage{static_cast<std::uint32_t>(n), compressed.intervals[n], {}};
      usage.bytes.reserve(contents_.usages[n].size());
      for (const std::int64_t bytes : contents_.usages[n])
        usage.bytes.push_back(std::min(bytes, above));
      spec_.usages.push_back(std::move(usage));
    }
    spec_.limits.assign(compressed.num_time_points, *limit_);
    return {};
  }

  Status add_edges() {
    const std::size_t num_edges = contents_.edge_nodes.size();
    if (contents_.edge_list.size() != num_edges) {
      return invalid_input("/problem/edges", "nodes and costs must have one entry per edge, not " +
                                                 std::to_string(num_edges) + " and " +
                                                 std::to_string(contents_.edge_list.size()));
    }
    for (std::size_t e = 0; e < num_edges; ++e)
      SHARDWRIGHT_RETURN_IF_ERROR(add_edge(e));
    return {};
  }

  Status add_edge(std::size_t e) {
    const std::span<const std::int64_t> nodes = contents_.edge_nodes[e];
    const std::span<const double> costs = contents_.edge_costs.lists()[contents_.edge_list[e]];
    if (nodes.empty())
      return invalid_input(problem_place("edges/nodes", e), "the edge has no nodes");
    std::size_t expected = 1;
    for (const std::int64_t node : nodes) {
      if (node < 0 || static_cast<std::size_t>(node) >= spec_.nodes.size()) {
        return invalid_input(problem_place("edges/nodes", e),
                             "there is no node " + std::to_string(node));
      }
      expected *= num_strategies(node);
      if (expected > std::max<std::size_t>(costs.size(), 1)) break;  // it may overflow later
    }
    if (costs.size() != expected) {
      return invalid_input(problem_place("edges/costs", e),
                           "has " + std::to_string(costs.size()) +
                               " entries, which is not the product of the numbers of strategies");
    }
    return add_checked_edge(e, nodes, costs);
  }

  Status add_checked_edge(std::size_t e, std::span<const std::int64_t> nodes,
                          std::span<const double> costs) {
    // Nodes with one strategy can be left out, since they do not change the order of the costs.
    std::vector<std::int64_t> free;
    if (nodes.size() == 2) {
      free.assign(nodes.begin(), nodes.end());
    } else {
      std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(free),
                   [&](std::int64_t node) { return num_strategies(node) > 1; });
      if (free.empty()) free.push_back(nodes.front());
    }
    if (free.size() > 2) {
      return Error{ErrorCode::kUnsupported,
                   "the edge joins " + std::to_string(free.size()) +
                       " nodes of several strategies; edges between two are supported",
                   problem_place("edges/nodes", e)};
    }
    if (free.size() == 2 && free[0] != free[1]) {
      spec_.edges.push_back({static_cast<std::uint32_t>(free[0]),
                             static_cast<std::uint32_t>(free[1]),
                             matrix_of(contents_.edge_list[e], num_strategies(free[0]), costs)});
      return {};
    }
    // The edge joins a node with itself (only the diagonal counts) or has one node (all costs
    // count). Its costs depend on one node, so they are added to the costs of that node.
    std::vector<double>& own = spec_.nodes[static_cast<std::size_t>(free[0])].costs;
    const std::size_t step = free.size() == 2 ? own.size() + 1 : 1;
    for (std::size_t s = 0; s < own.size(); ++s)
      own[s] += costs[s * step];
    return {};
  }

  std::size_t num_strategies(std::int64_t node) const {
    return spec_.nodes[static_cast<std::size_t>(node)].costs.size();
  }

  // Edges with equal costs and equally many rows share a matrix.
  std::uint32_t matrix_of(std::uint32_t list, std::size_t rows, std::span<const double> costs) {
    const auto [known, added] = matrices_.try_emplace(
        (std::uint64_t{list} << 32) | rows, static_cast<std::uint32_t>(spec_.matrices.size()));
    if (added) {
      spec_.matrices.push_back({static_cast<std::uint32_t>(rows),
                                static_cast<std::uint32_t>(costs.size() / rows),
                                {costs.begin(), costs.end()}});
    }
    return known->second;
  }

  ContestContents contents_;
  std::optional<std::int64_t> limit_;
  CostInstanceSpec spec_;
  std::unordered_map<std::uint64_t, std::uint32_t> matrices_;
};

}  // namespace

Result<operators::CostInstance> read_contest_instance(std::string_view text,
                                                      std::optional<std::int64_t> budget) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(ContestContents contents, read_contest_contents(text));
  return ContestBuilder(std::move(contents), budget).build();
}

namespace {

using operators::kForbidden;

// Costs from this number on forbid a choice.
constexpr double kForbiddenFrom = 1e18;

// Thread safety: one thread at a time.
class ContestReader {
 public:
  explicit ContestReader(std::string_view text) : scanner_(text) {}

  Result<ContestContents> read() {
    object("", {"problem"}, [&](std::size_t) { read_problem(); });
    scanner_.finish();
    if (const Status& status = scanner_.status(); !status.ok()) {
      Error error = status.error();
      const bool of_text = !error.where.starts_with("/");
      if (of_text && !place_.empty()) error.where = place_ + ": " + error.where;
      return error;
    }
    return std::move(contents_);
  }

 private:
  using Names = std::span<const std::string_view>;

  // Returns true if there is no error. Otherwise stores `place` unless an inner place is stored.
  bool at(const std::string& place) {
    if (!scanner_.status().ok() && place_.empty()) place_ = place;
    return scanner_.status().ok();
  }

  // Reads an object; calls member(i) at the value of keys[i]. The first `num_required` must exist.
  template <std::size_t N, class Member>
  void object(const std::string& place, const std::string_view (&keys)[N], const Member& member,
              std::size_t num_required = N) {
    if (!scanner_.begin_object()) {
      at(place);
      return;
    }
    std::array<bool, N> seen{};
    std::string key;
    for (bool first = true; scanner_.next_key(first, key);) {
      const std::string at_member = place + "/" + pointer_token(key);
      const auto known = std::find(std::begin(keys), std::end(keys), key);
      if (known == std::end(keys)) {
        scanner_.fail(
            invalid_input(at_member, "unknown key \"" + key + "\"" + suggestion(key, keys)));
        return;
      }
      const auto index = static_cast<std::size_t>(known - std::begin(keys));
      if (std::exchange(seen[index], true)) {
        scanner_.fail(invalid_input(at_member, "the key \"" + key + "\" occurs twice"));
        return;
      }
      member(index);
      if (!at(at_member)) return;
    }
    const auto missing = std::find(seen.begin(), seen.begin() + num_required, false);
    if (at(place) && missing != seen.begin() + num_required) {
      const std::string_view name = keys[missing - seen.begin()];
      scanner_.fail(invalid_input(place, "the key \"" + std::string(name) + "\" is missing"));
    }
  }

  void read_problem() {
    constexpr std::string_view kKeys[] = {"nodes", "edges", "name", "usage_limit"};
    constexpr std::size_t kRequired = 2;
    const auto read = [&](std::size_t key) {
      if (key == 0) read_nodes();
      if (key == 1) read_edges();
      if (key == 2) scanner_.read_string(contents_.name);
      if (key == 3) read_limit();
    };
    object("/problem", kKeys, read, kRequired);
  }

  void read_nodes() {
    constexpr std::string_view kKeys[] = {"intervals", "costs", "usages"};
    object("/problem/nodes", kKeys, [&](std::size_t key) {
      if (key == 0) integer_lists("/problem/nodes/intervals", contents_.intervals);
      if (key == 1)
        cost_lists("/problem/nodes/costs", contents_.costs, [&] { contents_.costs.end_list(); });
      if (key == 2) integer_lists("/problem/nodes/usages", contents_.usages);
    });
  }

  void read_edges() {
    constexpr std::string_view kKeys[] = {"nodes", "costs"};
    object("/problem/edges", kKeys, [&](std::size_t key) {
      if (key == 0) integer_lists("/problem/edges/nodes", contents_.edge_nodes);
      if (key == 1)
        cost_lists("/problem/edges/costs", contents_.edge_costs.lists(),
                   [&] { contents_.edge_list.push_back(contents_.edge_costs.intern_open_list()); });
    });
  }

  void read_limit() {
    if (scanner_.skip_null()) return;
    std::int64_t limit = 0;
    if (read_integer(limit, [] { return std::string("/problem/usage_limit"); })) {
      contents_.usage_limit = limit;
    }
  }

  // Reads an integer >= 0. Integers beyond int64 become the largest int64.
  template <class Place>
  bool read_integer(std::int64_t& integer, const Place& place) {
    ScannedNumber number;
    if (!scanner_.read_number(number)) return at(place());
    constexpr double kBeyond = 9223372036854775808.0;
    if (!number.whole && number.value >= 0 && number.value < kBeyond &&
        static_cast<double>(static_cast<std::int64_t>(number.value)) == number.value) {
      number.whole = true;
      number.integer = static_cast<std::int64_t>(number.value);
    }
    if (number.value >= kBeyond) {
      number.whole = true;
      number.integer = std::numeric_limits<std::int64_t>::max();
    }
    if (!number.whole || number.integer < 0) {
      return scanner_.fail(invalid_input(place(), "expected a whole number, zero or above"));
    }
    integer = number.integer;
    return true;
  }

  void integer_lists(const char* name, NumberLists<std::int64_t>& lists) {
    if (!scanner_.begin_array()) return;
    for (bool outer = true; scanner_.next_element(outer);) {
      if (!scanner_.begin_array()) return;
      for (bool inner = true; scanner_.next_element(inner);) {
        std::int64_t integer = 0;
        if (!read_integer(integer, [&] { return place_in(name, lists); })) return;
        lists.push_number(integer);
      }
      lists.end_list();
    }
  }

  template <class EndList>
  void cost_lists(const char* name, NumberLists<double>& lists, const EndList& end_list) {
    if (!scanner_.begin_array()) return;
    std::size_t index = 0;
    for (bool outer = true; scanner_.next_element(outer); ++index) {
      if (!scanner_.begin_array()) return;
      for (bool inner = true; scanner_.next_element(inner);) {
        ScannedNumber number;
        const auto place = [&] {
          return std::string(name) + "/" + std::to_string(index) + "/" +
                 std::to_string(lists.open_list().size());
        };
        if (!scanner_.read_number(number)) {
          at(place());
          return;
        }
        if (number.value < 0) {
          scanner_.fail(invalid_input(place(), "a cost is negative"));
          return;
        }
        lists.push_number(number.value >= kForbiddenFrom ? kForbidden : number.value);
      }
      if (!scanner_.status().ok()) return;
      end_list();
    }
  }

  static std::string place_in(const char* name, const NumberLists<std::int64_t>& lists) {
    return std::string(name) + "/" + std::to_string(lists.size()) + "/" +
           std::to_string(lists.open_list().size());
  }

  JsonScanner scanner_;
  std::string place_;
  ContestContents contents_;
};

}  // namespace

Result<ContestContents> read_contest_contents(std::string_view text) {
  return ContestReader(text).read();
}

}  // namespace shardwright
