// Solves auto-sharding problems exactly, one request or many at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/operators/autoshard/autoshard_graph.h"
#include "core/status.h"
#include "search/executor.h"
#include "search/operators/elimination/bucket_tree.h"
#include "search/operators/elimination/elimination_order.h"

namespace shardwright::operators::autoshard {

// A request as costs of one or two decisions (variables). Costs are scaled to integers: they are
// multiplied by the number of devices. The output spec of every op depends on at most one variable,
// since ops that follow their operand pass its variable on. Thread safety: one thread at a time
// while it is built, then const members from any thread.
class PairwiseModel {
 public:
  // The first decision of an op. The second decision follows from the first.
  struct Variable {
    std::uint32_t op = 0;
    std::uint8_t size = 0;                // the number of allowed values
    std::array<Spec, 3> values{};         // the allowed values, ascending
    std::array<std::int64_t, 3> costs{};  // by position in `values`
  };
  struct Pair {
    std::uint32_t first = 0;  // index of a variable; first < second
    std::uint32_t second = 0;
    std::array<std::int64_t, 9> costs{};  // [3 * position of first + position of second]
  };

  // Reuses the memory of the previous model. O(ops + args).
  // Precondition: check_request(graph, devices) has passed.
  void build(const Graph& graph, std::int64_t devices, CostModel model);

  const std::vector<Variable>& variables() const { return variables_; }
  const std::vector<Pair>& pairs() const { return pairs_; }  // no two with the same variables

 private:
  static constexpr std::uint32_t kConstant = UINT32_MAX;

  // Where an op's output spec comes from: a variable, or always the same spec.
  struct Source {
    std::uint32_t variable = kConstant;
    std::array<Spec, 3> specs{};  // by position of the variable's value; [0] if constant
  };

  void add_op(const Graph& graph, std::uint32_t op);
  void add_variable(const Graph& graph, std::uint32_t op);
  void add_reshards(const Graph& graph, std::uint32_t op);
  void add_output(const Graph& graph, std::uint32_t op);
  std::array<std::int64_t, 9>& costs_between(std::uint32_t first, std::uint32_t second);
  std::int64_t scaled_reshard(Spec from, Spec to, std::int64_t elements) const {
    return reshard_cost(from, to, elements, devices_, model_) * devices_;
  }

  std::int64_t devices_ = 1;
  CostModel model_ = CostModel::kV2;
  std::vector<Variable> variables_;
  std::vector<Pair> pairs_;
  std::vector<Source> sources_;  // by op
};

// Minimises a PairwiseModel exactly by bucket elimination (Buckets) and counts its optima. For each
// assignment of a bucket's separator, the bucket's message has the least cost of the variables in
// its subtree, and the number of assignments with this cost. Keeps its memory from model to model.
// Cost: states * factors of a bucket. Thread safety: one thread at a time.
class Elimination {
 public:
  // Limit of the entries of all messages together: 3^15, at 16 bytes each.
  static constexpr std::size_t kMaxStates = 14'348'907;

  // Returns nullopt on success, otherwise the variable at which kMaxStates is exceeded. `model`
  // must outlive the calls below. Eliminates the variable with the fewest neighbours first. If that
  // order needs too many states, eliminates the variable that adds the fewest edges first.
  std::optional<std::uint32_t> run(const PairwiseModel& model);

  // The optimum of the last model; scaled.
  std::int64_t optimum() const { return optimum_; }
  // The number of assignments with this cost; UINT64_MAX: that many or more.
  std::uint64_t num_optimal() const { return num_optimal_; }
  std::size_t states() const { return buckets_.num_entries(); }

  // Returns an assignment that costs at most optimum() + slack: by variable, the position of its
  // value. Each variable, from the last eliminated to the first, takes the first value that the
  // remaining slack allows. Precondition: slack >= 0. O(pairs).
  std::span<const std::uint8_t> select(std::int64_t slack);

 private:
  enum class Rule : std::uint8_t { kFewestNeighbours, kFewestNewPairs };

