// The state of ranks: which shards fit, undone changes, and agreement with the evaluator.
#include "search/embedding/model/rank_loads.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/embedding/evaluate.h"
#include "search/embedding/model/allocation_state.h"
#include "search/embedding/model/greedy_placer.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/small_models.h"
#include "tests/support/embedding/space_builder.h"
#include "tests/support/random.h"

namespace shardwright::rank_state_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

bool same_bits(const RankLoad& a, const RankLoad& b) {
  return a.load == b.load && a.left == b.left && a.energy == b.energy && a.slope == b.slope &&
         a.bad == b.bad;
}

}  // namespace

TEST_CASE("rank state: an empty rank always fits, however little memory it has") {
  RankState rank;
  rank.set_capacity({Bytes(-5), Bytes(-1)});
  CHECK(rank.fits());
  CHECK(rank.excess_bytes() == 0);
  rank.change(1, 2.5, {Bytes(10), Bytes(0)});
  CHECK_FALSE(rank.fits());
  CHECK(rank.excess_bytes() == 16);  // 15 bytes of HBM; 1 byte of DDR, of which there is none
  rank.change(-1, 2.5, {Bytes(10), Bytes(0)});
  CHECK(rank.fits());
  CHECK(rank.load == 0);
}

TEST_CASE("rank state: bytes fit up to the capacity of each memory") {
  RankState rank;
  rank.set_capacity({Bytes(100), Bytes(50), Bytes(20)});
  CHECK(rank.has_room_for({0, rank.capacity}));
  CHECK_FALSE(rank.has_room_for({0, {Bytes(101), Bytes(0)}}));
  CHECK_FALSE(rank.has_room_for({0, {Bytes(0), Bytes(51)}}));
  CHECK_FALSE(rank.has_room_for({0, {Bytes(0), Bytes(0), Bytes(21)}}));
  rank.change(1, 0, {Bytes(110), Bytes(60), Bytes(23)});
  CHECK(rank.excess_bytes() == 23);
}

TEST_CASE("rank loads: tentative changes are undone to the last bit") {
  Random random(91);
  int changed = 0;
  for (int i = 0; i < 200; ++i) {
    INFO("model ", i);
    const Model model(small_space(random));
    AllocationState state(model.context);
    state.clear();
    state.set_goal({1.0 / 3, 0.7, 2, i % 2 == 0, 3});
    const auto world = static_cast<Rank>(model.choices.world_size());
    for (Rank rank = 0; rank < world; ++rank)
      state.add(rank, {0.1 * static_cast<double>(random.below(10)), {Bytes(3), Bytes(1)}});
    state.keep();
    const std::vector<RankLoad> before(state.ranks().begin(), state.ranks().end());
    const double slope = state.slope();
    for (int change = 0; change < 20; ++change) {
      const Rank rank = static_cast<Rank>(random.below(world));
      const ShardUse use{static_cast<double>(random.below(100)) / 7,
                         {Bytes(static_cast<std::int64_t>(random.below(50))), Bytes(0)}};
      const double expected = state.gain(rank, use);
      CHECK(state.add(rank, use) == expected);
      const ShardUse less{use.load / 3, use.storage};
      const double expected_loss = state.loss(rank, less);
      CHECK(state.remove(rank, less) == expected_loss);
    }
    changed += state.ranks()[0].load != before[0].load ? 1 : 0;
    state.take_back();
    CHECK(state.num_tentative() == 0);
    for (Rank rank = 0; rank < world; ++rank)
      CHECK(same_bits(state.ranks()[rank], before[rank]));
    CHECK(state.slope() == doctest::Approx(slope).epsilon(1e-12));
  }
  CHECK(changed > 100);
}

