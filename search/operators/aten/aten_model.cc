#include "search/operators/aten/aten_model.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/nearest_name.h"
#include "core/operators/aten/held_tensors.h"
#include "core/operators/instance/cost_instance.h"
#include "core/redistribution/placement/placement.h"
#include "core/redistribution/placement/placement_notation.h"
#include "core/text/printable.h"

namespace shardwright::operators {
namespace {

using redistribution::Placement;

// What a transfer depends on: the classes at both ends, the tensor, and what hides the move.
struct TransferKind {
  std::uint32_t from = 0;  // class
  std::uint32_t output = 0;
  std::uint32_t to = 0;  // class
  std::uint32_t input = 0;
  bool equal = false;  // the edge only forbids different placements
  Hiding hiding;
  std::uint8_t use = 0;  // RoleRules::kind_of()

  friend auto operator<=>(const TransferKind&, const TransferKind&) = default;
};

std::vector<double> equality(const PlacementColumn& source, const PlacementColumn& target) {
  std::vector<double> costs;
  for (const Placement& from : source.distinct) {
    for (const Placement& to : target.distinct)
      costs.push_back(from == to ? 0 : kForbidden);
  }
  return costs;
}

// For the edge from a mover to a consumer that hides a part of the time of moving. Gives each
// choice of the mover a separate row, and adds the choice's time of moving to this row.
void charge_by_mover(const StrategyClass& mover, AtenTransfer& transfer) {
  const std::vector<double> equal = std::move(transfer.costs);
  transfer.costs.clear();
  for (std::size_t s = 0; s < mover.size(); ++s) {
    for (std::size_t column = 0; column < transfer.columns; ++column)
      transfer.costs.push_back(equal[std::size_t{transfer.row_of[s]} * transfer.columns + column] +
                               mover.moving_us[s]);
  }
  transfer.rows = static_cast<std::uint32_t>(mover.size());
  std::iota(transfer.row_of.begin(), transfer.row_of.end(), 0U);
}

// A row or column before regroup(), and a compute time of the operator that hides moving.
using Hidden = std::pair<std::uint32_t, double>;

// Divides each group of choices in `group_of` by their compute times. Returns the new groups in
// order of appearance, and sets `group_of` to their numbers.
std::vector<Hidden> regroup(const std::vector<double>& compute_us,
                            std::vector<std::uint32_t>& group_of) {
  std::vector<Hidden> groups;
  std::map<Hidden, std::uint32_t> numbers;
  for (std::size_t s = 0; s < group_of.size(); ++s) {
    const Hidden group{group_of[s], compute_us[s]};
    const auto [at, is_new] = numbers.emplace(group, static_cast<std::uint32_t>(groups.size()));
    if (is_new) groups.push_back(group);
    group_of[s] = at->second;
  }
  return groups;
}

void hide(const Hiding& hiding, const StrategyClass& producer, const StrategyClass& consumer,
          AtenTransfer& transfer) {
  std::vector<double> costs;
  const auto add = [&](std::size_t row, std::size_t column, double compute_us) {
    const double us = transfer.costs[row * transfer.columns + column];
    costs.push_back(us - hiding.hidden_us(us, compute_us));
  };
  if (hiding.by == Hiding::By::kConsumer) {
    const std::vector<Hidden> groups = regroup(consumer.compute_us, transfer.column_of);
    for (std::size_t row = 0; row < transfer.rows; ++row) {
      for (const auto& [column, compute_us] : groups)
        add(row, column, compute_us);
    }
    transfer.columns = static_cast<std::uint32_t>(groups.size());
  } else {
    const std::vector<Hidden> groups = regroup(producer.compute_us, transfer.row_of);
    for (const auto& [row, compute_us] : groups) {
      for (std::size_t column = 0; column < transfer.columns; ++column)
        add(row, column, compute_us);
    }
    transfer.rows = static_cast<std::uint32_t>(groups.size());
  }
  transfer.costs = std::move(costs);
}

// For the edge from a producer to a mover. Gives each choice of the mover a separate column. A
// source placement allows the choice if moving from it takes the bytes of the choice and, if the
// mover has times, its time. In this case the edge to the consumer has the cost, and this edge has
// none.
void split_by_mover(const AtenTensor& tensor, const AtenVariables& variables,
                    const PlacementColumn& source, const StrategyClass& mover,
                    AtenTransfer& transfer) {
  const PlacementColumn& target = *mover.inputs[0];
  const std::size_t targets = target.distinct.size();
  std::vector<double> costs;
  for (std::size_t from = 0; from < source.distinct.size(); ++from) {
    std::int64_t bytes = 0;
    for (std::size_t s = 0; s < mover.size(); ++s) {
      // Choices with one target are consecutive.
      if (s == 0 || target.index[s] != target.index[s - 1]) {
        bytes = moving_bytes(tensor, variables.mesh(), source.distinct[from], target.of(s),
                             variables.backend());
      }
      const double us = transfer.costs[from * targets + target.index[s]];
      if (bytes != mover.moving_bytes[s]) {
        costs.push_back(kForbidden);
      } else if (mover.moving_us.empty()) {
        costs.push_back(us);
      } else {
        costs.push_back(us == mover.moving_us[s] && us < kForbidden ? 0 : kForbidden);
      }
    }
  }
  transfer.costs = std::move(costs);
  transfer.columns = static_cast<std::uint32_t>(mover.size());
  transfer.column_of.resize(mover.size());
  std::iota(transfer.column_of.begin(), transfer.column_of.end(), 0U);
}

// Collects the distinct transfers of a graph and computes their costs.
// Thread safety: one thread at a time.
class TransferMaker {
 public:
  TransferMaker(const AtenVariables& variables, const Overlap& overlap, TransitionCosts& costs)
      : variables_(variables), overlap_(overlap), costs_(costs) {}

