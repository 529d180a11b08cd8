#include "search/operators/autoshard/solver.h"

#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "core/check.h"

namespace shardwright::operators::autoshard {
namespace {

constexpr std::size_t kPairEntries = 9;
constexpr std::uint64_t kManyCounts = std::numeric_limits<std::uint64_t>::max();

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return a > kManyCounts - b ? kManyCounts : a + b;
}

// Precondition: neither is 0.
std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) {
  return a > kManyCounts / b ? kManyCounts : a * b;
}

std::size_t missing_pairs(const InteractionGraph& graph, std::uint32_t variable) {
  const auto& scope = graph.neighbours(variable);
  std::size_t missing = 0;
  for (std::size_t i = 0; i < scope.size(); ++i) {
    for (std::size_t j = i + 1; j < scope.size(); ++j)
      missing += graph.adjacent(scope[i], scope[j]) ? 0U : 1U;
  }
  return missing;
}

Result<Solution> solve_with(Solver& solver, const Request& request) {
  SHARDWRIGHT_RETURN_IF_ERROR(solver.prove(request));
  return solver.solution();
}

}  // namespace

void PairwiseModel::build(const Graph& graph, std::int64_t devices, CostModel model) {
  devices_ = devices;
  model_ = model;
  variables_.clear();
  pairs_.clear();
  sources_.assign(graph.size(), Source{});
  for (std::uint32_t op = 0; op < graph.size(); ++op)
    add_op(graph, op);
}

void PairwiseModel::add_op(const Graph& graph, std::uint32_t op) {
  // RR (replicated) is a possible first decision for every op.
  if (specs_from_first(graph, op, Spec::kRR, model_)->count > 0) {
    add_variable(graph, op);
    add_reshards(graph, op);
  } else if (!graph.op(op).args.empty()) {
    Source& source = sources_[op];
    source = sources_[graph.op(op).args.front()];
    for (Spec& spec : source.specs)
      spec = output_spec(graph, op, OpSpecs{}, spec, model_);
  }
  if (graph.is_output(op, model_)) add_output(graph, op);
}

void PairwiseModel::add_variable(const Graph& graph, std::uint32_t op) {
  Source& source = sources_[op];
  source.variable = static_cast<std::uint32_t>(variables_.size());
  Variable& variable = variables_.emplace_back();
  variable.op = op;
  for (const Spec value : {Spec::kRR, Spec::kRS, Spec::kSR}) {
    const std::optional<OpSpecs> specs = specs_from_first(graph, op, value, model_);
    if (!specs) continue;
    source.specs[variable.size] = output_spec(graph, op, *specs, Spec::kRR, model_);
    variable.values[variable.size++] = value;
  }
}

void PairwiseModel::add_reshards(const Graph& graph, std::uint32_t op) {
  const std::uint32_t self = sources_[op].variable;
  Variable& variable = variables_[self];
  const auto add = [&](const Source& from, const auto& cost) {
    if (from.variable == kConstant) {
      for (std::size_t j = 0; j < variable.size; ++j)
        variable.costs[j] += cost(from.specs[0], j);
      return;
    }
    std::array<std::int64_t, 9>& costs = costs_between(from.variable, self);
    for (std::size_t i = 0; i < variables_[from.variable].size; ++i) {
      for (std::size_t j = 0; j < variable.size; ++j)
        costs[3 * i + j] += cost(from.specs[i], j);
    }
  };
  const auto args = graph.args(op, model_);
  for (std::size_t k = 0; k < args.size(); ++k) {
    const std::int64_t elements = graph.elements(args[k], model_);
    add(sources_[args[k]], [&](Spec from, std::size_t j) {
      const Spec first = variable.values[j];
      const Spec required = specs_from_first(graph, op, first, model_)->specs[k];
      const std::int64_t own =
          k == 0 ? scaled_own_cost(graph, op, from, first, devices_, model_) : 0;
      return own + scaled_reshard(from, required, elements);
    });
  }
}

void PairwiseModel::add_output(const Graph& graph, std::uint32_t op) {
  const Source& source = sources_[op];
  if (source.variable == kConstant) return;  // replicated already
  Variable& variable = variables_[source.variable];
  for (std::size_t i = 0; i < variable.size; ++i) {
    variable.costs[i] += scaled_reshard(source.specs[i], Spec::kRR, graph.elements(op, model_));
  }
}

