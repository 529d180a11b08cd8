#include "search/embedding/compat/rating/rating_model.h"

#include "search/embedding/compat/rating/perf_models.h"

namespace shardwright::embedding {

std::unique_ptr<RatingModel> make_rating_model(PerfModel model, std::uint32_t ranks) {
  switch (model) {
    case PerfModel::kPerf:
      return std::make_unique<NoopPerfModel>(ranks);
    case PerfModel::kStorage:
      return std::make_unique<NoopStorageModel>(ranks);
  }
  return nullptr;
}

}  // namespace shardwright::embedding