  AtenTransfers run(Executor& executor) {
    const AtenGraph& graph = variables_.graph();
    for (std::uint32_t n = 0; n < graph.size(); ++n) {
      for (std::uint32_t i = 0; i < graph[n].inputs.size(); ++i)
        add({n, i});
    }
    for (std::uint32_t o = 0; o < graph.outputs().size(); ++o)
      add({variables_.output_variable(o), 0});
    for (const AtenPair& pair : graph.pairs())
      add_pair(pair);
    result_.transfers.resize(kinds_.size());
    executor.parallel_for(kinds_.size(), 1, [&](unsigned, std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k)
        result_.transfers[k] = make(kinds_[k], tensors_[k]);
    });
    return std::move(result_);
  }

 private:
  void add(const TakenTensor& taken) {
    const TensorRef ref = taken_value(variables_.graph(), taken);
    if (!variables_.strategies(ref.node).outputs[ref.output]) return;
    if (!variables_.strategies(taken.consumer).inputs[taken.input]) return;
    const std::uint32_t from = variables_.class_of(ref.node);
    const std::uint32_t to = variables_.class_of(taken.consumer);
    const std::optional<std::uint32_t> mover = variables_.mover_of(taken);
    const Hiding& hiding = overlap_.of(taken);
    const std::uint8_t use = variables_.roles().kind_of(taken);
    if (!mover) {
      return add_edge(ref.node, taken.consumer,
                      {from, ref.output, to, taken.input, false, hiding, use}, ref);
    }
    const std::uint32_t way = variables_.class_of(*mover);
    const bool by_consumer = hiding.by == Hiding::By::kConsumer;
    add_edge(ref.node, *mover,
             {from, ref.output, way, 0, false, by_consumer ? Hiding() : hiding, use}, ref);
    add_edge(*mover, taken.consumer,
             {way, 0, to, taken.input, true, by_consumer ? hiding : Hiding(), 0}, ref);
  }

  void add_pair(const AtenPair& pair) {
    if (!variables_.strategies(pair.placeholder).outputs[0]) return;
    const std::uint32_t output = variables_.output_variable(pair.output);
    add_edge(pair.placeholder, output,
             {variables_.class_of(pair.placeholder), 0, variables_.class_of(output), 0, true, {}, 0},
             {pair.placeholder, 0});
  }

  void add_edge(std::uint32_t first, std::uint32_t second, const TransferKind& kind,
                const TensorRef& ref) {
    const auto [at, is_new] = numbers_.emplace(kind, static_cast<std::uint32_t>(kinds_.size()));
    if (is_new) {
      kinds_.push_back(kind);
      tensors_.push_back(ref);
    }
    result_.edges.push_back({first, second, at->second});
  }

