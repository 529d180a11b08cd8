// TorchRec's NoopPerfModel and NoopStorageModel: the rating of a placed proposal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/embedding/compat/placement/placement.h"
#include "search/embedding/compat/rating/rating_model.h"

namespace shardwright::embedding {

// The time of the busiest rank in ms: shard totals per rank, added in proposal order.
// `perf_by_rank` is scratch of one double per rank.
// Source: NoopPerfModel, torchrec/distributed/planner/perf_models.py (commit a48cef79).
double rate_perf(std::span<const OptionId> proposal, const Placement& placement,
                 std::vector<double>& perf_by_rank);

// The HBM of the fullest rank in bytes. `hbm_by_rank` is scratch of one number per rank.
// Source: NoopStorageModel, the same file.
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
