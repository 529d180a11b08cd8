// The optimisation problem of operator sharding: choose one strategy per node, with costs on nodes
// and edges, and memory limits over time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"

namespace shardwright::operators {

// The cost of strategies that are not allowed, and of pairs that cannot be combined.
inline constexpr double kForbidden = std::numeric_limits<double>::infinity();

// Time points [begin, end) during which a node holds memory.
struct LiveInterval {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  bool empty() const { return begin >= end; }
  friend bool operator==(const LiveInterval&, const LiveInterval&) = default;
};

// The description of an instance. Indices refer to the vectors of this struct.
struct CostInstanceSpec {
  struct Node {
    std::string name;           // for messages and reports; may be empty
    std::vector<double> costs;  // by strategy; not negative, kForbidden if not allowed
  };
  // Row-major. Rows are the strategies of an edge's first node, columns those of its second node.
  // Edges with the same costs may share a matrix.
  struct Matrix {
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    std::vector<double> entries;
  };
  struct Edge {
    std::uint32_t first = 0;
    std::uint32_t second = 0;  // not `first`; several edges may join the same nodes
    std::uint32_t matrix = 0;
  };
  // The bytes that a node holds during an interval. A node may have several usages, which may
  // overlap.
  struct Usage {
    std::uint32_t node = 0;
    LiveInterval live;
    std::vector<std::int64_t> bytes;  // by strategy, not negative
  };

  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<Matrix> matrices;
  std::vector<Usage> usages;
  // The bytes that all nodes may hold at each time point; later time points are not limited. Any
  // other quantity that adds up over nodes can be limited at a time point of its own.
  std::vector<std::int64_t> limits;
};

// An immutable instance, stored in flat arrays.
// Thread safety: const members may be called from any thread.
class CostInstance {
 public:
  struct Edge {
    std::uint32_t first;
    std::uint32_t second;
    std::uint32_t matrix;
  };
  // The interval is clipped to the time points with limits and never empty. bytes(usage, s) returns
  // the bytes that the node holds with strategy s.
  struct Usage {
    LiveInterval live;
    std::uint32_t first_byte;
  };

  // Errors (kInvalidInput; the place names the node, edge or usage): a node without strategies; an
  // index out of range; an edge from a node to itself; a matrix of the wrong size; a cost that is
  // negative or NaN; a usage or limit that is negative; an interval that ends before it begins;
  // bytes that could add up to more than 2^62.
  static Result<CostInstance> make(CostInstanceSpec spec);

  std::size_t num_nodes() const { return first_strategy_.size() - 1; }
  std::size_t num_strategies() const { return costs_.size(); }
  std::uint32_t num_strategies(std::size_t node) const {
    return first_strategy_[node + 1] - first_strategy_[node];
  }
  std::span<const double> costs(std::size_t node) const {
    return {costs_.data() + first_strategy_[node], num_strategies(node)};
  }
  const std::string& name(std::size_t node) const { return names_[node]; }

  std::span<const Edge> edges() const { return edges_; }
  // The edge's costs, row-major. Edges with the same costs may share a matrix.
  std::span<const double> matrix(const Edge& edge) const {
    return (*matrices_)[edge.matrix].entries;
  }
  std::size_t num_matrices() const { return matrices_->size(); }
  double edge_cost(const Edge& edge, std::uint32_t s, std::uint32_t t) const {
    const CostInstanceSpec::Matrix& matrix = (*matrices_)[edge.matrix];
    return matrix.entries[std::size_t{s} * matrix.columns + t];
  }

  // The usages of the node at time points with limits.
  std::span<const Usage> usages(std::size_t node) const {
    return {usages_.data() + first_usage_[node], first_usage_[node + 1] - first_usage_[node]};
  }
  std::int64_t bytes(const Usage& usage, std::uint32_t s) const {
    return bytes_[usage.first_byte + s];
  }
  std::span<const std::int64_t> limits() const { return limits_; }

  // Returns the same instance with other limits: equally many, none negative. Shares the matrices.
  CostInstance with_limits(std::vector<std::int64_t> limits) const;

 private:
  CostInstance() = default;