  AtenTransfer make(const TransferKind& kind, const TensorRef& ref) const {
    const PlacementColumn& source = *variables_.class_strategies(kind.from).outputs[kind.output];
    const PlacementColumn& target = *variables_.class_strategies(kind.to).inputs[kind.input];
    AtenTransfer transfer;
    transfer.rows = static_cast<std::uint32_t>(source.distinct.size());
    transfer.columns = static_cast<std::uint32_t>(target.distinct.size());
    transfer.costs =
        kind.equal ? equality(source, target)
                   : moving_us(kind.use, variables_.graph().tensor(ref), source, target);
    transfer.row_of = source.index;
    transfer.column_of = target.index;
    const StrategyClass& producer = variables_.class_strategies(kind.from);
    const StrategyClass& consumer = variables_.class_strategies(kind.to);
    if (!consumer.moving_bytes.empty())
      split_by_mover(variables_.graph().tensor(ref), variables_, source, consumer, transfer);
    if (kind.hiding.by == Hiding::By::kNothing) return transfer;
    if (!producer.moving_us.empty()) charge_by_mover(producer, transfer);
    hide(kind.hiding, producer, consumer, transfer);
    return transfer;
  }

  // Forbids the moves that the roles of the axes do not allow.
  std::vector<double> moving_us(std::uint8_t use, const AtenTensor& tensor,
                                const PlacementColumn& source,
                                const PlacementColumn& target) const {
    std::vector<double> costs = costs_.table(tensor, source.distinct, target.distinct);
    auto cost = costs.begin();
    for (const Placement& from : source.distinct) {
      for (const Placement& to : target.distinct) {
        if (!variables_.roles().may_move(use, from, to)) *cost = kForbidden;
        ++cost;
      }
    }
    return costs;
  }

