// How do I plan with times that I measured, instead of estimated ones?
#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/embedding/planner.h"
#include "search/embedding/compat/estimate.h"
#include "search/embedding/compat/proposal_lane.h"

using namespace shardwright;

namespace {

// The measured forward time of a shard, by its number of columns.
struct Measured {
  std::int64_t columns;
  double forward_ms;
};
const std::vector<Measured> kMeasured = {{16, 0.05}, {32, 0.07}, {64, 0.12}, {128, 0.30}};

// Estimated costs, but measured forward times where there are any, and twice these backward.
class MeasuredCosts final : public embedding::CostModel {
 public:
  explicit MeasuredCosts(const embedding::Problem& problem) : estimator_(problem) {}

  Result<embedding::ShardingOption> estimate(embedding::ShardingOption option) const override {
    SHARDWRIGHT_ASSIGN_OR_RETURN(option, estimator_.estimate(std::move(option)));
    for (std::size_t run = 0; run < option.costs.size(); ++run) {
      const std::int64_t columns = option.layout->extents[run].columns;
      const auto found = std::find_if(kMeasured.begin(), kMeasured.end(),
                                      [&](const Measured& row) { return row.columns == columns; });
      if (found == kMeasured.end()) continue;
      option.costs[run].perf.fwd_compute = Milliseconds(found->forward_ms);
      option.costs[run].perf.bwd_compute = Milliseconds(2 * found->forward_ms);
    }
    return option;
  }

 private:
  embedding::Estimator estimator_;
};

embedding::Table make_table(const char* name, std::int64_t rows, std::int64_t columns) {
  embedding::Table table;
  table.name = name;
  table.num_embeddings = rows;
  table.embedding_dim = columns;
  table.constraints.emplace().sharding_types = {embedding::ShardingType::kTableWise,
                                                embedding::ShardingType::kColumnWise};
  table.constraints->min_partition = 32;
  return table;
}

}  // namespace

int main() {
  embedding::ProblemSpec spec;
  spec.topology.world_size = 4;
  spec.tables = {make_table("ads", 4'000'000, 128), make_table("pages", 390'000, 64),
                 make_table("words", 250'000, 64)};
  auto checked = embedding::Problem::make(std::move(spec));
  if (!checked.ok()) return 1;
  const auto problem = std::make_shared<const embedding::Problem>(std::move(checked).value());

  PlanOptions options;
  auto parts = std::make_shared<embedding::SearchParts>();
  parts->cost_model = std::make_shared<MeasuredCosts>(*problem);
  options.parts = std::move(parts);
  const auto estimated = plan_embedding(problem, PlanOptions());
  const auto measured = plan_embedding(problem, options);
  if (!estimated.ok() || !estimated->plan || !measured.ok() || !measured->plan) return 1;
  for (const auto* result : {&*estimated, &*measured}) {
    std::printf("%s: %.3f ms,", result == &*estimated ? "estimated" : "measured",
                *result->best_rating);
    for (std::size_t i = 0; i < result->plan->size(); ++i) {
      const embedding::ShardingOption& option = *(*result->plan)[i].option;
      std::printf(" %s %s x%u", problem->table(option.table).name.c_str(),
                  to_name(option.sharding_type).data(), option.num_shards());
    }
    std::printf("\n");
  }
  return measured->evaluation.valid() ? 0 : 1;
}
