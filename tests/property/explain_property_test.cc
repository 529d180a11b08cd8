// Explanations of random problems, compared with the evaluator and with all plans.
#include "runtime/embedding/explain.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "core/embedding/evaluate.h"
#include "runtime/embedding/explanation_answer.h"
#include "search/embedding/compat/embedding_enumerator.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/random_embedding.h"
#include "tests/support/embedding/small_bounds.h"

namespace shardwright::explain_property_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using test_support::Random;
using test_support::seeds;
using Standing = OptionCost::Standing;

constexpr double kSame = 1e-9;

bool same(double a, double b) { return std::abs(a - b) <= kSame * std::max(std::abs(a), 1e-300); }

std::shared_ptr<const Problem> make(ProblemSpec spec) {
  Result<Problem> made = Problem::make(std::move(spec));
  return made.ok() ? std::make_shared<const Problem>(std::move(made).value()) : nullptr;
}

// Tries all ranks for the shards of an option while the other tables stay. Keeps the least rating
// of a valid plan. Precondition: small_enough().
struct EveryPlacement {
  const Explanation& explanation;
  const Plan& plan;
  std::size_t position;
  const ShardingOption& option;
  std::vector<Rank> ranks{};
  std::optional<double> least{};

  bool small_enough() const {
    const double ways = std::pow(explanation.problem->topology().world_size(), option.num_shards());
    return ways <= 300;
  }
  void run() {
    if (ranks.size() < option.num_shards()) {
      for (Rank rank = 0; rank < explanation.problem->topology().world_size(); ++rank) {
        ranks.push_back(rank);
        run();
        ranks.pop_back();
      }
      return;
    }
    const Evaluation evaluation =
        evaluate(*explanation.problem, explanation.result.reservation->topology,
                 plan.with_option(position, option, ranks));
    if (evaluation.valid()) least = std::min(least.value_or(evaluation.rating), evaluation.rating);
  }
};

bool shards_cost_alike(const ShardingOption& option) {
  return std::all_of(option.costs.begin(), option.costs.end(),
                     [&](const ShardCost& cost) { return cost == option.costs.front(); });
}

std::size_t position_of(const Plan& plan, TableId table) {
  std::size_t i = 0;
  while (plan[i].option->table != table)
    ++i;
  return i;
}

struct OptionCounts {
  std::size_t possible = 0, too_large = 0, no_place = 0, excluded = 0, tried = 0;
};

bool only_memory(const Evaluation& evaluation) {
  return std::all_of(evaluation.violations.begin(), evaluation.violations.end(),
                     [](const Violation& v) { return v.kind == Violation::Kind::kOutOfMemory; });
}

// Compares what the explanation says of one option with the plan that has this option.
void check_option(const Explanation& explanation, std::size_t position, const OptionCost& cost,
                  bool rules_by_shard, OptionCounts& counts) {
  const Plan& plan = *explanation.result.plan;
  const Topology& available = explanation.result.reservation->topology;
  if (cost.rating) {
    const Evaluation evaluation = evaluate(*explanation.problem, available,
                                           plan.with_option(position, *cost.option, cost.ranks));
    CHECK(same(evaluation.rating, *cost.rating));
    CHECK(same(*cost.rating, explanation.result.evaluation.rating + cost.rating_change));
    CHECK(only_memory(evaluation));
    if (cost.standing == Standing::kPossible) CHECK(evaluation.valid());
  }
  EveryPlacement every{explanation, plan, position, *cost.option};
  const bool fits = cost.standing == Standing::kPossible ||
                    (cost.standing == Standing::kExcluded && cost.rating && !cost.lack);
  counts.possible += cost.standing == Standing::kPossible ? 1 : 0;
  counts.too_large += cost.standing == Standing::kTooLarge ? 1 : 0;
  counts.no_place += cost.standing == Standing::kNoPlace ? 1 : 0;
  counts.excluded += cost.standing == Standing::kExcluded ? 1 : 0;
  if (cost.standing == Standing::kTooLarge) CHECK(cost.lack.has_value());
  if (cost.standing >= Standing::kNoPlace) CHECK_FALSE(cost.excluded_by.empty());
  if (cost.standing == Standing::kChosen || rules_by_shard || !every.small_enough()) return;
  every.run();
  ++counts.tried;
  if (!shards_cost_alike(*cost.option)) {
    if (fits) CHECK(*cost.rating >= every.least.value() * (1 - kSame));
    return;
  }
  CHECK(fits == every.least.has_value());
  if (fits && every.least) CHECK(same(*every.least, *cost.rating));
}