  const AtenVariables& variables_;
  const Overlap& overlap_;
  TransitionCosts& costs_;
  std::map<TransferKind, std::uint32_t> numbers_;
  std::vector<TransferKind> kinds_;  // by transfer
  std::vector<TensorRef> tensors_;   // by transfer
  AtenTransfers result_;
};

using HeldKind = HeldTensor::Kind;
using Bytes = std::vector<std::int64_t>;

// Returns the bytes of all copies of a tensor, by strategy.
Bytes bytes_of_column(const AtenTensor& tensor, const std::optional<PlacementColumn>& column,
                      std::int64_t copies, const AtenVariables& variables,
                      std::uint32_t class_number) {
  const std::size_t size = variables.class_strategies(class_number).size();
  const redistribution::MeshShape& mesh = variables.mesh();
  if (!column) return Bytes(size, copies * local_bytes(tensor, mesh, {}));
  Bytes by_placement;
  for (const redistribution::Placement& placement : column->distinct)
    by_placement.push_back(copies * local_bytes(tensor, mesh, placement));
  Bytes bytes;
  for (std::size_t s = 0; s < size; ++s)
    bytes.push_back(by_placement[column->index[s]]);
  return bytes;
}

// Returns the variable whose choice decides the bytes of a held tensor; none for a move without a
// mover.
std::optional<std::uint32_t> variable_of(const AtenVariables& variables, const HeldTensor& held) {
  if (held.is_taken()) return variables.mover_of(held.taken());
  return held.kind == HeldKind::kGraphOutput ? variables.output_variable(held.index) : held.index;
}

// Returns the bytes of a tensor in motion, by choice of its mover; 0 if the tensor stays.
Bytes bytes_of_moved(const AtenVariables& variables, const HeldTensor& held,
                     std::uint32_t class_number) {
  const StrategyClass& mover = variables.class_strategies(class_number);
  if (held.kind == HeldKind::kMoving) return mover.moving_bytes;
  const AtenGraph& graph = variables.graph();
  Bytes bytes = bytes_of_column(graph.tensor(taken_value(graph, held.taken())), mover.outputs[0], 1,
                                variables, class_number);
  for (std::size_t s = 0; s < bytes.size(); ++s) {
    if (mover.moving_bytes[s] == 0) bytes[s] = 0;
  }
  return bytes;
}

// Returns the bytes of a held tensor, by choice of its variable.
Bytes bytes_of_held(const AtenVariables& variables, const HeldTensor& held,
                    std::uint32_t variable) {
  const AtenGraph& graph = variables.graph();
  const std::uint32_t number = variables.class_of(variable);
  if (held.is_taken()) return bytes_of_moved(variables, held, number);
  const StrategyClass& strategies = variables.strategies(variable);
  if (held.kind == HeldKind::kGraphOutput) {
    return bytes_of_column(graph.tensor(graph.outputs()[held.index].value), strategies.inputs[0],
                           held.copies, variables, number);
  }
  if (held.kind == HeldKind::kLastTaken) {
    return bytes_of_column(graph.tensor(graph[held.index].inputs[held.tensor]),
                           strategies.inputs[held.tensor], held.copies, variables, number);
  }
  return bytes_of_column(*graph[held.index].outputs[held.tensor], strategies.outputs[held.tensor],
                         held.copies, variables, number);
}

// By time point: the sum over all usages of `bytes_of`, which gets a usage and its bytes by choice.
template <class BytesOf>
std::vector<std::int64_t> sums_over_time(const AtenUsages& usages, const BytesOf& bytes_of) {
  std::vector<std::int64_t> sums(usages.num_time_points + 1, 0);  // at first differences
  for (const AtenUsages::Usage& usage : usages.usages) {
    const std::int64_t bytes = bytes_of(usage, usages.bytes[usage.bytes]);
    sums[usage.live.begin] += bytes;
    sums[usage.live.end] -= bytes;
  }
  std::partial_sum(sums.begin(), sums.end(), sums.begin());
  return sums;
}

std::vector<std::int64_t> least_sums(const AtenUsages& usages) {
  return sums_over_time(usages, [](const auto&, const std::vector<std::int64_t>& bytes) {
    return *std::min_element(bytes.begin(), bytes.end());
  });
}

std::size_t index_of_most(const std::vector<std::int64_t>& sums) {
  return static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
}

AtenRole role_of(AtenConstraint::Of of) {
  switch (of) {
    case AtenConstraint::Of::kParameter:
      return AtenRole::kParameter;
    case AtenConstraint::Of::kBuffer:
      return AtenRole::kBuffer;
    case AtenConstraint::Of::kTangent:
      return AtenRole::kTangent;
    default:
      return AtenRole::kInput;
  }
}

std::string_view word_of(AtenConstraint::Of of) {
  switch (of) {
    case AtenConstraint::Of::kParameter:
      return "parameter";
    case AtenConstraint::Of::kBuffer:
      return "buffer";
    case AtenConstraint::Of::kInput:
      return "input";
    case AtenConstraint::Of::kTangent:
      return "tangent";
    case AtenConstraint::Of::kOutput:
      return "output";
  }
  return "";
}

// A tensor that a constraint may name by its target, and the variable that decides its placement.
struct Named {
  std::string_view target;
  std::size_t variable = 0;
};

std::vector<Named> named_tensors(const AtenGraph& graph, const AtenVariables& variables,
                                 AtenConstraint::Of of) {
  std::vector<Named> named;
  if (of == AtenConstraint::Of::kOutput) {
    for (std::size_t o = 0; o < graph.outputs().size(); ++o) {
      const AtenOutput& output = graph.outputs()[o];
      if (output.role == AtenOutputRole::kOutput)
        named.push_back({output.target, variables.output_variable(o)});
    }
    return named;
  }
  const AtenRole role = role_of(of);
  for (std::size_t n = 0; n < graph.size(); ++n) {
    if (graph[n].role == role) named.push_back({graph[n].target, n});
  }
  return named;
}

Error unknown_target(const std::string& where, const AtenConstraint& constraint,
                     const std::vector<Named>& named) {
  const std::string kind(word_of(constraint.of));
  if (named.empty()) return invalid_input(where, "the graph has no " + kind + "s");
  std::vector<std::string_view> known;
  known.reserve(named.size());
  for (const Named& each : named)
    known.push_back(each.target);
  return invalid_input(where, "unknown " + kind + " " + quoted(constraint.target) +
                                  suggestion(constraint.target, known));
}

// Returns the placement as files write it: "[R, S0]".
std::string placement_text(const redistribution::Placement& placement, std::size_t num_axes) {
  std::string text;
  for (const std::string& word : redistribution::to_words(placement, num_axes))
    text += (text.empty() ? "" : ", ") + (word == "P(sum)" ? "P" : word);
  std::erase_if(text, [](char c) { return c == '(' || c == ')'; });
  return "[" + text + "]";
}

// Lists the distinct placements that strategies have for a tensor.
std::string allowed_text(const std::optional<PlacementColumn>& column, std::size_t strategies,
                         std::size_t num_axes) {
  constexpr std::size_t kMostShown = 12;
  std::vector<std::string> allowed;
  for (std::size_t s = 0; column && s < strategies; ++s) {
    std::string text = placement_text(column->of(s), num_axes);
    if (std::find(allowed.begin(), allowed.end(), text) == allowed.end())
      allowed.push_back(std::move(text));
  }
  std::string list;
  for (std::size_t i = 0; i < std::min(allowed.size(), kMostShown); ++i)
    list += (list.empty() ? "" : ", ") + allowed[i];
  if (allowed.size() > kMostShown)
    list += " and " + std::to_string(allowed.size() - kMostShown) + " more";
  return list.empty() ? "none" : list;
}

Error impossible_placement(const std::string& where, const AtenConstraint& constraint,
                           const AtenTensor& tensor, const std::string& allowed,
                           std::size_t num_axes) {
  return invalid_input(
      where, "a tensor of shape " + extents_text({tensor.shape.data(), tensor.shape.size()}) +
                 ", with " + std::to_string(tensor.shape.size()) +
                 (tensor.shape.size() == 1 ? " dimension" : " dimensions") +
                 ", cannot be placed as " + placement_text(constraint.placement, num_axes) +
                 " on this mesh; allowed: " + allowed);
}

const AtenTensor& placed_tensor(const AtenGraph& graph, std::size_t variable) {
  return variable < graph.size() ? *graph[variable].outputs[0]
                                 : graph.tensor(graph.outputs()[variable - graph.size()].value);
}

// Returns true if the text is the pattern, in which each `*` stands for any text.
bool fits_pattern(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t begin = star; begin <= text.size(); ++begin) {
    if (fits_pattern(rest, text.substr(begin))) return true;
  }
  return false;
}