std::array<std::int64_t, 9>& PairwiseModel::costs_between(std::uint32_t first,
                                                          std::uint32_t second) {
  // Pairs with the same second variable are added one after another, so search from the end.
  for (std::size_t i = pairs_.size(); i > 0 && pairs_[i - 1].second == second; --i) {
    if (pairs_[i - 1].first == first) return pairs_[i - 1].costs;
  }
  return pairs_.emplace_back(Pair{first, second, {}}).costs;
}

std::optional<std::uint32_t> Elimination::run(const PairwiseModel& model) {
  model_ = &model;
  sizes_.clear();
  sizes_.reserve(model.variables().size());
  for (const PairwiseModel::Variable& variable : model.variables())
    sizes_.push_back(variable.size);
  if (choose_order(Rule::kFewestNeighbours)) {
    if (const auto too_wide = choose_order(Rule::kFewestNewPairs)) return too_wide;
  }
  fill_pair_tables();
  buckets_.build(order_, sizes_, pairs_);
  if (costs_.size() < buckets_.num_entries()) {
    costs_.resize(buckets_.num_entries());
    counts_.resize(buckets_.num_entries());
  }
  optimum_ = 0;
  num_optimal_ = 1;
  for (const Buckets::Bucket& bucket : buckets_.list()) {
    fill_message(bucket);
    if (bucket.parent != Buckets::kNone) continue;
    optimum_ += costs_[bucket.first_message];
    num_optimal_ = saturating_multiply(num_optimal_, counts_[bucket.first_message]);
  }
  return std::nullopt;
}

// Returns nullopt on success, otherwise the variable at which kMaxStates is exceeded.
std::optional<std::uint32_t> Elimination::choose_order(Rule rule) {
  InteractionGraph& graph = order_.graph();
  graph.reset(sizes_.size());
  for (const PairwiseModel::Pair& pair : model_->pairs()) {
    graph.add_neighbour(pair.first, pair.second);
    graph.add_neighbour(pair.second, pair.first);
  }
  graph.sort();
  std::size_t total = 0;
  std::optional<std::uint32_t> too_wide;
  const auto admit = [&](std::uint32_t variable, const ScoreQueue&) -> EliminationOrder::Decision {
    std::size_t states = 1;
    for (const std::uint32_t neighbour : graph.neighbours(variable)) {
      states *= sizes_[neighbour];
      if (states > kMaxStates) break;
    }
    total += states;
    if (total <= kMaxStates) return {};
    too_wide = variable;
    return {EliminationOrder::Step::kStop};
  };
  if (rule == Rule::kFewestNeighbours) {
    const auto degree = [&](std::uint32_t v) {
      return static_cast<double>(graph.neighbours(v).size());
    };
    order_.choose(EliminationOrder::ScoreReach::kNeighbours, degree, admit);
  } else {
    const auto fill = [&](std::uint32_t v) { return static_cast<double>(missing_pairs(graph, v)); };
    order_.choose(EliminationOrder::ScoreReach::kNeighboursOfThese, fill, admit);
  }
  return too_wide;
}

// In a table, the index of the variable that is eliminated first varies fastest.
void Elimination::fill_pair_tables() {
  const auto& pairs = model_->pairs();
  pairs_.clear();
  pairs_.reserve(pairs.size());
  pair_costs_.resize(pairs.size() * kPairEntries);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const PairwiseModel::Pair& pair = pairs[p];
    const std::uint32_t rows = sizes_[pair.first], columns = sizes_[pair.second];
    const bool first = order_.position(pair.first) < order_.position(pair.second);
    pairs_.push_back({pair.first, pair.second});
    std::int64_t* table = pair_costs_.data() + p * kPairEntries;
    for (std::uint32_t i = 0; i < rows; ++i) {
      for (std::uint32_t j = 0; j < columns; ++j)
        table[first ? j * rows + i : i * columns + j] = pair.costs[3 * i + j];
    }
  }
}

void Elimination::start(const Buckets::Bucket& bucket) {
  const auto factors = buckets_.factors(bucket);
  sum_.start(buckets_.shape(bucket), model_->variables()[bucket.variable].costs.data(),
             [&](std::size_t f) {
               return factors[f].is_message
                          ? costs_.data() + buckets_[factors[f].source].first_message
                          : pair_costs_.data() + factors[f].source * kPairEntries;
             });
}

