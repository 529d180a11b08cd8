// Leaves out the variables of a model that have at most two neighbours.
#pragma once

#include <cstdint>
#include <vector>

#include "search/executor.h"
#include "search/operators/aten/aten_model.h"

namespace shardwright::operators {

// A variable with one neighbour is minimised into the costs of that one, a variable with two into a
// transfer between them; the choice that was best then follows from theirs. Equal tables are made
// once, so blocks that repeat cost as much as one. Variables keep their numbers: those that were
// left out have one choice, which costs nothing, and no edges. A plan of the rest costs as much as
// the best plan of all that agrees with it. Costs alone: what variables hold is left out.
// Thread safety: a value.
class ContractedModel {
 public:
  // Variables that repeated blocks have in common are all left out, or none of them. `model` must
  // outlive the result, which does not depend on `executor`.
  ContractedModel(const AtenModel& model, Executor& executor);

  const AtenModel& model() const { return contracted_; }
  // The best choice by variable of the whole model that agrees with one of the contracted model; of
  // equal choices the last.
  std::vector<std::uint32_t> expand(std::vector<std::uint32_t> choice) const;

 private:
  friend class Contraction;

  // A variable that was left out, with its costs and edges then.
  struct LeftOut {
    std::uint32_t variable = 0;
    std::uint32_t costs = 0;  // index
    std::vector<AtenTransfers::Edge> edges;
  };

  const AtenTransfer& transfer(std::uint32_t number) const;

  const AtenModel* whole_;
  AtenModel contracted_;
  std::vector<AtenTransfer> made_;          // their numbers follow those of the whole model
  std::vector<std::vector<double>> costs_;  // of variables that were left out
  std::vector<LeftOut> left_out_;           // in order
};

}  // namespace shardwright::operators