bool fits(const redistribution::Placement& placement, const redistribution::Placement& wanted,
          std::uint8_t any_axes, std::size_t num_axes) {
  if (any_axes == 0) return placement == wanted;
  for (std::size_t axis = 0; axis < num_axes; ++axis) {
    if ((any_axes >> axis & 1U) == 0 && placement.on(axis) != wanted.on(axis)) return false;
  }
  return true;
}

// Forbids the strategies of a variable that do not place its tensor as the constraint says.
Status constrain(const AtenVariables& variables, const AtenConstraint& constraint,
                 const std::string& where, std::size_t variable, std::vector<double>& costs) {
  const AtenGraph& graph = variables.graph();
  const std::size_t num_axes = variables.mesh().size();
  const StrategyClass& strategies = variables.strategies(variable);
  const std::optional<PlacementColumn>& column =
      variable < graph.size() ? strategies.outputs[0] : strategies.inputs[0];
  const redistribution::Placement wanted =
      redistribution::effective_placement(variables.mesh(), constraint.placement);
  bool any = false;
  for (std::size_t s = 0; s < strategies.size(); ++s) {
    const bool is_wanted = column && fits(column->of(s), wanted, constraint.any_axes, num_axes);
    if (!is_wanted) costs[s] = kForbidden;
    any = any || is_wanted;
  }
  if (any) return {};
  return impossible_placement(where, constraint, placed_tensor(graph, variable),
                              allowed_text(column, strategies.size(), num_axes), num_axes);
}

Status constrain(const AtenVariables& variables, const std::vector<AtenConstraint>& constraints,
                 std::vector<std::vector<double>>& costs) {
  std::vector<char> is_constrained(variables.size(), 0);
  for (const AtenConstraint& constraint : constraints) {
    const std::string where =
        "/placements/" + std::string(word_of(constraint.of)) + "s/" + constraint.target;
    const std::vector<Named> named = named_tensors(variables.graph(), variables, constraint.of);
    bool any = false;
    for (const Named& each : named) {
      if (!fits_pattern(constraint.target, each.target)) continue;
      any = true;
      if (std::exchange(is_constrained[each.variable], 1) != 0) continue;
      SHARDWRIGHT_RETURN_IF_ERROR(
          constrain(variables, constraint, where, each.variable, costs[each.variable]));
    }
    if (!any) return unknown_target(where, constraint, named);
  }
  return {};
}

std::vector<std::vector<double>> compute_costs(const AtenVariables& variables) {
  std::vector<std::vector<double>> costs;
  costs.reserve(variables.size());
  for (std::size_t v = 0; v < variables.size(); ++v)
    costs.push_back(variables.strategies(v).compute_us);
  return costs;
}

// One call of lower(). Thread safety: one thread at a time.
class Lowering {
 public:
  Lowering(const AtenModel& model, const KeptChoices& kept) : model_(model), kept_(kept) {}

