// The interface of rating models: what a placed proposal is worth.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "search/embedding/compat/placement/placement.h"

namespace shardwright::embedding {

// Rates proposals that fit; the smaller the better. Ratings must be below 2^63 to count as a plan.
// Thread safety: none; one per worker.
class RatingModel {
 public:
  virtual ~RatingModel() = default;

  // `placement` holds the ranks of the proposal's shards, and nothing else of it is certain. Must
  // give the same rating for the same proposal and ranks, whatever it saw before.
  virtual double rate(std::span<const OptionId> proposal, const Placement& placement) = 0;

  // What rate() would return at least, from the loads alone that the greedy partitioner left:
  // spares rating what has lost already.
  virtual double at_least(const Placement&) const {
    return -std::numeric_limits<double>::infinity();
  }
};

// Time of the busiest rank. Source: NoopPerfModel, torchrec/distributed/planner/perf_models.py.
class PerfRating final : public RatingModel {
 public:
  explicit PerfRating(std::uint32_t ranks) : perf_by_rank_(ranks) {}
  double rate(std::span<const OptionId> proposal, const Placement& placement) override;
  double at_least(const Placement& placement) const override;

 private:
  std::vector<double> perf_by_rank_;  // scratch
};

// HBM of the fullest rank. Source: NoopStorageModel.
class StorageRating final : public RatingModel {
 public:
  explicit StorageRating(std::uint32_t ranks) : hbm_by_rank_(ranks) {}
  double rate(std::span<const OptionId> proposal, const Placement& placement) override;

 private:
  std::vector<std::int64_t> hbm_by_rank_;  // scratch
};

// The model that a problem names.
std::unique_ptr<RatingModel> make_rating_model(PerfModel model, std::uint32_t ranks);

}  // namespace shardwright::embedding
