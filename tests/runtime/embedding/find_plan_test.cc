// The search over all plans agrees with one that leaves nothing out.
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/embedding/bound/search/find_plan.h"
#include "core/embedding/evaluation/evaluate.h"
#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/problem/problem_json.h"
#include "tests/support/random.h"

namespace shardwright::find_plan_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using test_support::Random;
using Answer = FoundPlan::Answer;
using nlohmann::json;

// Two or three small tables on up to four ranks, with memory that is often too small.
json random_problem(Random& random) {
  const std::size_t ranks = 2 + random.below(3);
  const std::size_t local = ranks == 4 && random.below(2) == 0 ? 2 : ranks;
  json problem = {{"reservation", {{"type", "none"}}}, {"batch_size", 1}};
  json hbm = json::array();
  for (std::size_t rank = 0; rank < ranks; ++rank)
    hbm.push_back(400'000 + 100'000 * (random.below(3) == 0 ? random.below(8) : 0));
  problem["topology"] = {{"world_size", ranks},
                         {"local_world_size", local},
                         {"ddr_cap", 1000},
                         {"custom", {{"hbm_cap", hbm}}}};
  const std::vector<json> kinds = {"table_wise", "column_wise", "row_wise", "table_row_wise",
                                   "table_column_wise"};
  const std::size_t tables = 2 + random.below(2);
  for (std::size_t i = 0; i < tables; ++i) {
    const std::string name = "t" + std::to_string(i);
    problem["tables"].push_back(
        {{"name", name}, {"num_embeddings", 700 + 150 * random.below(12)}, {"embedding_dim", 64}});
    json& rules = problem["constraints"][name];
    rules = {{"sharding_types", json::array({kinds[random.below(5)], kinds[random.below(5)]})},
             {"compute_kernels", {"fused", "dense"}},
             {"min_partition", 32}};
    if (random.below(4) == 0) rules["ranks"] = {random.below(ranks), random.below(ranks)};
    if (random.below(5) == 0) rules["distinct_ranks"] = true;
    if (random.below(6) == 0) rules["shard_ranks"] = {{"0", {random.below(ranks)}}};
  }
  const json pair = {{"tables", {"t0", "t1"}}, {"on", random.below(2) == 0 ? "rank" : "host"}};
  if (random.below(4) == 0) problem["keep_together"] = json::array({pair});
  if (random.below(4) == 0) problem["keep_apart"] = json::array({pair});
  return problem;
}

// Tries every option and every rank for every shard, and lets evaluate() judge.
// Thread safety: one thread at a time.
class Everything {
 public:
  Everything(std::shared_ptr<const SearchSpace> space, const Topology& available)
      : space_(std::move(space)), available_(available) {}

  bool any_plan(std::size_t table = 0) {
    if (table == space_->problem().tables().size()) return accepts();
    for (const ShardingOption& option : space_->options()) {
      if (option.table != TableId(table)) continue;
      options_.push_back(&option);
      if (any_ranks(table, option.num_shards())) return true;
      options_.pop_back();
    }
    return false;
  }
  std::size_t plans() const { return plans_; }

 private:
  bool any_ranks(std::size_t table, std::uint32_t shards) {
    if (shards == 0) return any_plan(table + 1);
    for (Rank rank = 0; rank < available_.world_size(); ++rank) {
      ranks_.push_back(rank);
      if (any_ranks(table, shards - 1)) return true;
      ranks_.pop_back();
    }
    return false;
  }
  bool accepts() {
    ++plans_;
    return evaluate(space_->problem(), available_, Plan::make(space_, options_, ranks_)).valid();
  }

  std::shared_ptr<const SearchSpace> space_;
  const Topology& available_;
  std::vector<const ShardingOption*> options_;
  std::vector<Rank> ranks_;
  std::size_t plans_ = 0;
};

// Ways to place all tables, roughly.
double size_of(const SearchSpace& space) {
  std::vector<double> ways(space.problem().tables().size(), 0);
  for (const ShardingOption& option : space.options()) {
    double own = 1;
    for (std::uint32_t i = 0; i < option.num_shards(); ++i)
      own *= space.problem().topology().world_size();
    ways[option.table.index()] += own;
  }
  double all = 1;
  for (const double own : ways)
    all *= own;
  return all;
}

}  // namespace