  CostInstanceSpec run(std::optional<std::int64_t> limit) {
    for (std::uint32_t v = 0; v < kept_.size(); ++v) {
      kinds_.push_back(kind_of(v));
      CostInstanceSpec::Node& node = spec_.nodes.emplace_back();
      node.name = model_.variables.name(v);
      for (const std::uint32_t choice : kept_[v])
        node.costs.push_back(model_.costs[v][choice]);
    }
    for (const AtenTransfers::Edge& edge : model_.transfers.edges)
      spec_.edges.push_back({edge.first, edge.second, matrix_of(edge)});
    if (!limit) return std::move(spec_);
    spec_.limits.assign(model_.usages.num_time_points, *limit);
    for (const AtenUsages::Usage& usage : model_.usages.usages) {
      CostInstanceSpec::Usage& lowered = spec_.usages.emplace_back();
      lowered.node = usage.variable;
      lowered.live = usage.live;
      for (const std::uint32_t choice : kept_[usage.variable])
        lowered.bytes.push_back(model_.usages.bytes[usage.bytes][choice]);
    }
    return std::move(spec_);
  }

 private:
  // Returns the number of this pair: the class of the variable and its kept choices.
  std::uint32_t kind_of(std::size_t variable) {
    return kind_numbers_
        .try_emplace({model_.variables.class_of(variable), kept_[variable]},
                     static_cast<std::uint32_t>(kind_numbers_.size()))
        .first->second;
  }

  std::uint32_t matrix_of(const AtenTransfers::Edge& edge) {
    const auto [at, is_new] =
        matrix_numbers_.try_emplace({edge.transfer, kinds_[edge.first], kinds_[edge.second]},
                                    static_cast<std::uint32_t>(spec_.matrices.size()));
    if (!is_new) return at->second;
    const AtenTransfer& transfer = model_.transfers.transfers[edge.transfer];
    const std::vector<std::uint32_t>& rows = kept_[edge.first];
    const std::vector<std::uint32_t>& columns = kept_[edge.second];
    CostInstanceSpec::Matrix& matrix = spec_.matrices.emplace_back();
    matrix.rows = static_cast<std::uint32_t>(rows.size());
    matrix.columns = static_cast<std::uint32_t>(columns.size());
    matrix.entries.reserve(rows.size() * columns.size());
    for (const std::uint32_t from : rows) {
      for (const std::uint32_t to : columns)
        matrix.entries.push_back(transfer.cost(from, to));
    }
    return at->second;
  }

  const AtenModel& model_;
  const KeptChoices& kept_;
  CostInstanceSpec spec_;
  std::vector<std::uint32_t> kinds_;  // by variable
  std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> kind_numbers_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> matrix_numbers_;
};

}  // namespace

AtenTransfers make_transfers(const AtenVariables& variables, const Overlap& overlap,
                             TransitionCosts& costs, Executor& executor) {
  return TransferMaker(variables, overlap, costs).run(executor);
}

AtenUsages make_usages(const AtenVariables& variables, std::int64_t optimizer_states) {
  const AtenGraph& graph = variables.graph();
  std::vector<HeldTensor> held = held_tensors(graph, optimizer_states);
  std::erase_if(held, [&](const HeldTensor& tensor) { return !variable_of(variables, tensor); });
  std::vector<TimeInterval> intervals;
  intervals.reserve(held.size());
  for (const HeldTensor& tensor : held)
    intervals.push_back({tensor.live.begin, tensor.live.end});
  const CompressedIntervals compressed = compress(intervals);
  AtenUsages result;
  result.num_time_points = compressed.num_time_points;
  // Tensors with the same key have the same bytes, which are computed once.
  std::map<std::tuple<std::uint32_t, HeldKind, std::uint32_t, std::int64_t>, std::uint32_t> known;
  for (std::size_t h = 0; h < held.size(); ++h) {
    if (compressed.intervals[h].empty()) continue;
    const std::uint32_t variable = *variable_of(variables, held[h]);
    const auto [at, is_new] = known.try_emplace(
        {variables.class_of(variable), held[h].kind, held[h].tensor, held[h].copies},
        static_cast<std::uint32_t>(result.bytes.size()));
    if (is_new) result.bytes.push_back(bytes_of_held(variables, held[h], variable));
    result.usages.push_back({variable, compressed.intervals[h], at->second});
  }
  return result;
}

std::int64_t least_peak(const AtenUsages& usages) {
  const std::vector<std::int64_t> sums = least_sums(usages);
  return *std::max_element(sums.begin(), sums.end());
}

std::size_t fullest_time(const AtenUsages& usages) { return index_of_most(least_sums(usages)); }

