// Checkpoints of best mode, and searches that resume from them.
#include "runtime/embedding/resume.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/embedding/verify_file.h"
#include "runtime/io/file.h"

namespace shardwright::resume_test {

namespace {

using namespace shardwright;
using embedding::Problem;

constexpr const char* kHard = "09_mixed_default_20t_16r_2h";
constexpr std::uint64_t kWork = 10'000'000;

std::shared_ptr<const Problem> golden_problem(const std::string& name) {
  const auto spec = read_problem(*read_file("tests/golden/embedding/cases/" + name + ".json.gz"));
  REQUIRE(spec.ok());
  return std::make_shared<const Problem>(*Problem::make(*spec));
}

PlanOptions options_for(std::uint64_t work) {
  PlanOptions options;
  options.threads = 1;
  options.work_limit = work;
  return options;
}

std::string written(const EmbeddingPlanResult& result) {
  std::string text;
  write_plan(*result.problem, result, {}, [&](std::string_view piece) { text += piece; });
  return text;
}

PlanDocument written_and_read(const EmbeddingPlanResult& result) {
  auto document = read_plan(written(result));
  REQUIRE(document.ok());
  return std::move(document).value();
}

// Returns the checkpoints of a search and its final answer.
std::vector<EmbeddingPlanResult> checkpoints(const std::string& name) {
  std::vector<EmbeddingPlanResult> kept;
  PlanOptions options = options_for(kWork);
  options.on_checkpoint = [&](const EmbeddingPlanResult& at) { kept.push_back(at); };
  auto answer = plan_embedding(golden_problem(name), options);
  REQUIRE(answer.ok());
  kept.push_back(std::move(answer).value());
  return kept;
}

}  // namespace

TEST_CASE("resume: checkpoints get better up to the answer, and are plans that hold") {
  const std::vector<EmbeddingPlanResult> kept = checkpoints(kHard);
  REQUIRE(kept.size() > 2);
  for (std::size_t i = 0; i + 1 < kept.size(); ++i) {
    CHECK(kept[i].evaluation.valid());
    CHECK(kept[i].stopped_by == StopReason::kCancelled);
    CHECK(kept[i].lower_bound.has_value() == kept[i].certificate.has_value());
    if (i == 0) continue;
    const double rise = kept[i].lower_bound.value_or(0) - kept[i - 1].lower_bound.value_or(0);
    CHECK(*kept[i].best_rating <= *kept[i - 1].best_rating);
    CHECK(rise >= 0);
    CHECK((*kept[i].best_rating < *kept[i - 1].best_rating || rise > 0));
  }
  CHECK(*kept.back().best_rating == *kept[kept.size() - 2].best_rating);
}

TEST_CASE("resume: an answer from a checkpoint is not worse than it, at once or later") {
  for (const char* const name : {kHard, "26_offload_scaleup_10t_4r"}) {
    INFO(std::string(name));
    const std::vector<EmbeddingPlanResult> kept = checkpoints(name);
    const EmbeddingPlanResult& last = kept.back();
    REQUIRE(last.plan.has_value());
    for (const std::uint64_t work : {std::uint64_t{1}, kWork}) {
      const auto resumed =
          resume_embedding(golden_problem(name), written_and_read(last), options_for(work));
      REQUIRE(resumed.ok());
      REQUIRE(resumed->plan.has_value());
      CHECK(*resumed->best_rating <= *last.best_rating);
      CHECK(resumed->evaluation.valid());
      CHECK_FALSE(resumed->given_search_space);
    }
  }
}

TEST_CASE("resume: the proof goes on from the bound of a checkpoint, at once") {
  for (const char* const name : {kHard, "26_offload_scaleup_10t_4r"}) {
    INFO(std::string(name));
    const std::vector<EmbeddingPlanResult> kept = checkpoints(name);
    const EmbeddingPlanResult& at = kept[kept.size() - 2];
    REQUIRE(at.certificate.has_value());
    const PlanDocument document = written_and_read(at);
    const auto resumed = resume_embedding(golden_problem(name), document, options_for(1));
    REQUIRE(resumed.ok());
    REQUIRE(resumed->lower_bound.has_value());
    CHECK(*resumed->lower_bound >= *at.lower_bound);
    CHECK(resumed->bound_refusal.empty());
    // The same call without the certificate proves less.
    PlanDocument without = document;
    without.certificate.reset();
    const auto anew = resume_embedding(golden_problem(name), without, options_for(1));
    REQUIRE(anew.ok());
    CHECK(anew->lower_bound.value_or(0) < *at.lower_bound);
  }
}

TEST_CASE("resume: a proof that was tampered with, or of another space, is dropped") {
  const EmbeddingPlanResult at = checkpoints(kHard).back();
  const PlanDocument good = written_and_read(at);
  REQUIRE(good.certificate.has_value());
  const auto bound_from = [&](const PlanDocument& document) {
    const auto resumed = resume_embedding(golden_problem(kHard), document, options_for(1));
    REQUIRE(resumed.ok());
    return resumed->lower_bound.value_or(0);
  };
  CHECK(bound_from(good) >= *at.lower_bound);
  PlanDocument raised = good;
  raised.certificate->bound *= 1.5;
  CHECK(bound_from(raised) < *at.lower_bound);
  PlanDocument without_nodes = good;
  without_nodes.certificate->nodes.clear();
  CHECK(bound_from(without_nodes) < *at.lower_bound);
  PlanDocument of_other_space = good;
  of_other_space.search_space_size = *good.search_space_size + 1;
  CHECK(bound_from(of_other_space) < *at.lower_bound);
}

TEST_CASE("resume: a checkpoint of an earlier version, with an open tree, is read and verified") {
  const EmbeddingPlanResult last = checkpoints(kHard).back();
  std::string text = written(last);
  text.insert(1, R"("open_proof": {"sha256": "0123", "state": "AAAA"},)");
  const auto document = read_plan(text);
  REQUIRE(document.ok());
  const auto resumed = resume_embedding(last.problem, *document, options_for(1));
  REQUIRE(resumed.ok());
  CHECK(*resumed->best_rating <= *last.best_rating);
  CHECK(resumed->lower_bound.value_or(0) >= *last.lower_bound);
  const auto found = verify_plan_file(last.problem, text);
  REQUIRE(found.ok());
  CHECK(found->valid());
  CHECK(std::count(found->not_checked.begin(), found->not_checked.end(), "open_proof") == 1);
}

TEST_CASE("resume: what is no checkpoint of this search is refused") {
  const PlanDocument good = written_and_read(checkpoints(kHard).back());
  const auto refusal = [&](const PlanDocument& document, const char* name, PlanMode mode) {
    PlanOptions options = options_for(1);
    options.mode = mode;
    const auto result = resume_embedding(golden_problem(name), document, options);
    REQUIRE_FALSE(result.ok());
    return result.error();
  };
  CHECK(refusal(good, "16_sequence_and_pooled_8r", PlanMode::kBest).where == "/problem_hash");
  CHECK(refusal(good, kHard, PlanMode::kCompat).code == ErrorCode::kUnsupported);
  PlanDocument without = good;
  without.plan.reset();
  CHECK(refusal(without, kHard, PlanMode::kBest).where == "/plan");
  PlanDocument gap = good;
  gap.plan->pop_back();
  CHECK(refusal(gap, kHard, PlanMode::kBest).where == "/plan");
  PlanDocument elsewhere = good;
  elsewhere.plan->front().ranks.front() = 999;
  CHECK(refusal(elsewhere, kHard, PlanMode::kBest).where == "/plan");
}

}  // namespace shardwright::resume_test