TEST_CASE("rank loads: choices on all ranks count the same at once as one after the other") {
  Random random(93);
  int compared = 0;
  for (int i = 0; i < 200; ++i) {
    INFO("model ", i);
    const Model model(small_space(random));
    AllocationState one(model.context);
    AllocationState all(model.context);
    for (AllocationState* state : {&one, &all}) {
      state->clear();
      state->set_goal({1.0 / 3, 0.7, 2, i % 2 == 0, 3});
      state->add(0, {0.1, {Bytes(3), Bytes(1)}});
      state->keep();
    }
    std::vector<std::uint32_t> choices;
    for (std::uint32_t choice = 0; choice < model.choices.choices().size(); ++choice) {
      if (model.choices.choices()[choice].reach == Reach::kAllRanks) choices.push_back(choice);
    }
    for (const std::uint32_t choice : choices)
      one.add_everywhere(model.choices.choices()[choice]);
    one.keep();
    auto never = [](std::uint64_t) { return false; };
    REQUIRE(all.hold_everywhere(choices, never));
    for (Rank rank = 0; rank < model.choices.world_size(); ++rank)
      CHECK(same_bits(one.ranks()[rank], all.ranks()[rank]));
    for (const std::uint32_t choice : choices) {
      ++compared;
      const Choice& own = model.choices.choices()[choice];
      const RankLoads::Removal expected = one.removal_of(own);
      CHECK(one.remove_everywhere(own) == expected.rise);
      CHECK(one.slope() == expected.slope);
      one.take_back();
    }
    auto at_once = [](std::uint64_t) { return true; };
    if (!choices.empty()) CHECK_FALSE(all.hold_everywhere(choices, at_once));
  }
  CHECK(compared > 100);
}

TEST_CASE(
    "plan loads: rating and bytes equal the verifier's, and the greedy placer undoes failed "
    "placements") {
  Random random(92);
  int placed = 0;
  for (int i = 0; i < 200; ++i) {
    INFO("model ", i);
    const Model model(small_space(random));
    const Problem& problem = model.space->problem();
    PlanLoads loads(problem, problem.topology());
    std::vector<Assignment> assignments;
    for (std::size_t table = 0; table < problem.tables().size(); ++table) {
      for (const ShardingOption& option : model.space->options()) {
        if (option.table.index() != table) continue;
        GreedyPlacer placer(problem, problem.topology(), option, loads);
        const std::vector<Rank> ranks = placer.place();
        if (ranks.empty()) continue;
        placer.take_back(ranks);
        CHECK(placer.place() == ranks);
        const bool uniform = option.partition_by() == PartitionBy::kUniform;
        assignments.push_back(
            {&option, uniform ? SharedArray<Rank>() : SharedArray<Rank>(std::span(ranks))});
        break;
      }
    }
    if (assignments.size() != problem.tables().size()) continue;
    ++placed;
    const Plan plan = Plan::generate(model.space, assignments.size(),
                                     [&](std::size_t at) { return assignments[at]; });
    const Evaluation evaluation = evaluate(problem, problem.topology(), plan);
    CHECK(loads.rating() == doctest::Approx(evaluation.rating).epsilon(1e-9));
    for (Rank rank = 0; rank < loads.world_size(); ++rank)
      CHECK(loads.rank(rank).held() == evaluation.storage_by_rank[rank]);
    for (const Assignment& assignment : assignments)
      loads.remove(assignment);
    CHECK(loads.excess_bytes() == 0);
    CHECK(loads.rating() == doctest::Approx(0).epsilon(1e-9));
  }
  CHECK(placed > 100);
}

TEST_CASE("greedy placer: a shard with few allowed ranks takes its rank before the others") {
  // The second shard may be on rank 0 only. The first would take that rank, too.
  for (const bool distinct : {false, true}) {
    ProblemSpec spec = problem_spec(1, 2, 2);
    spec.tables[0].placement.shard_ranks = {{1, {0}}};
    spec.tables[0].placement.distinct_ranks = distinct;
    const auto space =
        SpaceBuilder(std::move(spec)).add(0, ShardingType::kColumnWise, 2, 1, 10).take();
    const Problem& problem = space->problem();
    PlanLoads loads(problem, problem.topology());
    GreedyPlacer placer(problem, problem.topology(), space->options()[0], loads);
    CHECK(placer.place() == std::vector<Rank>{1, 0});
  }
}

}  // namespace shardwright::rank_state_test
