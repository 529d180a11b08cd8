#include "search/embedding/compat/rating/rating_model.h"

#include "search/embedding/compat/rating/rate.h"

namespace shardwright::embedding {

double PerfRating::rate(std::span<const OptionId> proposal, const Placement& placement) {
  return rate_perf(proposal, placement, perf_by_rank_);
}

// The partitioner added the same times to the same devices, in another order: the two sums of n
// terms that are not negative differ by less than 2 n 2^-53 of their size. The margin covers four
// million shards on one rank.
double PerfRating::at_least(const Placement& placement) const {
  constexpr double kMargin = 1e-9;
  return placement.busiest_ms() * (1 - kMargin);
}

double StorageRating::rate(std::span<const OptionId> proposal, const Placement& placement) {
  return rate_storage(proposal, placement, hbm_by_rank_);
}

std::unique_ptr<RatingModel> make_rating_model(PerfModel model, std::uint32_t ranks) {
  switch (model) {
    case PerfModel::kPerf:
      return std::make_unique<PerfRating>(ranks);
    case PerfModel::kStorage:
      return std::make_unique<StorageRating>(ranks);
  }
  return nullptr;
}

}  // namespace shardwright::embedding