  std::optional<std::uint32_t> choose_order(Rule rule);
  void fill_pair_tables();
  void start(const Buckets::Bucket& bucket);
  void fill_message(const Buckets::Bucket& bucket);
  std::uint64_t count_of(const Buckets::Bucket& bucket, std::size_t value) const;

  const PairwiseModel* model_ = nullptr;
  EliminationOrder order_;
  Buckets buckets_;
  BucketSum<std::int64_t> sum_;
  std::vector<std::uint32_t> sizes_;  // by variable
  std::vector<Buckets::Pair> pairs_;
  std::vector<std::int64_t> pair_costs_;  // by pair, 3 * 3 entries each
  std::vector<std::int64_t> costs_;       // all messages
  std::vector<std::uint64_t> counts_;     // by entry of costs_
  std::vector<std::uint8_t> chosen_;      // by variable
  std::int64_t optimum_ = 0;
  std::uint64_t num_optimal_ = 1;
};

struct Request {
  std::shared_ptr<const Graph> graph;
  std::int64_t devices = 1;
  CostModel model = CostModel::kV2;
};

struct Solution {
  std::int64_t scaled_optimum = 0;
  double optimum = 0;
  std::uint64_t num_optimal = 0;  // UINT64_MAX: that many or more
  Assignment assignment;          // one optimum, always the same for a request
  std::size_t states = 0;         // entries of all messages

  friend bool operator==(const Solution&, const Solution&) = default;
};

// Solves requests one after another in the same memory. Thread safety: one thread at a time.
class Solver {
 public:
  // Errors: as check_request; kUnsupported if a search exceeds Elimination::kMaxStates, with
  // `where` = the op at which it does.
  Status prove(const Request& request);

  // These describe the last request that was proved.
  std::int64_t scaled_optimum() const { return elimination_.optimum(); }
  std::uint64_t num_optimal() const { return elimination_.num_optimal(); }
  Solution solution();
  // Returns an assignment that costs less than `scaled_bound`, if there is one. The assignment
  // costs at most the mean of optimum and bound. So few calls, each bounded by the last cost, reach
  // the optimum.
  std::optional<Assignment> find_below(std::int64_t scaled_bound);

 private:
  Assignment assignment(std::int64_t slack);

  Request request_;
  PairwiseModel pairs_;
  Elimination elimination_;
};

// Solves one request with a new Solver.
Result<Solution> solve(const Request& request);

// Solves requests in parallel. The answers are in their order and independent of the executor.
std::vector<Result<Solution>> solve_all(std::span<const Request> requests, Executor& executor);

// Returns an assignment whose scaled cost is less than the bound, or nothing if there is none.
using Oracle = std::function<std::optional<Assignment>(std::int64_t scaled_bound)>;

struct Iteration {
  std::size_t index = 0;
  Assignment assignment;
  Evaluation evaluation;
};

struct ImproveResult {
  std::optional<Iteration> last;  // nullopt if the first bound is not improved
  std::size_t iterations = 0;     // number of improvements
  bool exhausted = false;         // no cheaper assignment exists; `last` is optimal
};

inline constexpr std::int64_t kFirstBound = 1'000'000'000'000;
inline constexpr std::size_t kMaxIterations = 100;

// Slapo's loop: asks the oracle for an assignment that costs less than a bound, which is first
// kFirstBound and then the cost of the previous answer. Asks at most kMaxIterations times. Calls
// `on_iteration` for every improvement. Errors: as evaluate; kVerificationFailed if an answer does
// not cost less than the bound. Source: see CostModel, `solve`.
Result<ImproveResult> improve(const Request& request, const Oracle& oracle,
                              const std::function<void(const Iteration&)>& on_iteration);

// Returns the lines of a Slapo schedule: first those that shard parameters of modules, then those
// that reshard activations, each in graph order.
// Precondition: `assignment` has passed evaluate.
// Source: see CostModel, `generate_schedule_sequence`.
std::vector<std::string> schedule(const Graph& graph, const Assignment& assignment,
                                  CostModel model);

}  // namespace shardwright::operators::autoshard