// Adds placement rules to some problems.
void add_rules(Random& random, ProblemSpec& spec) {
  const auto world = static_cast<std::size_t>(spec.topology.world_size);
  for (Table& table : spec.tables) {
    if (random.below(3) == 0)
      table.placement.ranks = {{static_cast<std::int64_t>(random.below(world))}};
    if (random.below(4) == 0) table.placement.max_shards = 1 + static_cast<int>(random.below(3));
    if (random.below(4) == 0) table.placement.distinct_ranks = true;
  }
  if (spec.tables.size() < 2 || random.below(2) == 0) return;
  const TableGroup group{{spec.tables[0].name, spec.tables[1].name},
                         random.below(2) == 0 ? GroupScope::kRank : GroupScope::kHost};
  (random.below(2) == 0 ? spec.keep_together : spec.keep_apart).push_back(group);
}

OptionCounts check_option_costs(std::uint64_t seed, int problems, bool rules) {
  OptionCounts counts;
  Random random(seed);
  for (int i = 0; i < problems; ++i) {
    std::shared_ptr<const Problem> problem = test_support::random_problem(
        random, {.max_tables = 4, .scaleup = false, .external = false});
    if (rules) {
      ProblemSpec spec = problem->spec();
      add_rules(random, spec);
      problem = make(std::move(spec));
      if (!problem) continue;
    }
    ExplainOptions options;
    options.plan.mode = rules ? PlanMode::kBest : PlanMode::kCompat;
    options.plan.threads = 1;
    options.plan.work_limit = rules ? 20'000 : 2'000;
    const auto planned = plan_embedding(problem, options.plan);
    if (!planned.ok() || !planned->plan || !planned->evaluation.valid()) continue;
    CAPTURE(seed);
    CAPTURE(i);
    const auto explanation = explain_embedding(problem, std::nullopt, options);
    REQUIRE(explanation.ok());
    REQUIRE(explanation->tables.size() == explanation->result.plan->size());
    const ExplanationAnswer answer = explanation_answer(*explanation);
    for (const ExplainedTable& table : *answer.tables)
      CHECK_FALSE(table.reasons.empty());
    for (const TableExplanation& table : explanation->tables) {
      const std::size_t position = position_of(*explanation->result.plan, table.table);
      CHECK(table.options.front().standing == Standing::kChosen);
      CHECK(*table.options.front().option == *(*explanation->result.plan)[position].option);
      for (const OptionCost& cost : table.options)
        check_option(*explanation, position, cost, false, counts);
    }
  }
  return counts;
}

// In one third of the problems, tables may or must use a small SSD. `random` is a copy, so the
// other draws of the caller stay the same.
void put_on_ssd(Random random, ProblemSpec& spec) {
  if (random.below(3) != 0) return;
  const std::uint64_t gib = random.below(5);
  spec.topology.ssd_cap_bytes = static_cast<std::int64_t>(gib) << 30;
  for (Table& table : spec.tables) {
    if (random.below(3) == 0) continue;
    // Without any SSD, tables with only key_value would have no option.
    if (gib > 0 && random.below(2) == 0) table.constraints->compute_kernels.clear();
    table.constraints->compute_kernels.push_back(ComputeKernel::kKeyValue);
  }
}

// One to four tables of 1 to 4 GiB on a small machine with little memory. Some stay whole.
ProblemSpec crowded(Random& random) {
  ProblemSpec spec = test_support::problem_spec(
      1 + random.below(4), 1 + static_cast<std::int64_t>(random.below(3)), 0, 4'000'000, 64);
  spec.topology.local_world_size = spec.topology.world_size;
  spec.topology.hbm_cap_bytes = static_cast<std::int64_t>(1 + random.below(4)) << 30;
  spec.batch_size = 512 << random.below(3);
  spec.reservation.percentage = 0.05 * static_cast<double>(random.below(5));
  for (Table& table : spec.tables) {
    table.num_embeddings *= static_cast<std::int64_t>(1 + random.below(4));
    table.constraints.emplace();
    table.constraints->compute_kernels = {ComputeKernel::kFused};
    table.constraints->sharding_types = {ShardingType::kTableWise};
    if (random.below(2) == 0)
      table.constraints->sharding_types.push_back(ShardingType::kColumnWise);
  }
  put_on_ssd(random, spec);
  if (spec.tables.size() > 1 && random.below(3) == 0) {
    (random.below(2) == 0 ? spec.keep_together : spec.keep_apart)
        .push_back({{"t0", "t1"}, GroupScope::kRank});
  }
  return spec;
}

// Returns true if a plan exists.
bool has_plan(const ProblemSpec& spec) {
  const auto problem = make(spec);
  if (!problem) return false;
  const auto reservation = reserve_embedding(*problem);
  if (!reservation.ok()) return false;
  const auto space = enumerate_embedding(problem);
  REQUIRE(space.ok());
  return test_support::least_rating({*space, reservation->topology}).has_value();
}

