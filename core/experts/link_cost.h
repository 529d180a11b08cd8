// What it costs to send the tokens of experts from GPU to GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "core/experts/expert_plan.h"
#include "core/experts/expert_problem.h"

namespace shardwright::experts {

// The links of a machine with link costs. Tokens of an expert begin on the GPUs as `origins` says.
// Its replicas take equally many of them: origins and replicas are matched link by link, the
// cheapest link first, and each link carries what its origin still has and its replica still takes.
// No matching is cheaper if costs are those of a hierarchy: a GPU, its node, all nodes.
// Thread safety: const members may be called from any thread, with a scratch for each.
class LinkTable {
 public:
  using Gpu = std::uint32_t;
  struct Scratch {
    std::vector<double> left;  // tokens of an origin that have no replica yet
    std::vector<double> room;  // of a replica
    std::vector<std::size_t> next;
  };

  // Precondition: the problem has link costs. O(gpus^2 log gpus).
  explicit LinkTable(const ExpertProblem& problem);

  // Returns the mean cost of a token of an expert with replicas on these GPUs, which ascend.
  // O(gpus * replicas^2).
  double token_cost(const std::vector<Gpu>& replicas, Scratch& scratch) const;

 private:
  struct Link {
    double cost = 0;
    Gpu origin = 0;
  };
  std::size_t gpus_;
  std::vector<double> origins_;  // sum to 1
  std::vector<double> single_;   // token_cost() of a single replica
  std::vector<Link> links_;      // [gpus][gpus]: to each GPU, the cheapest first
};

// The GPUs of every expert's replicas, ascending: [experts]. `slots`: one layer.
std::vector<std::vector<LinkTable::Gpu>> gpus_of_experts(const ExpertProblem& problem,
                                                         const Expert* slots);

// Returns the tokens of all layers times their cost, in the mean of all windows, or 0 without link
// costs.
double link_cost(const ExpertProblem& problem, const Placement& placement);

}  // namespace shardwright::experts
