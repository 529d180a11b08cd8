// Functions from the text of a problem to a plan, its file and the answer of verify.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/embedding/verify_file.h"

namespace shardwright::test_support {

inline std::shared_ptr<const embedding::Problem> problem_of(const nlohmann::json& text) {
  const auto spec = read_problem(text.dump());
  REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
  auto made = embedding::Problem::make(*spec);
  REQUIRE_MESSAGE(made.ok(), made.error().to_string());
  return std::make_shared<const embedding::Problem>(*std::move(made));
}

// Options for a short run on one thread.
inline PlanOptions brief(PlanMode mode = PlanMode::kBest, std::uint64_t work = 2'000'000) {
  PlanOptions options;
  options.mode = mode;
  options.threads = 1;
  options.work_limit = work;
  return options;
}

inline EmbeddingPlanResult planned(const std::shared_ptr<const embedding::Problem>& problem,
                                   const PlanOptions& options = brief()) {
  auto result = plan_embedding(problem, options);
  REQUIRE_MESSAGE(result.ok(), result.error().to_string());
  return std::move(result).value();
}

inline nlohmann::json file_of(const EmbeddingPlanResult& result) {
  std::string text;
  write_plan(*result.problem, result, {}, [&](std::string_view piece) { text += piece; });
  return nlohmann::json::parse(text);
}

// Returns the place of the first violation, "not verified", or "" if all claims hold.
inline std::string violation(const std::shared_ptr<const embedding::Problem>& problem,
                             const nlohmann::json& file) {
  const auto found = verify_plan_file(problem, file.dump());
  if (!found.ok()) return found.error().where;
  if (found->valid()) return found->verified() ? "" : "not verified";
  return found->violations.front().where;
}

}  // namespace shardwright::test_support
