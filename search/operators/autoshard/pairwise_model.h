// Auto-sharding as variables of up to three values, with costs on variables and on pairs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/operators/autoshard/autoshard_evaluate.h"
#include "core/operators/autoshard/autoshard_graph.h"

namespace shardwright::operators::autoshard {

// Every output spec is a function of one decision, through any chain of ops that follow their
// operand. So each cost depends on one decision or on two. All costs are scaled.
// Thread safety: one thread at a time while it is built, then const members from any thread.
class PairwiseModel {
 public:
  // The first decision of an op; the second follows from it.
  struct Variable {
    std::uint32_t op = 0;
    std::uint8_t size = 0;                // how many values are allowed
    std::array<Spec, 3> values{};         // these, ascending
    std::array<std::int64_t, 3> costs{};  // by position in `values`
  };
  struct Pair {
    std::uint32_t first = 0;  // variables, first < second
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

  // Where an op's output spec comes from.
  struct Source {
    std::uint32_t variable = kConstant;
    std::array<Spec, 3> specs{};  // by position of the variable's value; the first one if constant
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

}  // namespace shardwright::operators::autoshard
