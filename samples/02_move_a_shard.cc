// How do I try another placement of a plan? A changed plan copies the ranks of the changed table
// and max(1, ceil(log8(tables))) tree nodes, and shares the rest.
#include <array>
#include <cstdio>
#include <memory>
#include <utility>

#include "runtime/embedding/planner.h"

using namespace shardwright;

int main() {
  embedding::ProblemSpec spec;
  spec.topology.world_size = 4;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    embedding::Table table;
    table.name = name;
    table.num_embeddings = 1'000'000;
    table.embedding_dim = 64;
    table.constraints.emplace().sharding_types = {embedding::ShardingType::kTableWise};
    spec.tables.push_back(std::move(table));
  }
  auto problem = embedding::Problem::make(std::move(spec));
  if (!problem.ok()) return 1;
  const auto shared = std::make_shared<const embedding::Problem>(std::move(problem).value());
  const auto result = plan_embedding(shared, PlanOptions());
  if (!result.ok() || !result->plan) return 1;

  const embedding::Plan& plan = *result->plan;
  const std::array<embedding::Rank, 1> elsewhere{(plan[0].rank(0) + 1) % 4};
  const embedding::Plan moved = plan.with_ranks(0, elsewhere);

  // The original plan is unchanged. Both plans share the ranks of all other tables.
  bool shared_rest = true;
  for (std::size_t i = 1; i < plan.size(); ++i) {
    shared_rest = shared_rest && plan.ranks_identity(i) == moved.ranks_identity(i);
  }
  const auto before = embedding::evaluate(*shared, result->reservation->topology, plan);
  const auto after = embedding::evaluate(*shared, result->reservation->topology, moved);
  std::printf("moving one table changes the rating from %.4f to %.4f ms; the rest is shared: %s\n",
              before.rating, after.rating, shared_rest ? "yes" : "no");
  return shared_rest && before.rating == *result->best_rating ? 0 : 1;
}