void Elimination::fill_message(const Buckets::Bucket& bucket) {
  start(bucket);
  for (std::size_t entry = 0; entry < bucket.entries; ++entry, sum_.advance()) {
    const auto sums = sum_.sums();
    std::int64_t least = sums[0];
    for (std::size_t value = 1; value < sums.size(); ++value)
      least = std::min(least, sums[value]);
    std::uint64_t count = 0;
    for (std::size_t value = 0; value < sums.size(); ++value) {
      if (sums[value] == least) count = saturating_add(count, count_of(bucket, value));
    }
    costs_[bucket.first_message + entry] = least;
    counts_[bucket.first_message + entry] = count;
  }
}

// Returns how many assignments of the bucket's subtree are optimal if its variable takes `value`.
std::uint64_t Elimination::count_of(const Buckets::Bucket& bucket, std::size_t value) const {
  std::uint64_t count = 1;
  if (bucket.num_children == 0) return count;
  const auto factors = buckets_.factors(bucket);
  for (std::size_t f = 0; f < factors.size(); ++f) {
    if (!factors[f].is_message) continue;
    const auto at = static_cast<std::size_t>(sum_.row(f) - costs_.data());
    count = saturating_multiply(count, counts_[at + value]);
  }
  return count;
}

// The loss of a value is its sum minus the least sum of its bucket, which is an entry of the
// bucket's message. The losses of all variables add up to cost - optimum.
std::span<const std::uint8_t> Elimination::select(std::int64_t slack) {
  SHARDWRIGHT_CHECK(slack >= 0);
  chosen_.assign(buckets_.size(), 0);
  for (std::size_t b = buckets_.size(); b-- > 0;) {
    const Buckets::Bucket& bucket = buckets_[b];
    const auto separator = buckets_.separator(bucket);
    std::size_t entry = 0;
    for (const std::uint32_t variable : separator)
      entry = entry * sizes_[variable] + chosen_[variable];
    const std::int64_t least = costs_[bucket.first_message + entry];
    start(bucket);
    sum_.seek([&](std::size_t i) { return chosen_[separator[i]]; });
    const auto sums = sum_.sums();
    std::uint8_t value = 0;
    while (sums[value] - least > slack)
      ++value;
    slack -= sums[value] - least;
    chosen_[bucket.variable] = value;
  }
  return chosen_;
}

Status Solver::prove(const Request& request) {
  SHARDWRIGHT_CHECK(request.graph != nullptr);
  SHARDWRIGHT_RETURN_IF_ERROR(check_request(*request.graph, request.devices));
  request_ = request;
  pairs_.build(*request.graph, request.devices, request.model);
  const std::optional<std::uint32_t> too_wide = elimination_.run(pairs_);
  if (!too_wide) return {};
  return Error{ErrorCode::kUnsupported,
               "so many tensors depend on each other here that an exact search needs more than " +
                   std::to_string(Elimination::kMaxStates) + " states",
               "/graph/" + std::to_string(pairs_.variables()[*too_wide].op)};
}

Solution Solver::solution() {
  Solution solution;
  solution.scaled_optimum = scaled_optimum();
  solution.optimum = unscaled(scaled_optimum(), request_.devices);
  solution.num_optimal = num_optimal();
  solution.assignment = assignment(0);
  solution.states = elimination_.states();
  return solution;
}

std::optional<Assignment> Solver::find_below(std::int64_t scaled_bound) {
  if (scaled_bound <= scaled_optimum()) return std::nullopt;
  return assignment((scaled_bound - 1 - scaled_optimum()) / 2);
}

Assignment Solver::assignment(std::int64_t slack) {
  const std::span<const std::uint8_t> chosen = elimination_.select(slack);
  Assignment assignment(request_.graph->size());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const PairwiseModel::Variable& variable = pairs_.variables()[i];
    const Spec first = variable.values[chosen[i]];
    assignment[variable.op] =
        *specs_from_first(*request_.graph, variable.op, first, request_.model);
  }
  return assignment;
}

Result<Solution> solve(const Request& request) {
  Solver solver;
  return solve_with(solver, request);
}

