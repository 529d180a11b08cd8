// Rating models, which rate placed proposals.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "search/embedding/compat/placement.h"

namespace shardwright::embedding {

// Rates proposals that fit; smaller is better. A proposal that rates 2^63 or more is no plan.
// Thread safety: none; one per worker.
class RatingModel {
 public:
  virtual ~RatingModel() = default;

  // Rates a placed proposal. May read only the ranks of the shards from `placement`, because its
  // loads may be those of another proposal. Must give the same rating for the same proposal and
  // ranks, independent of earlier proposals.
  virtual double rate(std::span<const OptionId> proposal, const Placement& placement) = 0;

  // A lower bound of rate(), from the loads in `placement` after greedy partitioning. The search
  // does not rate proposals whose lower bound exceeds the best rating.
  virtual double at_least(const Placement&) const {
    return -std::numeric_limits<double>::infinity();
  }
};

// Returns the model that a problem names.
std::unique_ptr<RatingModel> make_rating_model(PerfModel model, std::uint32_t ranks);

// Returns the time of the busiest rank in ms. Adds the times of shards in proposal order.
// `perf_by_rank`: scratch, one element per rank.
// Source: NoopPerfModel, torchrec/distributed/planner/perf_models.py (commit a48cef79).
double rate_perf(std::span<const OptionId> proposal, const Placement& placement,
                 std::vector<double>& perf_by_rank);

// Returns the HBM of the fullest rank in bytes. `hbm_by_rank`: scratch, one element per rank.
// Source: NoopStorageModel, torchrec/distributed/planner/perf_models.py.
double rate_storage(std::span<const OptionId> proposal, const Placement& placement,
                    std::vector<std::int64_t>& hbm_by_rank);

// Rates by rate_perf().
// Thread safety: none; one per worker.
class NoopPerfModel final : public RatingModel {
 public:
  explicit NoopPerfModel(std::uint32_t ranks) : perf_by_rank_(ranks) {}
  double rate(std::span<const OptionId> proposal, const Placement& placement) override;
  double at_least(const Placement& placement) const override;

 private:
  std::vector<double> perf_by_rank_;  // scratch
};

// Rates by rate_storage().
// Thread safety: none; one per worker.
class NoopStorageModel final : public RatingModel {
 public:
  explicit NoopStorageModel(std::uint32_t ranks) : hbm_by_rank_(ranks) {}
  double rate(std::span<const OptionId> proposal, const Placement& placement) override;

 private:
  std::vector<std::int64_t> hbm_by_rank_;  // scratch
};

}  // namespace shardwright::embedding
