// How do I plan from a C++ program outside this repository? See CMakeLists.txt here.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "core/version.h"
#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/problem_json.h"

int main() {
  const std::string text = R"({"topology": {"world_size": 4}, "tables": [
      {"name": "ads", "num_embeddings": 4000000, "embedding_dim": 128},
      {"name": "pages", "num_embeddings": 390000, "embedding_dim": 64}]})";
  auto spec = shardwright::read_problem(text);
  if (!spec.ok()) return std::fprintf(stderr, "%s\n", spec.error().to_string().c_str()), 1;
  auto problem = shardwright::embedding::Problem::make(std::move(spec).value());
  if (!problem.ok()) return std::fprintf(stderr, "%s\n", problem.error().to_string().c_str()), 1;
  const auto result = shardwright::plan_embedding(
      std::make_shared<const shardwright::embedding::Problem>(std::move(problem).value()), {});
  if (!result.ok() || !result->plan) return 1;
  std::printf("shardwright %s: %.3f ms\n", shardwright::library_version().data(),
              *result->best_rating);
  return shardwright::library_version() == SHARDWRIGHT_VERSION_STRING ? 0 : 1;
}
