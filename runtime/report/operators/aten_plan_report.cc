#include "runtime/report/operators/aten_plan_report.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/operators/aten/held_tensors.h"
#include "runtime/report/operators/aten_plan_text.h"

namespace shardwright {

FoldedPath fold_path(std::string_view path) {
  std::size_t begin = 0;
  while (begin < path.size()) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    FoldedPath folded;
    const auto [next, error] =
        std::from_chars(path.data() + begin, path.data() + end, folded.number);
    if (error == std::errc{} && next == path.data() + end && begin > 0) {
      folded.has_number = true;
      folded.before = path.substr(0, begin);
      folded.after = path.substr(end);
      return folded;
    }
    begin = end + 1;
  }
  return {std::string(path), "", false, 0};
}

namespace {

using namespace operators;

constexpr std::size_t kMostParts = 32;  // of a path; the rest is one part

bool is_number(std::string_view text) {
  constexpr std::size_t kMostDigits = 9;
  return !text.empty() && text.size() <= kMostDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Returns the costs of each node, with the moves of its inputs and of graph outputs that it makes.
std::vector<ModuleCosts> costs_by_node(const AtenGraph& graph, const AtenPlan& plan,
                                       std::span<const AtenMove> moves) {
  std::vector<ModuleCosts> costs(graph.size());
  for (std::size_t n = 0; n < graph.size(); ++n) {
    if (graph[n].is_placeholder()) continue;
    costs[n].operators = 1;
    (graph[n].backward ? costs[n].backward_us : costs[n].forward_us) = plan.nodes[n].compute_us;
  }
  for (const AtenMove& move : moves) {
    ModuleCosts& own = costs[move.to_output ? graph.outputs()[move.index].value.node : move.index];
    own.move_us += move.us;
    own.sent_bytes += move.sent_bytes;
    ++own.moves;
  }
  return costs;
}

// Builds the tree of modules from the nodes of the graph.
// Thread safety: one thread at a time.
class TreeBuilder {
 public:
  TreeBuilder(const AtenGraph& graph, const AtenPlan& plan, std::span<const AtenMove> moves)
      : graph_(graph), plan_(plan), node_costs_(costs_by_node(graph, plan, moves)) {}

  ReportedModule build() {
    for (std::uint32_t n = 0; n < graph_.size(); ++n) {
      if (!graph_[n].is_placeholder()) draft_of(graph_[n].module).operators.push_back(n);
    }
    for (std::uint32_t n = 0; n < graph_.size(); ++n) {
      if (graph_[n].is_placeholder()) innermost(graph_[n]).tensors.push_back(n);
    }
    return finished(root_, 0);
  }

 private:
  struct Draft {
    std::string name;  // within the outer module
    std::vector<std::uint32_t> tensors;
    std::vector<std::uint32_t> operators;
    std::vector<Draft> modules;
    std::map<std::string, std::size_t, std::less<>> places;  // name to index in `modules`
  };

  // Removes the first part of a path and returns it.
  static std::string_view next_part(std::string_view& path, std::size_t depth) {
    const std::size_t dot = depth + 1 < kMostParts ? path.find('.') : std::string_view::npos;
    const std::string_view part = path.substr(0, dot);
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
    return part;
  }

  Draft& draft_of(std::string_view path) {
    Draft* at = &root_;
    for (std::size_t depth = 0; !path.empty(); ++depth) {
      const std::string_view part = next_part(path, depth);
      const auto [place, is_new] = at->places.emplace(part, at->modules.size());
      if (is_new) at->modules.emplace_back().name = part;
      at = &at->modules[place->second];
    }
    return *at;
  }

  Draft& innermost(const AtenNode& node) {
    Draft* at = &root_;
    if (node.role != AtenRole::kParameter && node.role != AtenRole::kBuffer) return *at;
    std::string_view path = node.target;
    for (std::size_t depth = 0; !path.empty(); ++depth) {
      const auto place = at->places.find(next_part(path, depth));
      if (place == at->places.end()) break;
      at = &at->modules[place->second];
    }
    return *at;
  }

  ReportedModule finished(Draft& draft, std::size_t path_length) {
    ReportedModule module;
    module.name = std::move(draft.name);
    module.path_length = path_length;
    module.tensors = std::move(draft.tensors);
    module.operators = std::move(draft.operators);
    for (const std::uint32_t n : module.tensors) {
      if (graph_[n].role == AtenRole::kParameter || graph_[n].role == AtenRole::kBuffer) {
        module.costs.parameter_bytes +=
            local_bytes(*graph_[n].outputs[0], plan_.mesh,
                        plan_.nodes[n].outputs[0].value_or(redistribution::Placement()));
      }
      module.costs += node_costs_[n];
    }
    for (const std::uint32_t n : module.operators)
      module.costs += node_costs_[n];
    const std::size_t begin = path_length + (path_length > 0 ? 1 : 0);
    for (Draft& inner : draft.modules)
      module.modules.push_back(finished(inner, begin + inner.name.size()));
    for (const ReportedModule& inner : module.modules)
      module.costs += inner.costs;
    join_equal(module.modules);
    return join_single(std::move(module));
  }

  // Joins numbered siblings that are alike. Only siblings with equal costs are compared in full.
  void join_equal(std::vector<ReportedModule>& modules) const {
    std::vector<ReportedModule> joined;
    std::map<ModuleCosts, std::vector<std::size_t>> by_costs;
    for (ReportedModule& module : modules) {
      const bool has_number = is_number(module.name);
      if (has_number) {
        std::vector<std::size_t>& places = by_costs[module.costs];
        const auto equal = std::find_if(places.begin(), places.end(), [&](std::size_t place) {
          return are_alike(joined[place], module);
        });
        const auto number = static_cast<std::uint32_t>(std::stoul(module.name));
        if (equal != places.end()) {
          joined[*equal].numbers.push_back(number);
          continue;
        }
        places.push_back(joined.size());
        module.numbers = {number};
      }
      joined.push_back(std::move(module));
    }
    for (ReportedModule& module : joined) {
      std::sort(module.numbers.begin(), module.numbers.end());
      if (module.numbers.size() == 1) module.numbers.clear();
    }
    modules = std::move(joined);
  }

  // Returns true if two modules are equal except for their own names.
  bool are_alike(const ReportedModule& a, const ReportedModule& b) const {
    const auto all = [](const auto& left, const auto& right, const auto& equal) {
      return std::equal(left.begin(), left.end(), right.begin(), right.end(), equal);
    };
    return all(a.tensors, b.tensors,
               [&](std::uint32_t m, std::uint32_t n) {
                 return own_name(a, m) == own_name(b, n) && nodes_are_alike(m, n);
               }) &&
           all(a.operators, b.operators,
               [&](std::uint32_t m, std::uint32_t n) { return nodes_are_alike(m, n); }) &&
           all(a.modules, b.modules, [&](const ReportedModule& m, const ReportedModule& n) {
             return m.name == n.name && m.numbers == n.numbers && are_alike(m, n);
           });
  }

  std::string_view own_name(const ReportedModule& module, std::uint32_t tensor) const {
    return std::string_view(graph_[tensor].target).substr(module.path_length);
  }

  bool nodes_are_alike(std::uint32_t m, std::uint32_t n) const {
    const AtenNode &a = graph_[m], &b = graph_[n];
    const AtenNodePlan &p = plan_.nodes[m], &q = plan_.nodes[n];
    return a.op == b.op && a.role == b.role && a.outputs == b.outputs && a.backward == b.backward &&
           p.outputs == q.outputs && p.inputs == q.inputs && p.compute_us == q.compute_us &&
           node_costs_[m] == node_costs_[n];
  }

  static ReportedModule join_single(ReportedModule module) {
    const bool is_single = module.modules.size() == 1 && module.tensors.empty() &&
                           module.operators.empty() && module.numbers.empty();
    if (!is_single || module.name.empty() || !module.modules.front().numbers.empty()) return module;
    if (is_number(module.name)) return module;  // may be equal to its siblings
    ReportedModule inner = std::move(module.modules.front());
    inner.name = module.name + "." + inner.name;
    return inner;
  }

  const AtenGraph& graph_;
  const AtenPlan& plan_;
  std::vector<ModuleCosts> node_costs_;
  Draft root_;
};

}  // namespace

ModuleCosts& ModuleCosts::operator+=(const ModuleCosts& other) {
  operators += other.operators;
  forward_us += other.forward_us;
  backward_us += other.backward_us;
  move_us += other.move_us;
  moves += other.moves;
  sent_bytes += other.sent_bytes;
  parameter_bytes += other.parameter_bytes;
  return *this;
}

ReportedModule make_module_tree(const AtenGraph& graph, const AtenPlan& plan,
                                std::span<const AtenMove> moves) {
  return TreeBuilder(graph, plan, moves).build();
}

namespace {

using namespace operators;

// Returns the path without its number, which is added to `numbers`.
std::string without_number(const std::string& path, std::vector<std::uint32_t>& numbers) {
  const FoldedPath folded = fold_path(path);
  if (!folded.has_number) return path;
  numbers.push_back(folded.number);
  return folded.before + '\0' + folded.after;
}

std::string with_numbers(const std::string& path, std::vector<std::uint32_t> numbers) {
  constexpr std::size_t kWidth = 24;
  const std::size_t place = path.find('\0');
  if (numbers.empty() || place == std::string::npos) return path;
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return path.substr(0, place) + format_ranges(numbers, kWidth) + path.substr(place + 1);
}

void name_tensor(const AtenGraph& graph, const TensorRef& ref, MovedTensors& row) {
  const AtenNode& node = graph[ref.node];
  const AtenNode* owner = &node;
  while (owner->view)
    owner = &graph[owner->inputs[0].node];
  row.tensor = owner->is_placeholder() ? owner->target : std::string(operator_text(*owner));
  if (!owner->is_placeholder()) row.module = module_text(*owner);
  row.whole = graph.tensor(ref);
}

void name_consumer(const AtenGraph& graph, const AtenMove& move, MovedTensors& row) {
  if (!move.to_output) {
    const AtenNode& node = graph[move.index];
    row.consumer = operator_text(node);
    row.consumer_module = module_text(node);
    row.backward = node.backward;
    return;
  }
  const AtenOutput& output = graph.outputs()[move.index];
  row.consumer = output.role == AtenOutputRole::kGradient   ? "gradient"
                 : output.role == AtenOutputRole::kMutation ? "new value"
                                                            : "output";
  row.consumer_module = output.target;
  row.backward = output.role == AtenOutputRole::kGradient;
}

// Joins equal moves.
// Thread safety: one thread at a time.
class MoveRows {
 public:
  MoveRows(const AtenGraph& graph, const AtenPlan& plan) : graph_(graph), plan_(plan) {}

