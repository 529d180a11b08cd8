#include "search/operators/aten/aten_edges.h"

#include <array>
#include <map>
#include <utility>

namespace shardwright::operators {
namespace {

using redistribution::Placement;
using Matrix = CostInstanceSpec::Matrix;

// A tensor on its way between variables of two classes.
struct Transfer {
  std::uint32_t from = 0;  // class
  std::uint32_t output = 0;
  std::uint32_t to = 0;  // class
  std::uint32_t input = 0;
  bool equal = false;  // different placements are forbidden

  friend auto operator<=>(const Transfer&, const Transfer&) = default;
};

// Costs by placement of the producer, then of the consumer.
std::vector<double> placement_costs(const AtenTensor& tensor, const PlacementColumn& source,
                                    const PlacementColumn& target, bool equal,
                                    TransitionCosts& costs) {
  std::vector<double> table;
  table.reserve(source.distinct.size() * target.distinct.size());
  for (const Placement& from : source.distinct) {
    for (const Placement& to : target.distinct) {
      if (equal) {
        table.push_back(from == to ? 0 : kForbidden);
      } else {
        table.push_back(costs.microseconds(tensor, from, to));
      }
    }
  }
  return table;
}

// Collects the distinct transfers of a graph, and makes their matrices.
// Thread safety: one thread at a time.
class EdgeMaker {
 public:
  EdgeMaker(const AtenVariables& variables, TransitionCosts& costs)
      : variables_(variables), costs_(costs) {}

  AtenEdges run(Executor& executor) {
    const AtenGraph& graph = variables_.graph();
    for (std::uint32_t n = 0; n < graph.size(); ++n) {
      for (std::uint32_t i = 0; i < graph[n].inputs.size(); ++i)
        add(graph[n].inputs[i], n, i);
    }
    for (std::uint32_t o = 0; o < graph.outputs().size(); ++o)
      add(graph.outputs()[o].value, variables_.output_variable(o), 0);
    for (const AtenPair& pair : graph.pairs())
      add_pair(pair);
    result_.matrices.resize(transfers_.size());
    executor.parallel_for(transfers_.size(), 1, [&](unsigned, std::size_t begin, std::size_t end) {
      for (std::size_t m = begin; m < end; ++m)
        result_.matrices[m] = matrix_of(transfers_[m], tensors_[m]);
    });
    return std::move(result_);
  }

 private:
  void add(const TensorRef& ref, std::uint32_t consumer, std::uint32_t input) {
    if (!variables_.strategies(ref.node).outputs[ref.output]) return;
    if (!variables_.strategies(consumer).inputs[input]) return;
    add_edge(ref.node, consumer,
             {variables_.class_of(ref.node), ref.output, variables_.class_of(consumer), input,
              false},
             ref);
  }

  void add_pair(const AtenPair& pair) {
    if (!variables_.strategies(pair.placeholder).outputs[0]) return;
    const std::uint32_t output = variables_.output_variable(pair.output);
    add_edge(pair.placeholder, output,
             {variables_.class_of(pair.placeholder), 0, variables_.class_of(output), 0, true},
             {pair.placeholder, 0});
  }

  void add_edge(std::uint32_t first, std::uint32_t second, const Transfer& transfer,
                const TensorRef& ref) {
    const auto [at, is_new] =
        numbers_.emplace(transfer, static_cast<std::uint32_t>(transfers_.size()));
    if (is_new) {
      transfers_.push_back(transfer);
      tensors_.push_back(ref);
    }
    result_.edges.push_back({first, second, at->second});
  }

  Matrix matrix_of(const Transfer& transfer, const TensorRef& ref) const {
    const PlacementColumn& source =
        *variables_.class_strategies(transfer.from).outputs[transfer.output];
    const PlacementColumn& target =
        *variables_.class_strategies(transfer.to).inputs[transfer.input];
    const std::vector<double> table = placement_costs(variables_.graph().tensor(ref), source,
                                                      target, transfer.equal, costs_);
    Matrix matrix{variables_.num_strategies(transfer.from), variables_.num_strategies(transfer.to),
                  {}};
    matrix.entries.reserve(std::size_t{matrix.rows} * matrix.columns);
    const bool owned = variables_.owns(transfer.to) && transfer.input == 0;
    const std::size_t half = target.index.size();
    for (std::size_t s = 0; s < matrix.rows; ++s) {
      const std::uint32_t from = source.index[s % source.index.size()];
      for (std::size_t t = 0; t < matrix.columns; ++t) {
        const std::uint32_t to = target.index[t % half];
        const bool stays = source.distinct[from] == target.distinct[to];
        // A view takes its input where it is in the first half, and moves it in the second.
        const bool fits = !owned || stays == (t < half);
        matrix.entries.push_back(fits ? table[from * target.distinct.size() + to] : kForbidden);
      }
    }
    return matrix;
  }

  const AtenVariables& variables_;
  TransitionCosts& costs_;
  std::map<Transfer, std::uint32_t> numbers_;
  std::vector<Transfer> transfers_;  // by matrix
  std::vector<TensorRef> tensors_;   // by matrix
  AtenEdges result_;
};

}  // namespace

AtenEdges make_edges(const AtenVariables& variables, TransitionCosts& costs, Executor& executor) {
  return EdgeMaker(variables, costs).run(executor);
}

}  // namespace shardwright::operators
