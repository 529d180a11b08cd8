// What a plan is worth: plans for other machines, plans with less memory on the fullest rank, and
// plans that move less.
#include "runtime/embedding/verdict.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/embedding/problem/gpus.h"
#include "runtime/embedding/balance.h"
#include "runtime/embedding/machine_facts.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/replan_front.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/sizes.h"
#include "search/embedding/questions/old_plan.h"
#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::verdict_test {

namespace {

using namespace shardwright;
using embedding::GpuModel;
using embedding::Problem;
using embedding::ProblemSpec;
using test_support::problem_spec;

constexpr std::int64_t kRows = 4'000'000;

std::shared_ptr<const Problem> make(ProblemSpec spec) {
  return std::make_shared<const Problem>(Problem::make(std::move(spec)).value());
}

// Ten tables of different sizes on two hosts of four ranks.
ProblemSpec two_hosts() {
  ProblemSpec spec = problem_spec(10, 8, 4, kRows, 64);
  for (std::size_t i = 0; i < spec.tables.size(); ++i)
    spec.tables[i].num_embeddings = kRows / static_cast<std::int64_t>(i + 1);
  return spec;
}

EmbeddingPlanResult planned(const ProblemSpec& spec, const PlanOptions& options = {}) {
  return plan_embedding(make(spec), options).value();
}

std::int64_t fullest(const EmbeddingPlanResult& result) {
  std::int64_t most = 0;
  for (const embedding::Storage& rank : result.evaluation.storage_by_rank)
    most = std::max(most, rank.hbm.value());
  return most;
}

}  // namespace

TEST_CASE("verdict: a faster machine is never slower, and sentences say what each change does") {
  const EmbeddingPlanResult result = planned(two_hosts());
  const std::vector<WhatIf> what_ifs = plan_what_ifs(result, {});
  REQUIRE(what_ifs.size() == 4);
  CHECK(what_ifs[0].change == "twice the bandwidth between hosts");
  CHECK(*what_ifs[0].rating < *result.best_rating);
  CHECK(what_ifs[1].change == "half the HBM");
  CHECK(what_ifs[2].change == "twice the HBM");
  CHECK(*what_ifs[2].rating <= *result.best_rating);
  CHECK(what_ifs[3].ranks == 12);
  EmbeddingPlanResult judged = result;
  judged.what_ifs = what_ifs;
  const std::vector<std::string> sentences = verdict_sentences(*judged.problem, judged);
  REQUIRE(sentences.size() == 6);
  CHECK(sentences[0].starts_with("TorchRec's own plan: "));
  CHECK(sentences[1].starts_with("rank "));
  CHECK(sentences[2].starts_with("twice the bandwidth between hosts: "));
  CHECK(sentences[2].ends_with(" faster"));
}

TEST_CASE("verdict: too little memory is proved, and limited searches plan no other machine") {
  ProblemSpec spec = two_hosts();
  spec.topology.hbm_cap_bytes = std::int64_t{2} << 30;
  const EmbeddingPlanResult result = planned(spec);
  REQUIRE(result.plan);
  for (const WhatIf& what_if : plan_what_ifs(result, {})) {
    if (what_if.change != "half the HBM") continue;
    CHECK((what_if.is_impossible || *what_if.rating >= *result.best_rating * (1 - 1e-9)));
  }
  PlanOptions limited;
  limited.work_limit = 1'000'000;
  CHECK(plan_what_ifs(result, limited).empty());
  limited.work_limit.reset();
  limited.mode = PlanMode::kCompat;
  CHECK(plan_what_ifs(planned(two_hosts(), limited), limited).empty());
}

TEST_CASE("balance: the fullest rank holds less, for no more than the slack") {
  EmbeddingPlanResult result = planned(two_hosts());
  const double rating = *result.best_rating;
  const std::int64_t before = fullest(result);
  constexpr double kSlack = 0.05;
  REQUIRE(balance_memory(kSlack, {}, result).ok());
  CHECK(fullest(result) <= before);
  CHECK(*result.best_rating <= rating * (1 + kSlack));
  CHECK(result.evaluation.valid());
  CHECK(*result.lower_bound <= rating);
  CHECK(balance_memory(1.5, {}, result).error().where == "memory_slack");
}

TEST_CASE("replan_on_front: no plan of the front is beaten in both measures") {
  ProblemSpec before = two_hosts();
  before.topology.inter_host_bw /= 8;
  const EmbeddingPlanResult old_result = planned(before);
  const std::vector<PlanEntry> old = embedding::entries_of(*old_result.problem, *old_result.plan);
  ReplanOptions options;
  options.plan.work_limit = 20'000'000;
  const auto problem = make(two_hosts());
  const EmbeddingPlanResult result = replan_on_front(problem, old, options, std::nullopt).value();
  REQUIRE(!result.front.empty());
  for (std::size_t i = 1; i < result.front.size(); ++i) {
    CHECK(result.front[i - 1].moved_bytes < result.front[i].moved_bytes);
    CHECK(result.front[i - 1].rating > result.front[i].rating);
  }
  CHECK(*result.best_rating <= result.front.back().rating * (1 + kWorthMoving));
  CHECK(*result.front_bound <= *result.best_rating);
  for (const ReplanPoint& point : result.front) {
    const EmbeddingPlanResult limited =
        replan_on_front(problem, old, options, point.moved_bytes).value();
    CHECK(limited.migration->moved_bytes <= point.moved_bytes);
    CHECK(*limited.front_bound <= *limited.best_rating);
    CHECK(*limited.front_bound <= point.rating);
  }
}