  void add(const AtenMove& move) {
    MovedTensors row;
    const TensorRef& ref =
        move.to_output ? graph_.outputs()[move.index].value : graph_[move.index].inputs[move.input];
    name_tensor(graph_, ref, row);
    name_consumer(graph_, move, row);
    row.source = *plan_.nodes[ref.node].outputs[ref.output];
    row.target = move.to_output ? plan_.outputs[move.index].placement
                                : *plan_.nodes[move.index].inputs[move.input];
    row.path = move.path;
    row.us = move.us;
    row.sent_bytes = move.sent_bytes;
    Numbers numbers;
    row.tensor = without_number(row.tensor, numbers.tensor);
    row.module = without_number(row.module, numbers.module);
    row.consumer_module = without_number(row.consumer_module, numbers.consumer_module);
    const auto [place, is_new] = places_.emplace(key_of(row), rows_.size());
    if (is_new) {
      rows_.push_back(std::move(row));
      numbers_.emplace_back();
    }
    ++rows_[place->second].count;
    numbers_[place->second].add(numbers);
  }

  // Returns the rows in descending order of their total time.
  std::vector<MovedTensors> finish() {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      MovedTensors& row = rows_[r];
      row.tensor = with_numbers(row.tensor, numbers_[r].tensor);
      row.module = with_numbers(row.module, numbers_[r].module);
      row.consumer_module = with_numbers(row.consumer_module, numbers_[r].consumer_module);
    }
    std::stable_sort(rows_.begin(), rows_.end(), [](const MovedTensors& a, const MovedTensors& b) {
      return a.us * static_cast<double>(a.count) > b.us * static_cast<double>(b.count);
    });
    return std::move(rows_);
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string, bool, std::string,
                         std::uint64_t, std::uint64_t, double>;
  // The numbers in the paths of a joined row.
  struct Numbers {
    std::vector<std::uint32_t> tensor, module, consumer_module;