// Returns the problem with the remedy applied, but `less` steps smaller.
ProblemSpec changed(ProblemSpec spec, const Remedy& remedy, int less) {
  const double direction = remedy.to > remedy.from ? -1 : 1;
  double value = remedy.to + direction * less * remedy.step;
  // The first step may be shorter than the others.
  if (less > 0 && (value - remedy.from) * direction > 0) value = remedy.from;
  const auto whole = static_cast<std::int64_t>(std::llround(value));
  switch (remedy.kind) {
    case Remedy::Kind::kRanks:
      spec.topology.world_size = spec.topology.local_world_size = whole;
      break;
    case Remedy::Kind::kHosts:
      spec.topology.world_size = whole * spec.topology.local_world_size;
      break;
    case Remedy::Kind::kHbm:
      spec.topology.hbm_cap_bytes = whole;
      break;
    case Remedy::Kind::kDdr:
      spec.topology.ddr_cap_bytes = whole;
      break;
    case Remedy::Kind::kSsd:
      spec.topology.ssd_cap_bytes = whole;
      break;
    case Remedy::Kind::kBatchSize:
      spec.batch_size = whole;
      break;
    case Remedy::Kind::kReservation:
      spec.reservation.percentage = std::round(value * 1e6) / 1e6;
      break;
    case Remedy::Kind::kConstraint:
      break;
  }
  return spec;
}

void check_remedies(const ProblemSpec& spec, const Infeasibility& reason) {
  for (const Remedy& remedy : reason.remedies) {
    if (remedy.kind == Remedy::Kind::kConstraint) continue;
    CAPTURE(to_name(remedy.kind));
    CAPTURE(remedy.to);
    const ProblemSpec enough = changed(spec, remedy, 0);
    if (enough.topology.world_size <= 4) CHECK(has_plan(enough));
    const ProblemSpec less = changed(spec, remedy, 1);
    if (less.topology.world_size <= 4) CHECK_FALSE(has_plan(less));
  }
}

ProblemSpec without(ProblemSpec spec, const std::vector<TableId>& kept) {
  const std::vector<Table> all = std::exchange(spec.tables, {});
  std::vector<TableGroup> together = std::exchange(spec.keep_together, {});
  std::vector<TableGroup> apart = std::exchange(spec.keep_apart, {});
  for (const TableId id : kept)
    spec.tables.push_back(all[id.index()]);
  const auto narrow = [&](std::vector<TableGroup>& from, std::vector<TableGroup>& to) {
    for (TableGroup& group : from) {
      std::erase_if(group.tables, [&](const std::string& name) {
        return std::none_of(spec.tables.begin(), spec.tables.end(),
                            [&](const Table& table) { return table.name == name; });
      });
      if (!group.tables.empty()) to.push_back(group);
    }
  };
  narrow(together, spec.keep_together);
  narrow(apart, spec.keep_apart);
  return spec;
}

void check_set(const ProblemSpec& spec, const Infeasibility& reason) {
  REQUIRE_FALSE(reason.tables.empty());
  CHECK(reason.irreducible);
  CHECK_FALSE(has_plan(without(spec, reason.tables)));
  for (std::size_t i = 0; reason.tables.size() > 1 && i < reason.tables.size(); ++i) {
    std::vector<TableId> rest = reason.tables;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK(has_plan(without(spec, rest)));
  }
}

}  // namespace

TEST_CASE("explain: an option costs what the verifier finds for the plan with it") {
  for (const std::uint64_t seed : seeds({901, 902})) {
    const OptionCounts counts = check_option_costs(seed, 60, false);
    CHECK(counts.possible > 200);
    CHECK(counts.too_large > 20);
    CHECK(counts.excluded > 20);
    CHECK(counts.tried > 100);
  }
}

TEST_CASE("explain: an option has a place exactly if the rules leave one") {
  for (const std::uint64_t seed : seeds({903, 904})) {
    const OptionCounts counts = check_option_costs(seed, 60, true);
    CHECK(counts.possible > 50);
    CHECK(counts.no_place > 20);
    CHECK(counts.tried > 50);
  }
}

TEST_CASE("explain: the named tables do not fit, the remedies do, and no smaller change does") {
  for (const std::uint64_t seed : seeds({905, 906})) {
    Random random(seed);
    std::size_t infeasible = 0;
    std::size_t remedies = 0;
    for (int i = 0; i < 80; ++i) {
      const ProblemSpec spec = crowded(random);
      const auto problem = make(spec);
      if (!problem || has_plan(spec)) continue;
      CAPTURE(seed);
      CAPTURE(i);
      ExplainOptions options;
      options.plan.threads = 1;
      options.plan.work_limit = 300'000;
      const auto explanation = explain_embedding(problem, std::nullopt, options);
      REQUIRE(explanation.ok());
      REQUIRE(explanation->infeasibility.has_value());
      ++infeasible;
      remedies += explanation->infeasibility->remedies.size();
      check_remedies(spec, *explanation->infeasibility);
      check_set(spec, *explanation->infeasibility);
    }
    CHECK(infeasible > 20);
    CHECK(remedies > infeasible);
  }
}

}  // namespace shardwright::explain_property_test
