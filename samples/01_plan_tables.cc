// How do I plan a few tables from C++?
#include <cstdio>
#include <memory>
#include <utility>

#include "runtime/embedding/planner.h"

using namespace shardwright;

namespace {

embedding::Table make_table(const char* name, std::int64_t rows, std::int64_t dim, double lookups) {
  embedding::Table table;
  table.name = name;
  table.num_embeddings = rows;
  table.embedding_dim = dim;
  table.constraints.emplace().pooling_factors = {lookups};
  return table;
}

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  return 1;
}

}  // namespace

int main() {
  // Two hosts of four ranks with 16 GiB each, and three tables of very different shapes.
  embedding::ProblemSpec spec;
  spec.topology.world_size = 8;
  spec.topology.local_world_size = 4;
  spec.topology.hbm_cap_bytes = 16 * kGibibyte;
  spec.batch_size = 2048;
  spec.tables = {make_table("ads", 40'000'000, 128, 20), make_table("pages", 390'000, 256, 5),
                 make_table("countries", 250, 64, 1)};

  Result<embedding::Problem> problem = embedding::Problem::make(std::move(spec));
  if (!problem.ok()) return fail(problem.error());
  const auto shared = std::make_shared<const embedding::Problem>(std::move(problem).value());

  const Result<EmbeddingPlanResult> result = plan_embedding(shared, PlanOptions());
  if (!result.ok()) return fail(result.error());
  if (!result->plan) {
    std::printf("no plan: %s\n", result->failure->message.c_str());
    return 1;
  }

  std::printf("the slowest rank takes %.3f ms\n", *result->best_rating);
  for (std::size_t i = 0; i < result->plan->size(); ++i) {
    const embedding::Assignment& assignment = (*result->plan)[i];
    const embedding::ShardingOption& option = *assignment.option;
    std::printf("%-10s %-15s %-6s ranks", shared->table(option.table).name.c_str(),
                to_name(option.sharding_type).data(), to_name(option.compute_kernel).data());
    for (std::uint32_t shard = 0; shard < option.num_shards(); ++shard) {
      std::printf(" %u", assignment.rank(shard));
    }
    std::printf("\n");
  }
  return result->evaluation.valid() ? 0 : 1;
}