  std::vector<std::uint32_t> first_strategy_;
  std::vector<double> costs_;
  std::vector<std::string> names_;
  std::vector<Edge> edges_;
  std::shared_ptr<const std::vector<CostInstanceSpec::Matrix>> matrices_;
  std::vector<std::uint32_t> first_usage_;
  std::vector<Usage> usages_;
  std::vector<std::int64_t> bytes_;
  std::vector<std::int64_t> limits_;
};

// The costs and the memory of a choice, which has one strategy per node.
struct CostEvaluation {
  double node_cost = 0;
  double edge_cost = 0;
  double total() const { return node_cost + edge_cost; }
  std::int64_t peak_bytes = 0;                 // maximum over time points with limits
  std::optional<std::uint32_t> over_limit_at;  // first time point above its limit

  bool feasible() const { return total() < kForbidden && !over_limit_at; }
};

// Returns the bytes that all nodes hold together, by time point with a limit. Precondition:
// `choice` has one valid strategy index per node.
std::vector<std::int64_t> held_bytes(const CostInstance& instance,
                                     std::span<const std::uint32_t> choice);

// The independent verifier of solvers. Sums in the order of nodes, then of edges.
// Precondition: `choice` has one valid strategy index per node.
CostEvaluation evaluate(const CostInstance& instance, std::span<const std::uint32_t> choice);

// The interval [begin, end) in any unit; empty unless begin < end.
struct TimeInterval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  bool empty() const { return begin >= end; }
};

struct CompressedIntervals {
  std::vector<LiveInterval> intervals;  // in the given order; empty intervals stay empty
  std::uint32_t num_time_points = 0;
};

// Keeps the time points whose sets of live intervals are maximal (the maximal cliques of the
// interval graph). These are the begins that are followed by an end before the next begin. A limit
// that holds at the kept time points holds at all others. O(n log n).
CompressedIntervals compress(std::span<const TimeInterval> intervals);

// An instance in which operators that must take the same strategy are one node. The costs and bytes
// of merged operators are added, edges among them become node costs, and parallel edges stay. The
// instance may have further nodes, which are not operators. Thread safety: const members may be
// called from any thread.
class LoweredInstance {
 public:
  // Merges nothing.
  explicit LoweredInstance(CostInstance graph);

  // Node i takes the strategy of node leaders[i], which is i for most nodes; chains are followed.
  // The nodes of `graph` are the first nodes of `spec`, which may have more.
  // Errors: kInvalidInput if leaders form a cycle, or if a node and its leader have different
  // numbers of strategies; those of CostInstance::make.
  static Result<LoweredInstance> make(CostInstance graph, CostInstanceSpec spec,
                                      std::span<const std::uint32_t> leaders);

  // The instance before merging: one node per operator, and the edges and usages of operators.
  const CostInstance& graph() const { return *graph_; }
  // The instance to solve.
  const CostInstance& instance() const { return *instance_; }
  // By operator: its node in instance().
  std::span<const std::uint32_t> variables() const { return variables_; }

  // Converts a choice by node of instance() into a choice by operator.
  std::vector<std::uint32_t> operator_choice(std::span<const std::uint32_t> choice) const;

 private:
  LoweredInstance() = default;

  std::shared_ptr<const CostInstance> graph_;
  std::shared_ptr<const CostInstance> instance_;  // same object as graph_ without merging
  std::vector<std::uint32_t> variables_;
};

// A memory budget that may be exceeded at a cost.
struct SoftBudget {
  std::int64_t bytes = 0;
  double cost_per_byte = 0;  // for each byte of the peak above the budget
};

// A lowered instance, with requirements that a CostInstance cannot express.
struct OperatorProblem {
  explicit OperatorProblem(LoweredInstance instance)
      : lowered(std::move(instance)), num_memory_time_points(lowered.instance().limits().size()) {}

  LoweredInstance lowered;
  std::vector<std::vector<std::string>> strategy_names;  // by operator; may be empty
  // The number of limits on memory. They precede all other limits.
  std::size_t num_memory_time_points = 0;
  std::optional<SoftBudget> soft_budget;
  std::optional<double> max_cost;  // choices that cost more are not allowed
};

}  // namespace shardwright::operators