std::vector<Result<Solution>> solve_all(std::span<const Request> requests, Executor& executor) {
  std::vector<std::unique_ptr<Solver>> solvers(executor.workers());
  std::vector<std::optional<Result<Solution>>> found(requests.size());
  executor.parallel_for(requests.size(), {1, 1},
                        [&](unsigned worker, std::size_t begin, std::size_t end) {
                          // Made on the thread that uses the solver.
                          if (!solvers[worker]) solvers[worker] = std::make_unique<Solver>();
                          for (std::size_t i = begin; i < end; ++i) {
                            found[i] = solve_with(*solvers[worker], requests[i]);
                          }
                        });
  std::vector<Result<Solution>> solutions;
  solutions.reserve(found.size());
  for (std::optional<Result<Solution>>& each : found)
    solutions.push_back(std::move(*each));
  return solutions;
}

namespace {

std::string shard_line(std::string_view module, std::string_view parameter, CostModel model,
                       int dimension) {
  const std::string_view keyword = model == CostModel::kV1 ? "dim" : "axis";
  return "sch[\"" + std::string(module) + "\"].shard(\"" + std::string(parameter) + "\", " +
         std::string(keyword) + "=" + std::to_string(dimension) + ")";
}

std::string sync_line(std::string_view target, std::string_view mode, std::string_view operation) {
  return "sch[\"" + std::string(target) + "\"].sync(mode=\"" + std::string(mode) +
         "\", sync_op_or_fn=\"" + std::string(operation) + "\")";
}

std::string transition(Spec from, Spec to) {
  return std::string(name_of(from)) + "->" + std::string(name_of(to));
}

void add_parameters(const Op& op, const OpSpecs& specs, CostModel model,
                    std::vector<std::string>& lines) {
  if (op.kind != OpKind::kMatmul || !op.module) return;
  if (specs.specs[1] == Spec::kRS) {
    // The weight is stored transposed.
    lines.push_back(shard_line(*op.module, "weight", model, 0));
    lines.push_back(shard_line(*op.module, "bias", model, 0));
  } else if (specs.specs[1] == Spec::kSR) {
    lines.push_back(shard_line(*op.module, "weight", model, 1));
    lines.push_back(sync_line(*op.module, "fwd_post", "all_reduce"));
  }
}

}  // namespace

Result<ImproveResult> improve(const Request& request, const Oracle& oracle,
                              const std::function<void(const Iteration&)>& on_iteration) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_request(*request.graph, request.devices));
  ImproveResult result;
  std::int64_t bound = kFirstBound * request.devices;
  for (std::size_t index = 0; index < kMaxIterations; ++index) {
    std::optional<Assignment> found = oracle(bound);
    if (!found) {
      result.exhausted = true;
      break;
    }
    SHARDWRIGHT_ASSIGN_OR_RETURN(Evaluation evaluation,
                                 evaluate(*request.graph, *found, request.devices, request.model));
    if (evaluation.scaled_total >= bound) {
      return Error{ErrorCode::kVerificationFailed,
                   "the oracle's assignment does not cost less than the bound",
                   "/iterations/" + std::to_string(index)};
    }
    bound = evaluation.scaled_total;
    result.last = Iteration{index, *std::move(found), std::move(evaluation)};
    result.iterations = index + 1;
    on_iteration(*result.last);
  }
  return result;
}

std::vector<std::string> schedule(const Graph& graph, const Assignment& assignment,
                                  CostModel model) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    add_parameters(graph.op(i), assignment[i], model, lines);
  }
  const std::vector<Spec> outputs = output_specs(graph, assignment, model);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const std::string& name = graph.op(i).name;
    const auto args = graph.args(i, model);
    for (std::size_t k = 0; k < args.size() && k < assignment[i].count; ++k) {
      const Spec required = assignment[i].specs[k];
      if (outputs[args[k]] == required) continue;
      lines.push_back(sync_line(name, "fwd_pre", transition(outputs[args[k]], required)));
    }
    if (graph.is_output(i, model) && outputs[i] != Spec::kRR) {
      lines.push_back(sync_line(name, "fwd_post", transition(outputs[i], Spec::kRR)));
    }
  }
  return lines;
}

}  // namespace shardwright::operators::autoshard
