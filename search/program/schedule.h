// The plans of a program, one for each placement pair, shape and type, and the order to use them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/program/program.h"
#include "core/program/simulate.h"
#include "search/executor.h"
#include "search/program/best_planner.h"
#include "search/program/emitter.h"
#include "search/program/requests.h"

namespace shardwright::program {

// Everything that a plan depends on. Mesh ids are those of the program. Thread safety: a value.
struct PlanKey {
  MeshId source_mesh;
  MeshId target_mesh;
  DimsMapping source_mapping;
  DimsMapping target_mapping;
  PartialAxes source_partial;
  PartialAxes target_partial;
  Shape shape;
  DataType type = DataType::kFloat32;
  bool is_output = false;  // runs right after the operator that writes the tensor

  friend bool operator==(const PlanKey&, const PlanKey&) = default;
};
struct PlanKeyHash {
  std::size_t operator()(const PlanKey& key) const;
};

enum class PlanMode : std::uint8_t {
  kBest,
  kCompat,
  kCompatMesh  // compat mode, but always with steps along mesh axes
};

// Limit of elements * ranks of a simulation; at the limit it takes 0.1 to 0.4 s and up to 0.3 GB.
inline constexpr std::int64_t kLargestSimulation = std::int64_t{1} << 24;

// Owns the plans; an entry never moves.
// Thread safety: one thread at a time; plan_all() uses the executor's threads.
class PlanStore {
 public:
  struct Entry {
    PlanKey key;
    bool planned = false;
    ReshardPlan plan;
    double us = 0;                                  // time of the slowest rank; best mode only
    Status status;                                  // an error if there is no plan
    std::unordered_map<Rank, std::uint32_t> index;  // by rank: index into plan.ranks

    const std::vector<Step>* steps_of(Rank rank) const {
      const auto at = index.find(rank);
      return at == index.end() ? nullptr : &plan.ranks[at->second].second;
    }
  };

  PlanStore(const Program& program, const Cluster& cluster, PlanMode mode, std::stop_token stop)
      : program_(program), cluster_(cluster), mode_(mode), stop_(std::move(stop)) {}

  // Returns the entry of a key, which may not be planned yet. In best mode, axes of size 1 are
  // removed from the key. In compat mode they stay, as Paddle's Resharder moves tensors along them.
  Entry& entry(const PlanKey& asked);
  // Plans all unplanned entries in parallel. After a stop, the status of entries is kStopped.
  void plan_all(Executor& executor);
  // Plans one entry unless it is planned.
  void plan(Entry& entry) const;
  // Simulates the plan on a small tensor that is cut in the same way, since the plan does not
  // depend on the size of equal parts. Returns nullopt if even the small tensor exceeds
  // kLargestSimulation, or if there is no plan. Precondition: a compat mode.
  std::optional<Simulation> simulate(const Entry& entry) const;

  DistAttr source_of(const PlanKey& key) const;
  DistAttr target_of(const PlanKey& key) const;
  std::size_t size() const { return entries_.size(); }
  PlanMode mode() const { return mode_; }

 private:
  PlanKey without_axes_of_one(PlanKey key) const;
  // Precondition: a compat mode.
  Result<ReshardPlan> compat_plan(const PlanKey& key, const Shape& shape) const;

  const Program& program_;
  const Cluster& cluster_;
  PlanMode mode_;
  std::stop_token stop_;
  std::deque<Entry> entries_;
  std::unordered_map<PlanKey, Entry*, PlanKeyHash> index_;
};

// One use of a plan, which serves a request.
struct Decision {
  static constexpr std::uint32_t kOriginal = ~std::uint32_t{0};

  std::uint32_t request = 0;
  // The demand whose copy the plan starts from; kOriginal: it starts from the tensor itself.
  std::uint32_t source_demand = kOriginal;
  const PlanStore::Entry* entry = nullptr;
};

// A plan that serves an output.
struct OutputDecision {
  OutputRequest request;
  const PlanStore::Entry* entry = nullptr;
};

// Thread safety: const members may be called from any thread.
class Schedule {
 public:
  // Compat mode makes a decision per request, which starts from the tensor itself. A rank skips the
  // decision if an earlier decision has served its request. Best mode makes a decision per demand,
  // which starts from the tensor or from one of its copies so far, whichever is cheapest. Errors:
  // those of the plans; kInvalidInput if sequences are to be sent and no feed has their level of
  // detail.
  static Result<Schedule> make(const Program& program, const Requests& requests, PlanStore& store,
                               Executor& executor);

  const std::vector<Decision>& decisions() const { return decisions_; }
  const std::vector<OutputDecision>& outputs() const { return outputs_; }
  const GroupTable& groups() const { return groups_; }
  // The process groups of groups(), as a value that the programs of all ranks share.
  const std::shared_ptr<const Communication>& communication() const { return communication_; }

 private:
  Schedule(const Program& program, bool compat) : groups_(program.communication(), compat) {}

  Status check_outputs(const Program& program, const Requests& requests) const;
  void add_output_groups(bool compat);

  std::vector<Decision> decisions_;
  std::vector<OutputDecision> outputs_;
  GroupTable groups_;
  std::shared_ptr<const Communication> communication_;
};

// The shape of the whole variable, with the batch size filled in.
const Shape& full_shape(const Program& program, const Requests& requests, VarId id);

}  // namespace shardwright::program
