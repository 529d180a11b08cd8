// Runs the steps of all ranks until all are done, one fails, or all are waiting.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/program/reshard_plan.h"
#include "core/program/simulator/array.h"
#include "core/program/simulator/collective.h"
#include "core/program/simulator/simulate.h"

namespace shardwright::program {

// One rank: its next step, the tensor that it works on, and the pieces for the next concat.
struct SimulatedRank {
  Rank rank = -1;
  const std::vector<Step>* steps = nullptr;
  std::size_t next = 0;
  std::optional<Array> tensor;
  std::vector<Array> pieces;

  // Null at the end.
  const Step* step() const {
    return steps != nullptr && next < steps->size() ? &(*steps)[next] : nullptr;
  }
};

// Runs the steps of all ranks. Private members that return a bool record the problem and return
// false if the plan fails; those that return an optional return none if the rank has to wait.
// Thread safety: one thread at a time.
class Execution {
 public:
  // The rank's state, added if it is new.
  SimulatedRank& rank(Rank id);
  // Null for a rank that was never added.
  SimulatedRank* find(Rank id);

  // Runs until no rank can go on. Returns true if all are done.
  bool run();
  // Records the problem if it is the first. Returns false.
  bool fail(const SimulatedRank& rank, const std::string& what);
  const Simulation& result() const { return simulation_; }

 private:
  std::optional<bool> advance(SimulatedRank& own);
  bool run_local(SimulatedRank& own, const Step& step);
  bool cut(SimulatedRank& own, const Step& step);
  bool join_pieces(SimulatedRank& own, const Step& step);
  std::optional<bool> send(SimulatedRank& own, const Step& step);
  std::optional<bool> meet(SimulatedRank& own, const Step& step);
  bool run_collective(const std::vector<SimulatedRank*>& members);
  bool scatter(SimulatedRank& own, const Step& step, Collective& shared, std::size_t index);

  std::vector<SimulatedRank> ranks_;
  std::unordered_map<Rank, std::size_t> index_;
  Simulation simulation_;
};

}  // namespace shardwright::program
