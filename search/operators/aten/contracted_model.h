// Eliminates the variables of a model that have at most two neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/executor.h"
#include "search/operators/aten/aten_model.h"

namespace shardwright::operators {

// Eliminates variables of a model exactly. A variable with one neighbour is minimised into the
// costs of the neighbour. A variable with two neighbours is minimised into a transfer between them.
// Its best choice then follows from the choices of its neighbours. Equal tables are made once, so
// repeated blocks take as much work as one block. Variables keep their numbers: an eliminated
// variable has one choice, which costs nothing, and no edges. A plan of the contracted model costs
// as much as the best plan of the whole model with the same choices of the other variables. Memory
// counts at given time points only, and variables that hold bytes there are not eliminated.
// Thread safety: a value.
class ContractedModel {
 public:
  // Either all corresponding variables of repeated blocks are eliminated, or none of them. `model`
  // must outlive the result, which does not depend on `executor`. `times`: the time points at which
  // memory counts; the contracted model has the usages at these only.
  ContractedModel(const AtenModel& model, Executor& executor,
                  std::span<const std::size_t> times = {});

  const AtenModel& model() const { return contracted_; }
  // Completes a choice of the contracted model: each eliminated variable gets its best choice; of
  // equally cheap choices, the last.
  std::vector<std::uint32_t> expand(std::vector<std::uint32_t> choice) const;
  // The inverse: returns the choice of the contracted model that agrees with a choice of the whole.
  std::vector<std::uint32_t> contract(std::vector<std::uint32_t> choice) const;

 private:
  friend class Contraction;

  // An eliminated variable, with its costs and edges at its elimination.
  struct LeftOut {
    std::uint32_t variable = 0;
    std::uint32_t costs = 0;  // index into costs_
    std::vector<AtenTransfers::Edge> edges;
  };

  const AtenTransfer& transfer(std::uint32_t number) const;

  const AtenModel* whole_;
  AtenModel contracted_;
  std::vector<AtenTransfer> made_;          // numbered after the transfers of the whole model
  std::vector<std::vector<double>> costs_;  // costs of eliminated variables
  std::vector<LeftOut> left_out_;           // in order of elimination
};

}  // namespace shardwright::operators