TEST_CASE("gpus: a name sets memory, bandwidths and hosts; machine_text says what differs") {
  for (std::size_t i = 0; i < names_of(GpuModel{}).size(); ++i) {
    const auto model = static_cast<GpuModel>(i);
    const embedding::Gpu& gpu = embedding::gpu_of(model);
    const std::string name(to_name(model));
    embedding::TopologySpec spec;
    spec.world_size = 16;
    embedding::use_gpu(model, spec);
    CAPTURE(name);
    CHECK(spec.gpu == model);
    CHECK(!gpu.source.empty());
    CHECK(*spec.hbm_cap_bytes == gpu.hbm_bytes);
    CHECK(spec.hbm_mem_bw * 1000 == doctest::Approx(gpu.hbm_mem_bw));
    CHECK(embedding::machine_text(spec) == name + " x 16");
    spec.inter_host_bw *= 2;
    CHECK(embedding::machine_text(spec) == name + " x 16 with other bandwidths");
  }
  CHECK(embedding::machine_text(two_hosts().topology) ==
        "8 ranks with TorchRec's default bandwidths");
}

TEST_CASE("gpus: a file names one, and other members of the topology replace its figures") {
  constexpr const char* kFile =
      R"({"topology": {"inter_host_bw": "25GB/s", "hbm_cap": "70GiB", "world_size": 16, "gpu": "H100"},
          "tables": [{"name": "a", "num_embeddings": 10, "embedding_dim": 4, "features": ["f"]}]})";
  const embedding::TopologySpec spec = read_problem(kFile).value().topology;
  CHECK(spec.gpu == GpuModel::kH100);
  CHECK(spec.local_world_size == 8);
  CHECK(*spec.hbm_cap_bytes == std::int64_t{70} << 30);
  CHECK(spec.inter_host_bw == 25e6);
  CHECK(spec.hbm_mem_bw == 3.35e9);
  ProblemOverrides flags;
  flags.gpu = GpuModel::kV100;
  flags.ranks = 4;
  const embedding::TopologySpec other = read_problem(kFile, flags).value().topology;
  CHECK(other.gpu == GpuModel::kV100);
  CHECK(other.world_size == 4);
  CHECK(other.local_world_size == 4);
  CHECK(*other.hbm_cap_bytes == std::int64_t{32} << 30);
}

TEST_CASE("overrides: a request takes what it lacks from a plan, and says so") {
  ProblemOverrides mine, of_plan;
  mine.ranks = 4;
  of_plan.ranks = 16;
  of_plan.hbm_bytes = std::int64_t{80} << 30;
  of_plan.torchrec = embedding::TorchRecRelease::kA48cef79;
  of_plan.pod_sizes = {1, 2};
  CHECK(mine.take_missing(of_plan) == "{hbm} 80GiB {torchrec} a48cef79 {pod_size} 1,2");
  CHECK(*mine.ranks == 4);
  CHECK(mine.take_missing(of_plan).empty());
}

TEST_CASE("sizes: what is written is read back, and bandwidths need a unit") {
  for (const std::int64_t bytes :
       {std::int64_t{1}, std::int64_t{1000}, std::int64_t{3} << 20, std::int64_t{80} << 30})
    CHECK(parse_bytes(exact_size(bytes)).value() == bytes);
  CHECK(parse_bandwidth("3.35TB/s").value() == 3.35e12);
  CHECK(parse_bandwidth("12.5GiB/s").value() == 12.5 * (std::int64_t{1} << 30));
  for (const char* const wrong : {"", "/s", "900", "900GB", "GB/s", "900/s", "-1GB/s", "900 GB/ms"})
    CHECK_FALSE(parse_bandwidth(wrong).ok());
}

TEST_CASE("other_machine: says what a plan was made for, where the problem differs") {
  const auto problem = make(two_hosts());
  PlanDocument document;
  CHECK_FALSE(other_machine(document, *problem));
  document.machine = machine_facts(*problem);
  CHECK_FALSE(other_machine(document, *problem));
  ProblemSpec other = two_hosts();
  other.batch_size = 64;
  other.topology.hbm_cap_bytes = std::int64_t{80} << 30;
  CHECK(*other_machine(document, *make(other)) ==
        "the plan was made for 32.0 GiB of HBM per rank and batches of 512 samples, the problem as "
        "it "
        "is given has 80.0 GiB of HBM per rank and batches of 64 samples");
  // A file may say anything.
  document.machine = {{"hbm", "\"x\""}, {"ranks", "1.5"}};
  CHECK(other_machine(document, *problem)->starts_with("the plan was made for x of HBM per rank"));
}

}  // namespace shardwright::verdict_test