std::size_t fullest_time(const AtenUsages& usages, const std::vector<std::uint32_t>& choice) {
  return index_of_most(sums_over_time(
      usages, [&](const AtenUsages::Usage& usage, const std::vector<std::int64_t>& bytes) {
        return bytes[choice[usage.variable]];
      }));
}

Result<AtenModel> build_model(const AtenGraph& graph, const AtenRequest& request,
                              TransitionCosts& transitions, Executor& executor,
                              std::span<const TakenTensor> moved) {
  Overlap overlap(graph, request.overlap);
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      AtenVariables variables,
      AtenVariables::make(graph, {request.mesh, request.backend, request.roles},
                          {request.device, transitions, overlap}, moved, executor));
  std::vector<std::vector<double>> costs = compute_costs(variables);
  SHARDWRIGHT_RETURN_IF_ERROR(constrain(variables, request.constraints, costs));
  AtenTransfers transfers = make_transfers(variables, overlap, transitions, executor);
  AtenUsages usages;
  if (request.memory_limit) usages = make_usages(variables, request.optimizer_states);
  std::vector<std::uint32_t> leaders(variables.size());
  std::iota(leaders.begin(), leaders.end(), 0U);
  if (request.blocks == BlockSharing::kEqual) leaders = block_leaders(variables);
  return AtenModel{std::move(overlap),   std::move(variables), std::move(costs),
                   std::move(transfers), std::move(usages),    std::move(leaders)};
}

void choose_movers(const AtenVariables& variables, TransitionCosts& transitions,
                   std::vector<std::uint32_t>& choice) {
  const AtenGraph& graph = variables.graph();
  for (std::uint32_t v = variables.num_consumers(); v < variables.size(); ++v) {
    const TakenTensor& taken = variables.moved()[v - variables.num_consumers()];
    const TensorRef ref = taken_value(graph, taken);
    const redistribution::Placement& source =
        variables.strategies(ref.node).outputs[ref.output]->of(choice[ref.node]);
    const redistribution::Placement& target =
        variables.strategies(taken.consumer).inputs[taken.input]->of(choice[taken.consumer]);
    const std::int64_t bytes =
        moving_bytes(graph.tensor(ref), variables.mesh(), source, target, variables.backend());
    const StrategyClass& mover = variables.strategies(v);
    const std::vector<double>& times = mover.moving_us;
    const double us =
        times.empty() ? 0 : transitions.microseconds(graph.tensor(ref), source, target);
    std::uint32_t s = 0;
    while (mover.outputs[0]->of(s) != target || mover.moving_bytes[s] != bytes ||
           (!times.empty() && times[s] != us))
      ++s;
    choice.push_back(s);
  }
}

AtenPlan plan_of(const AtenModel& model, const std::vector<std::uint32_t>& choice,
                 TransitionCosts& transitions) {
  const AtenVariables& variables = model.variables;
  const AtenGraph& graph = variables.graph();
  AtenPlan plan;
  plan.mesh = variables.mesh();
  plan.backend = variables.backend();
  plan.overlap = model.overlap.shares();
  plan.roles = variables.roles().roles();
  const auto placement = [](const std::optional<PlacementColumn>& column, std::uint32_t s) {
    return column ? MaybePlacement(column->of(s)) : std::nullopt;
  };
  const auto transition_us = [&](const TensorRef& ref, const MaybePlacement& target) {
    const MaybePlacement& source = plan.nodes[ref.node].outputs[ref.output];
    if (!source || !target || *source == *target) return 0.0;
    return transitions.microseconds(graph.tensor(ref), *source, *target);
  };
  const auto compute_us = [&](std::uint32_t node) { return plan.nodes[node].compute_us; };
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    const StrategyClass& strategies = variables.strategies(n);
    const std::uint32_t s = choice[n];
    AtenNodePlan& node = plan.nodes.emplace_back();
    node.compute_us = strategies.compute_us[s];
    for (const auto& column : strategies.outputs)
      node.outputs.push_back(placement(column, s));
    for (std::uint32_t i = 0; i < graph[n].inputs.size(); ++i) {
      node.inputs.push_back(placement(strategies.inputs[i], s));
      node.redistribute_us.push_back(transition_us(graph[n].inputs[i], node.inputs[i]));
      if (!plan.overlap.any()) continue;
      node.hidden_us.push_back(
          model.overlap.hidden_us({n, i}, node.redistribute_us.back(), compute_us));
    }
  }
  for (std::uint32_t o = 0; o < graph.outputs().size(); ++o) {
    const std::uint32_t variable = variables.output_variable(o);
    const redistribution::Placement target =
        variables.strategies(variable).inputs[0]->of(choice[variable]);
    const double move_us = transition_us(graph.outputs()[o].value, target);
    plan.outputs.push_back(
        {target, move_us, model.overlap.hidden_us({variable, 0}, move_us, compute_us)});
  }
  return plan;
}

