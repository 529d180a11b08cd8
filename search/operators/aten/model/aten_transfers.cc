#include "search/operators/aten/model/aten_transfers.h"

#include <map>
#include <utility>

#include "core/operators/instance/cost_instance.h"

namespace shardwright::operators {
namespace {

using redistribution::Placement;

// Which tensor passes between which classes.
struct TransferKind {
  std::uint32_t from = 0;  // class
  std::uint32_t output = 0;
  std::uint32_t to = 0;  // class
  std::uint32_t input = 0;
  bool equal = false;  // different placements are forbidden

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

// The choices that stay get columns of their own, before those that move.
void split_owned(const PlacementColumn& source, const PlacementColumn& target,
                 AtenTransfer& transfer) {
  const std::uint32_t half = transfer.columns;
  std::vector<double> costs;
  for (std::uint32_t row = 0; row < transfer.rows; ++row) {
    for (const bool moves : {false, true}) {
      for (std::uint32_t column = 0; column < half; ++column) {
        const bool stays = source.distinct[row] == target.distinct[column];
        costs.push_back(stays != moves ? transfer.costs[std::size_t{row} * half + column]
                                       : kForbidden);
      }
    }
  }
  transfer.costs = std::move(costs);
  transfer.columns = 2 * half;
  const std::size_t strategies = target.index.size();
  for (std::size_t s = strategies; s < transfer.column_of.size(); ++s)
    transfer.column_of[s] += half;
}

std::vector<std::uint32_t> repeated(const std::vector<std::uint32_t>& index, std::size_t size) {
  std::vector<std::uint32_t> result;
  result.reserve(size);
  for (std::size_t i = 0; i < size; ++i)
    result.push_back(index[i % index.size()]);
  return result;
}

// Collects the distinct transfers of a graph, and prices them.
// Thread safety: one thread at a time.
class TransferMaker {
 public:
  TransferMaker(const AtenVariables& variables, TransitionCosts& costs)
      : variables_(variables), costs_(costs) {}

  AtenTransfers run(Executor& executor) {
    const AtenGraph& graph = variables_.graph();
    for (std::uint32_t n = 0; n < graph.size(); ++n) {
      for (std::uint32_t i = 0; i < graph[n].inputs.size(); ++i)
        add(graph[n].inputs[i], n, i);
    }
    for (std::uint32_t o = 0; o < graph.outputs().size(); ++o)
      add(graph.outputs()[o].value, variables_.output_variable(o), 0);
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
  void add(const TensorRef& ref, std::uint32_t consumer, std::uint32_t input) {
    if (!variables_.strategies(ref.node).outputs[ref.output]) return;
    if (!variables_.strategies(consumer).inputs[input]) return;
    add_edge(
        ref.node, consumer,
        {variables_.class_of(ref.node), ref.output, variables_.class_of(consumer), input, false},
        ref);
  }

  void add_pair(const AtenPair& pair) {
    if (!variables_.strategies(pair.placeholder).outputs[0]) return;
    const std::uint32_t output = variables_.output_variable(pair.output);
    add_edge(pair.placeholder, output,
             {variables_.class_of(pair.placeholder), 0, variables_.class_of(output), 0, true},
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
                   : costs_.table(variables_.graph().tensor(ref), source.distinct, target.distinct);
    transfer.row_of = repeated(source.index, variables_.num_choices(kind.from));
    transfer.column_of = repeated(target.index, variables_.num_choices(kind.to));
    if (variables_.owns(kind.to) && kind.input == 0) split_owned(source, target, transfer);
    return transfer;
  }

  const AtenVariables& variables_;
  TransitionCosts& costs_;
  std::map<TransferKind, std::uint32_t> numbers_;
  std::vector<TransferKind> kinds_;  // by transfer
  std::vector<TensorRef> tensors_;   // by transfer
  AtenTransfers result_;
};

}  // namespace

AtenTransfers make_transfers(const AtenVariables& variables, TransitionCosts& costs,
                             Executor& executor) {
  return TransferMaker(variables, costs).run(executor);
}

}  // namespace shardwright::operators