    void add(const Numbers& other) {
      tensor.insert(tensor.end(), other.tensor.begin(), other.tensor.end());
      module.insert(module.end(), other.module.begin(), other.module.end());
      consumer_module.insert(consumer_module.end(), other.consumer_module.begin(),
                             other.consumer_module.end());
    }
  };

  static Key key_of(const MovedTensors& row) {
    return {row.tensor,
            row.module,
            row.consumer,
            row.consumer_module,
            row.backward,
            shape_text(row.whole) + std::string(type_text(row.whole)),
            row.source.code(),
            row.target.code(),
            row.us};
  }

  const AtenGraph& graph_;
  const AtenPlan& plan_;
  std::map<Key, std::size_t> places_;
  std::vector<MovedTensors> rows_;
  std::vector<Numbers> numbers_;  // index: row
};

}  // namespace

std::vector<MovedTensors> moved_tensors(const AtenGraph& graph, const AtenPlan& plan,
                                        std::span<const AtenMove> moves) {
  MoveRows rows(graph, plan);
  for (const AtenMove& move : moves)
    rows.add(move);
  return rows.finish();
}

namespace {

using namespace operators;

// Returns the beginning of every time point in us. Operators run one after the other, each after
// the moves of its inputs. A graph output moves after the operator that makes it. Hidden moves take
// no time.
std::vector<double> begins_us(const AtenGraph& graph, const AtenPlan& plan) {
  std::vector<double> us(num_time_points(graph) + 1, 0);
  for (std::size_t n = 0; n < graph.size(); ++n) {
    const std::vector<double>& moves = plan.nodes[n].redistribute_us;
    const std::vector<double>& hidden = plan.nodes[n].hidden_us;
    us[n + 1] = plan.nodes[n].compute_us + std::accumulate(moves.begin(), moves.end(), 0.0) -
                std::accumulate(hidden.begin(), hidden.end(), 0.0);
  }
  for (std::size_t o = 0; o < graph.outputs().size(); ++o)
    us[graph.outputs()[o].value.node + 1] +=
        plan.outputs[o].redistribute_us - plan.outputs[o].hidden_us;
  std::partial_sum(us.begin(), us.end(), us.begin());
  us.pop_back();
  return us;
}

std::vector<ReportedMemory> reported_memory(const std::vector<AtenMemory>& memory,
                                            const std::vector<double>& begins) {
  const std::size_t most = AtenPlanReport::kMostMemoryPoints;
  const std::size_t together = (memory.size() + most - 1) / most;
  std::vector<ReportedMemory> points;
  for (std::size_t t = 0; t < memory.size(); t += together) {
    std::size_t fullest = t;
    for (std::size_t i = t; i < std::min(t + together, memory.size()); ++i) {
      if (memory[i].total() > memory[fullest].total()) fullest = i;
    }
    points.push_back({begins[t], memory[fullest], static_cast<std::uint32_t>(fullest)});
  }
  return points;
}

std::optional<double> backward_at(const AtenGraph& graph, const std::vector<double>& begins) {
  for (std::size_t n = 0; n < graph.size(); ++n) {
    if (graph[n].backward) return begins[n];
  }
  return std::nullopt;
}

// Describes an output of the graph, or the copy of a tensor that was moved to be the output.
void describe_output(const AtenGraph& graph, const AtenPlan& plan, std::size_t output,
                     ReportedHeld& row) {
  row.name = graph.outputs()[output].target;
  row.kind = graph.outputs()[output].role == AtenOutputRole::kGradient ? "gradient" : "output";
  row.whole = graph.tensor(graph.outputs()[output].value);
  row.placement = plan.outputs[output].placement;
}

// Describes a held tensor without its bytes.
ReportedHeld described(const AtenGraph& graph, const AtenPlan& plan, const HeldTensor& held) {
  ReportedHeld row;
  if (held.kind == HeldTensor::Kind::kGraphOutput) {
    describe_output(graph, plan, held.index, row);
    return row;
  }
  if (held.is_taken() && held.index >= graph.size()) {
    describe_output(graph, plan, held.index - graph.size(), row);
    if (held.kind == HeldTensor::Kind::kMoving) row.kind = "moving";
    return row;
  }
  const AtenNode& node = graph[held.index];
  row.name = node.is_placeholder()
                 ? node.target
                 : std::string(operator_text(node)) + " in " + std::string(module_text(node));
  if (held.is_taken() || held.kind == HeldTensor::Kind::kLastTaken) {
    row.kind = held.kind == HeldTensor::Kind::kMoving ? "moving" : "moved copy";
    const bool moves = held.is_taken() && !(node.view && held.kind == HeldTensor::Kind::kMoved);
    if (!moves) row.kind = "activation";
    row.whole = graph.tensor(node.inputs[held.tensor]);
    row.placement = plan.nodes[held.index].inputs[held.tensor];
    return row;
  }
  row.kind = node.is_placeholder() ? std::string(role_text(node.role)) : "activation";
  row.whole = *node.outputs[held.tensor];
  row.placement = plan.nodes[held.index].outputs[held.tensor];
  return row;
}

std::vector<ReportedHeld> held_at(const AtenGraph& graph, const AtenPlan& plan,
                                  std::int64_t optimizer_states, std::uint32_t moment) {
  FoldedRows<ReportedHeld> folded;
  for (const HeldTensor& held : held_tensors(graph, optimizer_states)) {
    if (held.live.begin > moment || held.live.end <= moment) continue;
    ReportedHeld row = described(graph, plan, held);
    row.bytes = held_bytes(graph, plan, held);
    if (row.bytes == 0) continue;
    folded.add(row.name, row);
    if (held.copies == 1) continue;
    row.kind = "optimizer states";
    row.bytes *= held.copies - 1;
    folded.add(row.name, row);
  }
  std::vector<ReportedHeld> rows;
  folded.for_each([&](const std::string& name, const ReportedHeld& row, std::size_t count) {
    rows.push_back(row);
    rows.back().name = name;
    rows.back().count = count;
  });
  std::stable_sort(rows.begin(), rows.end(), [](const ReportedHeld& a, const ReportedHeld& b) {
    return a.bytes * static_cast<std::int64_t>(a.count) >
           b.bytes * static_cast<std::int64_t>(b.count);
  });
  return rows;
}

}  // namespace

AtenPlanReport make_aten_plan_report(const AtenGraph& graph, const PlanAtenOptions& options,
                                     const AtenPlanResult& result,
                                     std::span<const AtenMove> moves) {
  AtenPlanReport report;
  if (!result.plan) return report;
  const AtenPlan& plan = *result.plan;
  report.model = make_module_tree(graph, plan, moves);
  report.moves = moved_tensors(graph, plan, moves);
  const std::vector<double> begins = begins_us(graph, plan);
  report.memory = reported_memory(memory_over_time(graph, plan, options.optimizer_states), begins);
  report.backward_at_us = backward_at(graph, begins);
  report.held = held_at(graph, plan, options.optimizer_states, result.evaluation.peak_moment);
  report.held_rows = report.held.size();
  if (report.held.size() > AtenPlanReport::kMostHeld) report.held.resize(AtenPlanReport::kMostHeld);
  return report;
}

}  // namespace shardwright