TEST_CASE("find plan: says the same as trying every rank for every shard") {
  int found = 0;
  int none = 0;
  for (const std::uint64_t seed : test_support::seeds({5, 17})) {
    Random random(seed);
    for (int i = 0; i < 400; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      const json text = random_problem(random);
      const auto spec = read_problem(text.dump());
      REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
      const auto made = Problem::make(*spec);
      if (!made.ok()) continue;  // rules that contradict each other at once
      const auto problem = std::make_shared<const Problem>(*made);
      const auto space = enumerate_embedding(problem);
      const auto reservation = reserve_embedding(*problem);
      if (!space.ok() || !reservation.ok() || size_of(**space) > 30'000) continue;
      const FoundPlan result = find_any_plan(**space, reservation->topology);
      const bool exists = Everything(*space, reservation->topology).any_plan();
      CHECK_MESSAGE((result.answer == (exists ? Answer::kFound : Answer::kNoneExists)),
                    text.dump());
      if (result.plan) CHECK(evaluate(*problem, reservation->topology, *result.plan).valid());
      ++(exists ? found : none);
    }
  }
  CHECK(found > 30);
  CHECK(none > 30);
}

// 64 equal shards on two ranks: 2^64 placements, 65 of which differ.
TEST_CASE("find plan: equal shards are not told apart") {
  const json text = json::parse(R"({
    "topology": {"world_size": 4, "local_world_size": 2, "hbm_cap": 466234688, "ddr_cap": 116558672},
    "tables": [
      {"name": "t0", "num_embeddings": 284869, "embedding_dim": 32, "pooling_factor": 2,
       "kind": "sequence"},
      {"name": "t1", "num_embeddings": 875006, "embedding_dim": 256, "pooling_factor": 0.5}],
    "batch_size": 128,
    "constraints": {"t0": {"max_shards": 2, "distinct_ranks": true},
                    "t1": {"min_partition": 4, "ranks": [0, 3]}}})");
  const auto problem = std::make_shared<const Problem>(*Problem::make(*read_problem(text.dump())));
  const auto space = enumerate_embedding(problem);
  REQUIRE(space.ok());
  const auto reservation = reserve_embedding(*problem);
  REQUIRE(reservation.ok());
  CHECK(find_any_plan(**space, reservation->topology).answer == Answer::kNoneExists);
  CHECK(find_any_plan(**space, reservation->topology, 10).answer == Answer::kGivenUp);
}

// More ranks and tables than prices are worth their time for.
TEST_CASE("find plan: hundreds of ranks and tables") {
  json text = {
      {"reservation", {{"type", "none"}}},
      {"batch_size", 1},
      {"topology", {{"world_size", 600}, {"local_world_size", 8}, {"hbm_cap", 2'000'000}}}};
  for (int i = 0; i < 700; ++i) {
    const std::string name = "t" + std::to_string(i);
    text["tables"].push_back({{"name", name}, {"num_embeddings", 1000}, {"embedding_dim", 64}});
    text["constraints"][name] = {{"sharding_types", {"table_wise"}}};
  }
  for (const char* name : {"t600", "t650", "t699"})
    text["constraints"][name]["ranks"] = {17, 590};
  const auto answer = [&] {
    const auto problem =
        std::make_shared<const Problem>(*Problem::make(*read_problem(text.dump())));
    const auto space = enumerate_embedding(problem);
    REQUIRE(space.ok());
    const Topology& available = problem->topology();
    const FoundPlan found = find_any_plan(**space, available);
    if (found.plan) CHECK(evaluate(*problem, available, *found.plan).valid());
    return found.answer;
  };
  CHECK(answer() == Answer::kFound);
  for (const auto& pair : {json{"t600", "t650"}, json{"t650", "t699"}, json{"t600", "t699"}})
    text["keep_apart"].push_back({{"tables", pair}, {"on", "rank"}});
  CHECK(answer() == Answer::kNoneExists);
}

}  // namespace shardwright::find_plan_test