KeptChoices all_choices(const AtenModel& model) {
  KeptChoices kept(model.costs.size());
  for (std::size_t v = 0; v < kept.size(); ++v) {
    for (std::uint32_t choice = 0; choice < model.costs[v].size(); ++choice) {
      if (model.costs[model.leaders[v]][choice] < kForbidden) kept[v].push_back(choice);
    }
  }
  return kept;
}

void add_choices(const KeptChoices& more, KeptChoices& kept) {
  for (std::size_t v = 0; v < kept.size(); ++v) {
    std::vector<std::uint32_t> both;
    std::set_union(kept[v].begin(), kept[v].end(), more[v].begin(), more[v].end(),
                   std::back_inserter(both));
    kept[v] = std::move(both);
  }
}

void keep_movers(const AtenModel& model, KeptChoices& kept) {
  const AtenVariables& variables = model.variables;
  for (const AtenTransfers::Edge& edge : model.transfers.edges) {
    if (edge.second < variables.num_consumers()) continue;
    const TakenTensor& taken = variables.moved()[edge.second - variables.num_consumers()];
    const AtenTransfer& transfer = model.transfers.transfers[edge.transfer];
    const PlacementColumn& column = *variables.strategies(edge.second).inputs[0];
    const PlacementColumn& wanted = *variables.strategies(taken.consumer).inputs[taken.input];
    std::vector<char> is_wanted(column.distinct.size(), 0);
    for (const std::uint32_t choice : kept[taken.consumer])
      is_wanted[wanted.index[choice]] = 1;
    std::vector<std::uint32_t> with;
    for (std::uint32_t s = 0; s < column.index.size(); ++s) {
      if (is_wanted[column.index[s]] &&
          std::any_of(kept[edge.first].begin(), kept[edge.first].end(),
                      [&](std::uint32_t from) { return transfer.cost(from, s) < kForbidden; }))
        with.push_back(s);
    }
    std::vector<std::uint32_t> both;
    std::set_union(kept[edge.second].begin(), kept[edge.second].end(), with.begin(), with.end(),
                   std::back_inserter(both));
    kept[edge.second] = std::move(both);
  }
}

double cost_of(const AtenModel& model, const std::vector<std::uint32_t>& choice) {
  double cost = 0;
  for (std::size_t v = 0; v < choice.size(); ++v)
    cost += model.costs[v][choice[v]];
  for (const AtenTransfers::Edge& edge : model.transfers.edges)
    cost += model.transfers.transfers[edge.transfer].cost(choice[edge.first], choice[edge.second]);
  return cost;
}

double num_entries(const AtenModel& model, const KeptChoices& kept) {
  double sum = 0;
  for (const AtenTransfers::Edge& edge : model.transfers.edges) {
    sum += static_cast<double>(kept[edge.first].size()) *
           static_cast<double>(kept[edge.second].size());
  }
  return sum;
}

std::vector<std::uint32_t> chosen(const KeptChoices& kept,
                                  const std::vector<std::uint32_t>& solution) {
  std::vector<std::uint32_t> choice;
  choice.reserve(kept.size());
  for (std::size_t v = 0; v < kept.size(); ++v)
    choice.push_back(kept[v][solution[v]]);
  return choice;
}

Result<OperatorProblem> lower(const AtenModel& model, const KeptChoices& kept,
                              std::optional<std::int64_t> limit) {
  CostInstanceSpec spec = Lowering(model, kept).run(limit);
  const bool is_free = [&] {
    for (std::uint32_t v = 0; v < model.leaders.size(); ++v) {
      if (model.leaders[v] != v) return false;
    }
    return true;
  }();
  if (is_free) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(CostInstance instance, CostInstance::make(std::move(spec)));
    return OperatorProblem(LoweredInstance(std::move(instance)));
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(CostInstance instance, CostInstance::make(spec));
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      LoweredInstance lowered,
      LoweredInstance::make(std::move(instance), std::move(spec), model.leaders));
  return OperatorProblem(std::move(lowered));
}

}  // namespace shardwright::operators
