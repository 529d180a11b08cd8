// The loads of a model's experts, and the GPUs whose slots hold the experts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/status.h"

namespace shardwright::experts {

// Thread safety: a value.
struct ExpertSpec {
  std::size_t num_samples = 1;  // windows of time
  std::size_t num_layers = 0;
  std::size_t num_experts = 0;
  std::vector<double> loads;  // tokens: [samples][layers][experts]
  std::size_t num_gpus = 1;
  std::size_t num_nodes = 1;
  std::size_t num_slots = 0;       // of a layer, over all GPUs
  std::size_t num_groups = 1;      // consecutive experts of equal number
  std::vector<double> gpu_speeds;  // tokens per unit of time; empty = 1
  // Of a token from GPU to GPU, or from node to node: [gpus][gpus] or [nodes][nodes]; empty = none.
  // make() writes the former.
  std::vector<double> link_costs;
  std::vector<double> origins;  // tokens that begin on each GPU, relative; empty = equally many
};

// A checked ExpertSpec. Copies share the loads.
// Thread safety: a value.
class ExpertProblem {
 public:
  // Errors (kInvalidInput, `where` is the place in an expert file): no layers or experts; over 2^26
  // loads, slots of all layers, or experts times GPUs; loads and link costs that are neither 0 nor
  // between 1e-30 and 1e30; slots fewer than experts or not a multiple of the GPUs; GPUs not a
  // multiple of the nodes; experts not a multiple of the groups; speeds that are not positive;
  // lists of another length. O(loads).
  static Result<ExpertProblem> make(ExpertSpec spec);

  std::size_t num_samples() const { return spec_->num_samples; }
  std::size_t num_layers() const { return spec_->num_layers; }
  std::size_t num_experts() const { return spec_->num_experts; }
  std::size_t num_gpus() const { return spec_->num_gpus; }
  std::size_t num_nodes() const { return spec_->num_nodes; }
  std::size_t num_slots() const { return spec_->num_slots; }
  std::size_t num_groups() const { return spec_->num_groups; }
  std::size_t slots_per_gpu() const { return num_slots() / num_gpus(); }
  const ExpertSpec& spec() const { return *spec_; }

  // Returns the loads of a layer's experts.
  const double* loads(std::size_t sample, std::size_t layer) const {
    return spec_->loads.data() + (sample * num_layers() + layer) * num_experts();
  }
  double speed(std::size_t gpu) const {
    return spec_->gpu_speeds.empty() ? 1 : spec_->gpu_speeds[gpu];
  }
  // Returns true if each group of experts must stay on one node: there are several nodes and
  // groups, and every node gets the same number of groups.
  bool keeps_groups() const {
    return num_nodes() > 1 && num_groups() > 1 && num_groups() % num_nodes() == 0 &&
           num_slots() % num_nodes() == 0;
  }
  // Returns true if two replicas of an expert must be on different GPUs. They need not if a GPU has
  // more slots than there are experts to choose from.
  bool forbids_repeats() const {
    return !allows_repeats_ &&
           num_experts() / (keeps_groups() ? num_nodes() : 1) >= slots_per_gpu();
  }

  // Returns the same problem, in which GPUs may hold an expert twice.
  ExpertProblem with_repeats() const {
    ExpertProblem problem = *this;
    problem.allows_repeats_ = true;
    return problem;
  }
  // Returns the same problem with the loads of one window: the mean of all.
  ExpertProblem mean_window() const;

 private:
  explicit ExpertProblem(ExpertSpec spec)
      : spec_(std::make_shared<const ExpertSpec>(std::move(spec))) {}

  std::shared_ptr<const ExpertSpec> spec_;
  bool allows_repeats_ = false;
};

}  // namespace shardwright::experts
