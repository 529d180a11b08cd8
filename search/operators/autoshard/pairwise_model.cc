#include "search/operators/autoshard/pairwise_model.h"

#include <optional>

namespace shardwright::operators::autoshard {

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
  // RR is allowed everywhere.
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
  // A pair arises only while its second variable's op is read, so it is among the latest.
  for (std::size_t i = pairs_.size(); i > 0 && pairs_[i - 1].second == second; --i) {
    if (pairs_[i - 1].first == first) return pairs_[i - 1].costs;
  }
  return pairs_.emplace_back(Pair{first, second, {}}).costs;
}

}  // namespace shardwright::operators::autoshard
