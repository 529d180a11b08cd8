// The compat search on plain threads, stopped or failing at random points.
#include <doctest/doctest.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <stop_token>

#include "core/embedding/evaluate.h"
#include "search/embedding/compat/embedding_search.h"
#include "search/explore.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/search_run.h"
#include "tests/support/embedding/space_builder.h"
#include "tests/support/random.h"
#include "tests/support/sanitized.h"
#include "tests/support/shuffling_executor.h"

namespace shardwright::search_stress_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

constexpr unsigned kWorkers = 4;

// A search space with about 1,800 greedy proposals on eight ranks. Many proposals do not fit.
std::shared_ptr<const SearchSpace> sixty_tables() {
  constexpr std::size_t kTables = 60;
  ProblemSpec spec = problem_spec(kTables, 8, 4);
  spec.topology.hbm_cap_bytes = 8'000;
  spec.proposers = {ProposerSpec{}};
  SpaceBuilder builder(spec);
  Random random(303);
  const ShardingType types[] = {kTableWise, kColumnWise, kRowWise, kTableRowWise, kTableColumnWise};
  const std::uint32_t shards[] = {1, 3, 8, 4, 2};
  for (std::size_t table = 0; table < kTables; ++table) {
    for (std::size_t i = 0; i < 30; ++i) {
      const std::size_t type = random.below(5);
      builder.add(table, types[type], shards[type], 1 + static_cast<double>(random.below(100)),
                  static_cast<std::int64_t>(10 + random.below(2000) / shards[type]));
    }
  }
  return builder.take();
}

// Requests a stop or throws after `after` ranges have begun.
class InterruptingExecutor final : public Executor {
 public:
  InterruptingExecutor(std::uint64_t seed, std::size_t after, bool throws)
      : inner_(kWorkers, seed), after_(after), throws_(throws) {}

  unsigned workers() const override { return inner_.workers(); }
  std::stop_token token() const { return source_.get_token(); }

 protected:
  std::unique_ptr<RunningLoop> begin(std::size_t count, RangeSizes sizes, RangeBody body) override {
    auto loop = std::make_unique<Interrupted>(Interrupted::Body{this, body});
    loop->inner = inner_.begin_for(count, sizes, loop->body);
    return loop;
  }

 private:
  struct Interrupted final : RunningLoop {
    struct Body {
      InterruptingExecutor* executor;
      RangeBody inner;
      void operator()(unsigned worker, std::size_t begin, std::size_t end) const {
        executor->interrupt();
        inner(worker, begin, end);
      }
    };

    explicit Interrupted(Body wrapped) : body(wrapped) {}
    void wait() override { inner.wait(); }

    Body body;
    Loop inner;
  };

  void interrupt() {
    if (begun_++ != after_) return;
    if (throws_) throw std::runtime_error("from a worker");
    source_.request_stop();
  }

  ShufflingExecutor inner_;
  std::stop_source source_;
  std::atomic<std::size_t> begun_{0};
  std::size_t after_;
  bool throws_;
};

}  // namespace

TEST_CASE("search: if stopped after any range, it keeps the best of the evaluated proposals") {
  const auto space = sixty_tables();
  const Topology& topology = space->problem().topology();
  const SearchRun whole = run_search(space, topology);
  REQUIRE(whole.num_proposals > 1000);
  REQUIRE(whole.plan.has_value());
  std::set<std::uint64_t> ratings;
  for (const ProposalRecord& traced : whole.trace) {
    if (traced.rating) ratings.insert(std::bit_cast<std::uint64_t>(*traced.rating));
  }
  std::size_t stopped = 0;
  std::size_t planned = 0;
  for (const std::uint64_t seed : seeds({304})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    for (int i = 0; i < (kSanitized ? 30 : 200); ++i) {
      const bool trace = i % 2 == 1;
      InterruptingExecutor executor(random.next(), random.below(40), false);
      OptionPool pool(space);
      EmbeddingSearch search(pool, topology, executor.workers(), trace);
      Budget budget({}, {}, executor.token());
      if (explore(search, executor, budget) == StopReason::kCancelled) ++stopped;
      CHECK(search.num_proposals() <= whole.num_proposals);
      REQUIRE(search.best_plan().has_value() == (search.num_plans() > 0));
      if (!search.best_plan()) continue;
      ++planned;
      const Evaluation evaluation = evaluate(space->problem(), topology, *search.best_plan());
      CHECK(evaluation.rating == search.best_rating());
      CHECK(search.best_rating() >= whole.best_rating);
      CHECK(ratings.count(std::bit_cast<std::uint64_t>(search.best_rating())) == 1);
    }
  }
  CHECK(stopped > 10);
  CHECK(planned > 10);
}

TEST_CASE("search: an exception of a worker ends the search and reaches the caller") {
  const auto space = sixty_tables();
  for (std::size_t after = 0; after < 10; ++after) {
    InterruptingExecutor executor(after, after, true);
    OptionPool pool(space);
    EmbeddingSearch search(pool, space->problem().topology(), executor.workers(), false);
    Budget budget;
    CHECK_THROWS_WITH_AS(explore(search, executor, budget), "from a worker", std::runtime_error);
  }
}

TEST_CASE("search: a deadline at any point leaves a consistent search") {
  const auto space = sixty_tables();
  const Topology& topology = space->problem().topology();
  for (int i = 0; i < 20; ++i) {
    ShufflingExecutor executor(kWorkers, static_cast<std::uint64_t>(i));
    OptionPool pool(space);
    EmbeddingSearch search(pool, topology, executor.workers(), false);
    Budget budget({}, 0.0002 * i);
    explore(search, executor, budget);
    REQUIRE(search.best_plan().has_value() == (search.num_plans() > 0));
    if (search.best_plan()) {
      CHECK(evaluate(space->problem(), topology, *search.best_plan()).rating ==
            search.best_rating());
    }
  }
}

}  // namespace shardwright::search_stress_test
