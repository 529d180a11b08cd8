#include "search/operators/aten/model/aten_transfers.h"

#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "core/operators/aten/memory/moving_bytes.h"
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
  Hiding hiding;

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

// From a mover that knows the time of moving to the consumer that hides a part of it: every choice
// of the mover gets a row of its own, which has this time.
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

// A row or column before, and the time of the operator that hides moving.
using Hidden = std::pair<std::uint32_t, double>;

// Puts choices together that agree about both. Returns the groups in order of appearance, and
// changes `group_of` to the number in them.
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

// Every choice of a mover gets a column of its own. It takes the placements from which moving takes
// the bytes, and the time if it has one, that it says. This time the edge to the consumer has.
void split_by_mover(const AtenTensor& tensor, const AtenVariables& variables,
                    const PlacementColumn& source, const StrategyClass& mover,
                    AtenTransfer& transfer) {
  const PlacementColumn& target = *mover.inputs[0];
  const std::size_t targets = target.distinct.size();
  std::vector<double> costs;
  for (std::size_t from = 0; from < source.distinct.size(); ++from) {
    std::int64_t bytes = 0;
    for (std::size_t s = 0; s < mover.size(); ++s) {
      // Choices of one target follow each other.
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

// Collects the distinct transfers of a graph, and prices them.
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
    if (!mover) {
      return add_edge(ref.node, taken.consumer, {from, ref.output, to, taken.input, false, hiding},
                      ref);
    }
    const std::uint32_t way = variables_.class_of(*mover);
    const bool by_consumer = hiding.by == Hiding::By::kConsumer;
    add_edge(ref.node, *mover, {from, ref.output, way, 0, false, by_consumer ? Hiding() : hiding},
             ref);
    add_edge(*mover, taken.consumer,
             {way, 0, to, taken.input, true, by_consumer ? hiding : Hiding()}, ref);
  }

  void add_pair(const AtenPair& pair) {
    if (!variables_.strategies(pair.placeholder).outputs[0]) return;
    const std::uint32_t output = variables_.output_variable(pair.output);
    add_edge(pair.placeholder, output,
             {variables_.class_of(pair.placeholder), 0, variables_.class_of(output), 0, true, {}},
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

  const AtenVariables& variables_;
  const Overlap& overlap_;
  TransitionCosts& costs_;
  std::map<TransferKind, std::uint32_t> numbers_;
  std::vector<TransferKind> kinds_;  // by transfer
  std::vector<TensorRef> tensors_;   // by transfer
  AtenTransfers result_;
};

}  // namespace

AtenTransfers make_transfers(const AtenVariables& variables, const Overlap& overlap,
                             TransitionCosts& costs, Executor& executor) {
  return TransferMaker(variables, overlap, costs).run(executor);
}

}  // namespace shardwright::operators
