// Parts of the search that the caller replaces. Each part makes its own decisions and no others.
#include <doctest/doctest.h>

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/embedding/planner.h"
#include "search/embedding/compat/estimate.h"
#include "search/embedding/compat/proposal_lane.h"
#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::search_parts_test {

using namespace shardwright;
using namespace shardwright::embedding;
using test_support::problem_spec;

namespace {

// Calls the built-in partitioner.
class WrappedPartitioner final : public Partitioner {
 public:
  explicit WrappedPartitioner(const PartitionerSpec& spec) : inner_(make_partitioner(spec)) {}
  PartitionerSpec::SortBy sort_by() const override { return inner_->sort_by(); }
  bool partition(std::span<const OptionId> proposal, const GroupOrder& order,
                 Placement& placement) override {
    return inner_->partition(proposal, order, placement);
  }

 private:
  std::unique_ptr<Partitioner> inner_;
};

class WrappedRating final : public RatingModel {
 public:
  explicit WrappedRating(const Problem& problem)
      : inner_(make_rating_model(problem.spec().perf_model, problem.topology().world_size())) {}
  double rate(std::span<const OptionId> proposal, const Placement& placement) override {
    return inner_->rate(proposal, placement);
  }

 private:
  std::unique_ptr<RatingModel> inner_;
};

// Places all shards on the last rank, except those of uniform options.
class LastRankPartitioner final : public Partitioner {
 public:
  PartitionerSpec::SortBy sort_by() const override { return PartitionerSpec::SortBy::kStorage; }
  bool partition(std::span<const OptionId> proposal, const GroupOrder&,
                 Placement& placement) override {
    placement.reset();
    if (!placement.place_uniform(proposal)) return false;
    for (const OptionId id : proposal) {
      const OptionRow& row = placement.pool().row(id);
      if (row.partition_by == PartitionBy::kUniform) continue;
      const std::vector<Rank> ranks(row.num_shards, placement.num_devices() - 1);
      if (!placement.place_on_ranks(row, ranks)) return false;
    }
    return true;
  }
};

// Rates a proposal by its number of shards.
class FewShards final : public RatingModel {
 public:
  double rate(std::span<const OptionId> proposal, const Placement& placement) override {
    double shards = 0;
    for (const OptionId id : proposal)
      shards += placement.pool().row(id).num_shards;
    return shards;
  }
};

// Multiplies the estimated times by a factor, which may be invalid.
class ScaledCosts final : public CostModel {
 public:
  ScaledCosts(const Problem& problem, double factor) : estimator_(problem), factor_(factor) {}
  Result<ShardingOption> estimate(ShardingOption option) const override {
    SHARDWRIGHT_ASSIGN_OR_RETURN(option, estimator_.estimate(std::move(option)));
    for (ShardCost& cost : option.costs) {
      for (Milliseconds* part :
           {&cost.perf.fwd_compute, &cost.perf.fwd_comms, &cost.perf.bwd_compute,
            &cost.perf.bwd_comms, &cost.perf.prefetch_compute}) {
        *part = Milliseconds(part->value() * factor_);
      }
    }
    return option;
  }

