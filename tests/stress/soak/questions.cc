#include "tests/stress/soak/questions.h"

#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/embedding/explain.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/replan.h"
#include "runtime/embedding/sweep.h"
#include "runtime/io/embedding/plan_json.h"
#include "tests/stress/soak/scarce_memory.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/random_embedding.h"

namespace shardwright::soak {
namespace {

using test_support::Random;
using ProblemPtr = std::shared_ptr<const embedding::Problem>;

ProblemPtr wide_problem(Random& random, std::size_t tables, std::int64_t ranks) {
  embedding::ProblemSpec spec = test_support::problem_spec(tables, ranks, 8);
  for (embedding::Table& table : spec.tables) {
    table.num_embeddings = static_cast<std::int64_t>(1'000 + random.below(2'000'000));
    table.embedding_dim = std::int64_t{16} << random.below(4);
  }
  return std::make_shared<const embedding::Problem>(
      embedding::Problem::make(std::move(spec)).value());
}

ProblemPtr any_problem(Random& random) {
  const std::size_t size = random.below(50);
  if (size == 0) return wide_problem(random, 300, 64);
  if (size < 10) return wide_problem(random, 10 + random.below(40), 16);
  test_support::RandomProblemStyle style;
  style.scaleup = random.below(4) == 0;
  return test_support::random_problem(random, style);
}

PlanOptions any_options(Random& random, Cancellable& running) {
  PlanOptions options;
  options.mode = random.below(3) == 0 ? PlanMode::kCompat : PlanMode::kBest;
  options.threads = static_cast<int>(1 + random.below(3));
  options.work_limit = std::uint64_t{1'000} << random.below(11);
  options.seed = random.next();
  if (random.below(4) == 0) options.time_limit_s = 1e-3 * static_cast<double>(random.below(6));
  options.stop = running.begin();
  return options;
}

Outcome wrong(const std::string& text) {
  std::fprintf(stderr, "wrong: %s\n", text.c_str());
  return Outcome::kWrong;
}

Outcome refused(const Error& error) {
  switch (error.code) {
    case ErrorCode::kStopped:
      return Outcome::kStopped;
    case ErrorCode::kVerificationFailed:
      return wrong(error.to_string());
    default:
      return Outcome::kRefused;
  }
}

Outcome outcome_of(const EmbeddingPlanResult& result) {
  if (result.mode == PlanMode::kBest && result.plan && !result.evaluation.valid()) {
    return wrong("best mode's plan breaks a rule: " + result.evaluation.violations.front().message);
  }
  return result.stopped_by == StopReason::kFinished ? Outcome::kAnswered : Outcome::kStopped;
}

Outcome replan(const ProblemPtr& problem, const EmbeddingPlanResult& old, Random& random,
               Cancellable& running) {
  std::string text;
  write_plan(*problem, old, {}, [&](std::string_view piece) { text += piece; });
  const Result<PlanDocument> document = read_plan(text);
  if (!document.ok()) return wrong("a plan file cannot be read: " + document.error().to_string());
  ReplanOptions options;
  options.plan = any_options(random, running);
  options.migration_weight = 1e-3 * static_cast<double>(random.below(2'000));
  const auto result = replan_embedding(problem, *document->plan, options);
  return result.ok() ? outcome_of(*result) : refused(result.error());
}

Outcome plan(const ProblemPtr& problem, Random& random, Cancellable& running) {
  const auto result = plan_embedding(problem, any_options(random, running));
  if (!result.ok()) return refused(result.error());
  const Outcome outcome = outcome_of(*result);
  if (outcome == Outcome::kWrong || !result->plan || random.below(4) != 0) return outcome;
  return replan(problem, *result, random, running);
}

Outcome sweep(const ProblemPtr& problem, Random& random, Cancellable& running) {
  embedding::SweepGrid grid;
  grid.ranks = {2, 4, 8};
  grid.ranks_per_host = 2;
  grid.batch_sizes = {64, 1024};
  const auto result = sweep_embedding(problem->spec(), grid, any_options(random, running));
  if (!result.ok()) return refused(result.error());
  for (const SweepPoint& point : result->points) {
    if (point.fits() != point.plan.has_value()) return wrong("a point with half an answer");
  }
  return Outcome::kAnswered;
}

Outcome explain(const ProblemPtr& problem, Random& random, Cancellable& running) {
  ExplainOptions options;
  options.plan = any_options(random, running);
  const auto result = explain_embedding(problem, std::nullopt, options);
  return result.ok() ? outcome_of(result->result) : refused(result.error());
}

Outcome ask_any(Random& random, Cancellable& running) {
  const ProblemPtr problem = any_problem(random);
  const std::size_t question = random.below(10);
  if (question == 0) return sweep(problem, random, running);
  if (question == 1) return explain(problem, random, running);
  return plan(problem, random, running);
}

}  // namespace

std::stop_token Cancellable::begin() {
  std::stop_source fresh;
  const std::lock_guard lock(mutex_);
  source_ = std::move(fresh);
  return source_.get_token();
}

void Cancellable::cancel() {
  const std::lock_guard lock(mutex_);
  source_.request_stop();
}

Outcome ask(Random& random, Cancellable& running) {
  try {
    return ask_any(random, running);
  } catch (const std::bad_alloc&) {
    return Outcome::kOutOfMemory;
  } catch (const std::exception& exception) {
    const AmpleMemory ample;
    return wrong(exception.what());
  }
}

}  // namespace shardwright::soak