 private:
  Estimator estimator_;
  double factor_;
};

std::shared_ptr<const Problem> some_problem(PartitionerSpec::Type partitioner = {}) {
  ProblemSpec spec = problem_spec(12, 8, 4, 100'000, 64);
  for (std::size_t i = 0; i < spec.tables.size(); ++i) {
    spec.tables[i].num_embeddings *= static_cast<std::int64_t>(i + 1);
  }
  spec.partitioner.type = partitioner;
  return std::make_shared<const Problem>(Problem::make(std::move(spec)).value());
}

EmbeddingPlanResult plan(const std::shared_ptr<const Problem>& problem, SearchParts parts,
                         PlanMode mode = PlanMode::kCompat, bool trace = true) {
  PlanOptions options;
  options.mode = mode;
  options.trace = trace;
  options.threads = 2;
  options.work_limit =
      mode == PlanMode::kBest ? std::optional<std::uint64_t>(300'000) : std::nullopt;
  options.parts = std::make_shared<const SearchParts>(std::move(parts));
  auto result = plan_embedding(problem, options);
  REQUIRE_MESSAGE(result.ok(), result.error().to_string());
  return std::move(result).value();
}

void check_same(const EmbeddingPlanResult& a, const EmbeddingPlanResult& b) {
  CHECK(a.best_rating == b.best_rating);
  CHECK(a.num_plans == b.num_plans);
  REQUIRE(a.trace->proposals.size() == b.trace->proposals.size());
  for (std::size_t i = 0; i < a.trace->proposals.size(); ++i) {
    CHECK(a.trace->proposals[i].rating == b.trace->proposals[i].rating);
    CHECK(a.trace->proposals[i].ranks_sha1 == b.trace->proposals[i].ranks_sha1);
  }
}

}  // namespace

TEST_CASE("search parts: wrapping the built-in parts changes nothing") {
  for (const auto type : {PartitionerSpec::Type::kGreedy, PartitionerSpec::Type::kMemoryBalanced}) {
    const auto problem = some_problem(type);
    SearchParts parts;
    parts.partitioner = [](const Problem& p) {
      return std::make_unique<WrappedPartitioner>(p.spec().partitioner);
    };
    parts.rating_model = [](const Problem& p) { return std::make_unique<WrappedRating>(p); };
    for (const ProposerSpec& spec : problem->spec().proposers) {
      parts.proposers.push_back([spec](const OptionPool& pool, const Topology& available) {
        return make_proposer(spec, pool, available);
      });
    }
    parts.cost_model = std::make_shared<Estimator>(*problem);
    const EmbeddingPlanResult own = plan(problem, parts);
    check_same(own, plan(problem, {}));
    CHECK(own.trace->proposals.size() > 20);
    // Without a trace, the search does not rate proposals that are certain to lose. The best plan
    // is the same.
    CHECK(plan(problem, parts, PlanMode::kCompat, false).best_rating == own.best_rating);
  }
}

TEST_CASE("search parts: a partitioner of one's own decides the ranks") {
  const auto problem = some_problem();
  SearchParts parts;
  parts.partitioner = [](const Problem&) { return std::make_unique<LastRankPartitioner>(); };
  const EmbeddingPlanResult result = plan(problem, parts);
  REQUIRE(result.plan);
  for (std::size_t i = 0; i < result.plan->size(); ++i) {
    const Assignment& assignment = (*result.plan)[i];
    if (assignment.option->partition_by() != PartitionBy::kDevice) continue;
    for (std::uint32_t k = 0; k < assignment.option->num_shards(); ++k) {
      CHECK(assignment.rank(k) == 7);
    }
  }
  CHECK(result.evaluation.rating == doctest::Approx(*result.best_rating));
  // Best mode starts from this plan and is no worse.
  const EmbeddingPlanResult best = plan(problem, parts, PlanMode::kBest);
  CHECK(*best.best_rating <= *result.best_rating);
  CHECK(best.evaluation.valid());
}

TEST_CASE("search parts: a partitioner that places nothing is named in the failure") {
  class Nowhere final : public Partitioner {
   public:
    PartitionerSpec::SortBy sort_by() const override { return {}; }
    bool partition(std::span<const OptionId>, const GroupOrder&, Placement&) override {
      return false;
    }
  };
  SearchParts parts;
  parts.partitioner = [](const Problem&) { return std::make_unique<Nowhere>(); };
  const EmbeddingPlanResult result = plan(some_problem(), parts);
  CHECK(!result.plan);
  REQUIRE(result.failure);
  CHECK(result.failure->reason == FailureReason::kNothingPlaced);
}

TEST_CASE("search parts: a rating model of one's own decides which plan is best") {
  const auto problem = some_problem();
  SearchParts parts;
  parts.rating_model = [](const Problem&) { return std::make_unique<FewShards>(); };
  const EmbeddingPlanResult result = plan(problem, parts, PlanMode::kCompat, false);
  REQUIRE(result.plan);
  double shards = 0;
  for (std::size_t i = 0; i < result.plan->size(); ++i) {
    shards += (*result.plan)[i].option->num_shards();
  }
  CHECK(*result.best_rating == shards);
  CHECK(shards < 12 * 8);

  PlanOptions best;
  best.parts = std::make_shared<const SearchParts>(parts);
  const auto refused = plan_embedding(problem, best);
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == ErrorCode::kUnsupported);
  CHECK(refused.error().where == "parts.rating_model");
}

TEST_CASE("search parts: both modes plan with costs of one's own") {
  const auto problem = some_problem();
  SearchParts doubled;
  doubled.cost_model = std::make_shared<ScaledCosts>(*problem, 2);
  CHECK(*plan(problem, doubled).best_rating == 2 * *plan(problem, {}).best_rating);
  const EmbeddingPlanResult best = plan(problem, doubled, PlanMode::kBest);
  CHECK(best.evaluation.rating == *best.best_rating);
  CHECK(*best.best_rating <= 2 * *plan(problem, {}).best_rating);
}

TEST_CASE("search parts: costs that no search can use are refused") {
  const auto problem = some_problem();
  for (const double factor :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    CAPTURE(factor);
    const ScaledCosts model(*problem, factor);
    const auto space = enumerate_embedding(problem, &model);
    REQUIRE(!space.ok());
    CHECK(space.error().code == ErrorCode::kInvalidInput);
    CHECK(space.error().message.find("cost model") != std::string::npos);
  }
}

TEST_CASE("search parts: an exception of a part reaches the caller") {
  class Throwing final : public RatingModel {
   public:
    double rate(std::span<const OptionId>, const Placement&) override {
      throw std::runtime_error("from the model");
    }
  };
  PlanOptions options;
  options.mode = PlanMode::kCompat;
  SearchParts parts;
  parts.rating_model = [](const Problem&) { return std::make_unique<Throwing>(); };
  options.parts = std::make_shared<const SearchParts>(parts);
  CHECK_THROWS_WITH_AS((void)plan_embedding(some_problem(), options), "from the model",
                       std::runtime_error);
}

}  // namespace shardwright::search_parts_test
