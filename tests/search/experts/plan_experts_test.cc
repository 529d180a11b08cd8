// Placement of experts: against brute force, against EPLB, for any number of threads, and what
// moves and windows do.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <stop_token>
#include <vector>

#include <doctest/doctest.h>

#include "core/experts/link_cost.h"
#include "core/experts/pair_bound.h"
#include "search/experts/moves.h"
#include "search/experts/plan_experts.h"
#include "search/random.h"
#include "tests/support/shuffling_executor.h"

namespace shardwright::plan_experts_test {

namespace {

using namespace shardwright::experts;

ExpertProblem random_problem(RandomGenerator& random, ExpertSpec spec, double spread) {
  spec.loads.clear();
  for (std::size_t i = 0; i < spec.num_samples * spec.num_layers * spec.num_experts; ++i)
    spec.loads.push_back(std::floor(1000 * std::exp(spread * (random.fraction() * 2 - 1))));
  return ExpertProblem::make(std::move(spec)).value();
}

ExpertSpec spec_of(std::size_t layers, std::size_t experts, std::size_t slots, std::size_t gpus) {
  ExpertSpec spec;
  spec.num_layers = layers;
  spec.num_experts = experts;
  spec.num_slots = slots;
  spec.num_gpus = gpus;
  return spec;
}

// Looks for a placement of one layer below `limit` by trying all numbers of replicas, and for each
// replica all GPUs.
class BruteForce {
 public:
  BruteForce(const ExpertProblem& problem, double limit)
      : problem_(problem), limit_(limit), counts_(problem.num_experts(), 1) {}

  bool finds() { return choose(0, problem_.num_slots() - problem_.num_experts()); }

 private:
  bool choose(std::size_t expert, std::size_t spare) {
    if (expert + 1 == counts_.size()) {
      counts_[expert] = spare + 1;
      return share(expert) < limit_ && pack();
    }
    for (counts_[expert] = 1; counts_[expert] <= spare + 1; ++counts_[expert]) {
      if (share(expert) >= limit_) continue;
      const std::size_t count = counts_[expert];
      if (choose(expert + 1, spare + 1 - count)) return true;
      counts_[expert] = count;
    }
    return false;
  }

  double share(std::size_t expert) const {
    return problem_.loads(0, 0)[expert] / static_cast<double>(counts_[expert]);
  }

  bool pack() {
    replicas_.clear();
    for (std::size_t expert = 0; expert < counts_.size(); ++expert)
      replicas_.insert(replicas_.end(), counts_[expert], expert);
    std::stable_sort(replicas_.begin(), replicas_.end(),
                     [&](std::size_t a, std::size_t b) { return share(a) > share(b); });
    gpus_.assign(problem_.num_gpus(), {});
    loads_.assign(problem_.num_gpus(), 0);
    return put(0);
  }

  bool put(std::size_t i) {
    if (i == replicas_.size()) return true;
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      std::vector<std::size_t>& held = gpus_[gpu];
      const bool repeats = std::find(held.begin(), held.end(), replicas_[i]) != held.end();
      if (held.size() == problem_.slots_per_gpu() || (repeats && problem_.forbids_repeats()) ||
          loads_[gpu] + share(replicas_[i]) >= limit_)
        continue;
      held.push_back(replicas_[i]);
      const double before = loads_[gpu];
      loads_[gpu] += share(replicas_[i]);
      if (put(i + 1)) return true;
      loads_[gpu] = before;
      held.pop_back();
      if (held.empty()) break;  // empty GPUs are alike
    }
    return false;
  }

  const ExpertProblem& problem_;
  double limit_;
  std::vector<std::size_t> counts_;
  std::vector<std::size_t> replicas_;
  std::vector<std::vector<std::size_t>> gpus_;
  std::vector<double> loads_;
};

// Costs of a machine of two nodes: 0 on a GPU, 1 in a node, 10 between nodes.
std::vector<double> costs_of_nodes(std::size_t gpus) {
  std::vector<double> costs;
  for (std::size_t i = 0; i < gpus * gpus; ++i) {
    const bool same_node = i / gpus / (gpus / 2) == i % gpus / (gpus / 2);
    costs.push_back(i / gpus == i % gpus ? 0 : same_node ? 1 : 10);
  }
  return costs;
}

// The same cost as link_cost() by another way: as many tokens as possible stay on their GPU, and as
// many as possible on their node.
double cost_on_nodes(const ExpertProblem& problem, const Expert* slots) {
  const auto gpus_of = gpus_of_experts(problem, slots);
  double cost = 0;
  for (std::size_t expert = 0; expert < gpus_of.size(); ++expert) {
    std::vector<double> on_gpu(problem.num_gpus(), 0);
    std::vector<double> on_node(2, 0);
    for (const LinkTable::Gpu gpu : gpus_of[expert]) {
      on_gpu[gpu] += 1.0 / static_cast<double>(gpus_of[expert].size());
      on_node[gpu / (problem.num_gpus() / 2)] += 1.0 / static_cast<double>(gpus_of[expert].size());
    }
    double stays_on_gpu = 0;
    double stays_on_node = 0;
    for (const double part : on_gpu)
      stays_on_gpu += std::min(part, 1.0 / static_cast<double>(problem.num_gpus()));
    for (const double part : on_node)
      stays_on_node += std::min(part, 0.5);
    cost += problem.loads(0, 0)[expert] * (stays_on_node - stays_on_gpu + 10 * (1 - stays_on_node));
  }
  return cost;
}

// The least link cost of all placements without repeats whose busiest GPU is within `limit`, on
// GPUs of two slots.
double least_link_cost(const ExpertProblem& problem, double limit) {
  std::vector<Expert> slots(problem.num_slots());
  double best = 1e300;
  const auto experts = static_cast<Expert>(problem.num_experts());
  const auto fill = [&](const auto& self, std::size_t slot) -> void {
    if (slot == slots.size()) {
      const auto counts = replica_counts(problem, slots.data());
      if (std::find(counts.begin(), counts.end(), 0) != counts.end()) return;
      const std::vector<double> times = gpu_times(problem, 0, 0, slots.data());
      if (*std::max_element(times.begin(), times.end()) > limit) return;
      best = std::min(best, cost_on_nodes(problem, slots.data()));
      return;
    }
    for (Expert a = 0; a < experts; ++a) {
      for (Expert b = a + 1; b < experts; ++b) {
        slots[slot] = a;
        slots[slot + 1] = b;
        self(self, slot + 2);
      }
    }
  };
  fill(fill, 0);
  return best;
}

double bound_sum(const ExpertPlan& plan) {
  return std::accumulate(plan.lower_bound.begin(), plan.lower_bound.end(), 0.0);
}

// Loads of layers that drift from window to window.
ExpertProblem drifting_problem(std::uint64_t seed) {
  ExpertSpec spec = spec_of(4, 32, 40, 8);
  spec.num_samples = 16;
  RandomGenerator random(seed);
  std::vector<double> logs(spec.num_layers * spec.num_experts);
  for (double& log : logs)
    log = 3 * random.fraction();
  for (std::size_t sample = 0; sample < spec.num_samples; ++sample) {
    for (double& log : logs) {
      log += random.fraction() - 0.5;
      spec.loads.push_back(std::floor(1000 * std::exp(log)));
    }
  }
  return ExpertProblem::make(std::move(spec)).value();
}

}  // namespace

TEST_CASE("experts: the example of eight experts on eight GPUs is proved optimal") {
  ExpertSpec spec = spec_of(1, 8, 16, 8);
  spec.loads = {600, 560, 120, 120, 20, 10, 10, 10};
  const ExpertProblem problem = ExpertProblem::make(std::move(spec)).value();
  InlineExecutor executor;
  const PlannedExperts planned = plan_best(problem, {}, executor, Budget());
  CHECK(planned.plan.objective == doctest::Approx(560.0 / 3 + 10).epsilon(1e-12));
  CHECK(planned.plan.proven_optimal);
  CHECK(check_plan(problem, planned.plan, planned.terms).ok());
}

TEST_CASE("experts: small problems have no better placement, and no bound is above the best") {
  constexpr int kProblems = 2000;
  InlineExecutor executor;
  int proven = 0;
  int repeated = 0;
  int refuted = 0;
  for (int seed = 0; seed < kProblems; ++seed) {
    CAPTURE(seed);
    RandomGenerator random(static_cast<std::uint64_t>(seed));
    const std::size_t gpus = 1 + random.below(8);
    const std::size_t per_gpu = 1 + random.below(std::min<std::size_t>(4, 16 / gpus));
    const std::size_t experts = 1 + random.below(std::min<std::size_t>(8, gpus * per_gpu));
    const ExpertProblem problem =
        random_problem(random, spec_of(1, experts, gpus * per_gpu, gpus), 0.5 + random.below(3));
    const PlannedExperts planned = plan_best(problem, {}, executor, Budget());
    const PlannedExperts eplb = plan_eplb(problem, {}, executor);
    const ExpertPlan& plan = planned.plan;
    CHECK(plan.objective <= eplb.plan.objective * (1 + kRounding));
    const Status status = check_plan(problem, plan, planned.terms);
    CHECK_MESSAGE(status.ok(), (status.ok() ? "" : status.error().to_string()));
    const bool repeats = has_repeats(problem, plan.placement.data());
    const ExpertProblem rules = repeats ? problem.with_repeats() : problem;
    CHECK_FALSE(BruteForce(rules, plan.objective * (1 - 1e-9)).finds());
    CHECK(plan.lower_bound[0] <= plan.objective);
    if (per_gpu == 2) {
      const Pool pool = layer_pool(problem, 0, 0);
      CHECK_FALSE(counts_refute(pool, plan.objective * (1 + kRounding), 20'000));
      // Not only the best, but nothing below it is possible, as far as all ways are tried.
      if (!repeats && plan.proven_optimal && counts_refute(pool, plan.objective * 0.999, 20'000))
        ++refuted;
      CHECK(pairs_bound(layer_pool(problem, 0, 0), 0, 2 * plan.objective, 100) <=
            plan.objective * (1 + kRounding));
    }
    // A GPU holds an expert twice only where EPLB's placement does.
    CHECK((!repeats || has_repeats(problem, eplb.plan.placement.data())));
    repeated += repeats && problem.forbids_repeats() ? 1 : 0;
    proven += plan.proven_optimal ? 1 : 0;
  }
  CHECK(proven > kProblems * 95 / 100);
  CHECK(repeated < kProblems / 20);
  CHECK(refuted > kProblems / 20);
}

TEST_CASE("experts: every plan is checked, and none is above EPLB's") {
  InlineExecutor executor;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    RandomGenerator random(seed);
    const std::size_t nodes = 1 + random.below(4);
    const std::size_t gpus = nodes * (1 + random.below(6));
    ExpertSpec spec = spec_of(2, 8 * (1 + random.below(5)), 0, gpus);
    spec.num_nodes = nodes;
    spec.num_groups = random.coin() ? nodes : 8;
    if (spec.num_experts % spec.num_groups != 0) spec.num_groups = 1;
    spec.num_slots = (spec.num_experts / gpus + 1 + random.below(2)) * gpus;
    if (random.one_in(4))
      for (std::size_t gpu = 0; gpu < gpus; ++gpu)
        spec.gpu_speeds.push_back(1 + random.below(2));
    const ExpertProblem problem = random_problem(random, std::move(spec), 2);
    const PlannedExperts planned = plan_best(problem, {}, executor, Budget());
    const PlannedExperts eplb = plan_eplb(problem, {}, executor);
    for (const PlannedExperts* one : {&planned, &eplb}) {
      const Status status = check_plan(problem, one->plan, one->terms);
      CHECK_MESSAGE(status.ok(), (status.ok() ? "" : status.error().to_string()));
      CHECK(bound_sum(one->plan) <= one->plan.objective);
    }
    CHECK(planned.plan.objective <= eplb.plan.objective * (1 + kRounding));
  }
}

TEST_CASE("experts: the plan does not depend on the order in which layers are planned") {
  RandomGenerator random(5);
  const ExpertProblem problem = random_problem(random, spec_of(12, 64, 96, 16), 2);
  InlineExecutor one;
  const PlannedExperts alone = plan_best(problem, {}, one, Budget());
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    test_support::ShufflingExecutor executor(1U << seed, seed);
    const PlannedExperts shuffled = plan_best(problem, {}, executor, Budget());
    CHECK(shuffled.plan.placement == alone.plan.placement);
    CHECK(shuffled.plan.objective == alone.plan.objective);
  }
}

TEST_CASE("experts: moves are made in the order of their gain, and only if they are worth it") {
  RandomGenerator random(11);
  const ExpertProblem before = random_problem(random, spec_of(4, 64, 80, 8), 1.5);
  InlineExecutor executor;
  PlanRules rules;
  rules.terms.old = plan_best(before, {}, executor, Budget()).plan.placement;
  // Loads drift.
  ExpertSpec spec = before.spec();
  for (double& load : spec.loads)
    load = std::floor(load * std::exp(random.fraction() - 0.5));
  const ExpertProblem problem = ExpertProblem::make(std::move(spec)).value();

  const PlannedExperts free = plan_best(problem, rules, executor, Budget());
  CHECK(check_plan(problem, free.plan, free.terms).ok());
  REQUIRE(free.front.size() > 2);
  CHECK(free.front.front().moves == 0);
  CHECK(free.front.back().moves == free.plan.moved);
  for (std::size_t i = 1; i < free.front.size(); ++i) {
    CHECK(free.front[i].moves > free.front[i - 1].moves);
    CHECK(free.front[i].time < free.front[i - 1].time);
  }
  // A tenth of the moves buys most of the gain.
  const double gain = free.front.front().time - free.front.back().time;
  const auto tenth = std::find_if(free.front.begin(), free.front.end(), [&](const MovesPoint& at) {
    return at.moves * 10 >= free.front.back().moves;
  });
  CHECK(free.front.front().time - tenth->time > gain / 2);

  rules.max_moves = 6;
  const PlannedExperts few = plan_best(problem, rules, executor, Budget());
  CHECK(few.plan.moved <= 6);
  CHECK(few.plan.objective < free.front.front().time);

  rules.max_moves.reset();
  rules.terms.migration_weight = 1e9;
  const PlannedExperts none = plan_best(problem, rules, executor, Budget());
  CHECK(none.plan.moved == 0);
  CHECK(none.plan.placement == rules.terms.old);

  // An expert that stays on its GPU keeps its slot.
  const std::size_t size = problem.slots_per_gpu();
  for (std::size_t i = 0; i < free.plan.placement.size(); ++i) {
    const auto first = free.plan.placement.begin() + static_cast<std::ptrdiff_t>(i / size * size);
    const Expert was = rules.terms.old[i];
    if (std::find(first, first + static_cast<std::ptrdiff_t>(size), was) !=
        first + static_cast<std::ptrdiff_t>(size))
      CHECK(free.plan.placement[i] == was);
  }
}

TEST_CASE("experts: a plan for several windows is no worse than the plan for their mean") {
  InlineExecutor executor;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    const ExpertProblem problem = drifting_problem(seed);
    const Placement mean = plan_best(problem.mean_window(), {}, executor, Budget()).plan.placement;
    const std::vector<double> busiest = busiest_times(problem, mean);
    for (const Over over : {Over::kMean, Over::kWorst}) {
      PlanRules rules;
      rules.terms.over = over;
      const PlannedExperts planned = plan_best(problem, rules, executor, Budget());
      const auto layers = over_windows(problem, busiest, over, worst_window(problem, busiest));
      CHECK(planned.plan.objective <=
            std::accumulate(layers.begin(), layers.end(), 0.0) * (1 + kRounding));
      const Status status = check_plan(problem, planned.plan, planned.terms);
      CHECK_MESSAGE(status.ok(), (status.ok() ? "" : status.error().to_string()));
    }
  }
}

TEST_CASE("experts: with several windows no plan is above EPLB's") {
  InlineExecutor executor;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    RandomGenerator random(seed);
    ExpertSpec spec = spec_of(3, 8 + 8 * random.below(3), 32, random.coin() ? 8 : 16);
    spec.num_samples = 2 + random.below(5);
    const ExpertProblem problem = random_problem(random, std::move(spec), 2);
    for (const Over over : {Over::kMean, Over::kWorst}) {
      PlanRules rules;
      rules.terms.over = over;
      const PlannedExperts planned = plan_best(problem, rules, executor, Budget());
      const PlannedExperts eplb = plan_eplb(problem, rules, executor);
      CHECK(planned.plan.objective <= eplb.plan.objective * (1 + kRounding));
      const Status status = check_plan(problem, planned.plan, planned.terms);
      CHECK_MESSAGE(status.ok(), (status.ok() ? "" : status.error().to_string()));
    }
  }
}

TEST_CASE("experts: of small placements that are as fast, none costs less on the links") {
  constexpr int kProblems = 60;
  InlineExecutor executor;
  int least = 0;
  int compared = 0;
  for (std::uint64_t seed = 0; seed < kProblems; ++seed) {
    CAPTURE(seed);
    RandomGenerator random(seed);
    ExpertSpec spec = spec_of(1, 4 + random.below(3), 8, 4);
    spec.num_nodes = 2;
    const ExpertProblem plain = random_problem(random, spec, 1);
    spec = plain.spec();
    spec.link_costs = costs_of_nodes(4);
    const ExpertProblem problem = ExpertProblem::make(std::move(spec)).value();
    const PlannedExperts planned = plan_best(problem, {}, executor, Budget());
    const ExpertPlan& plan = planned.plan;
    const Status status = check_plan(problem, plan, planned.terms);
    CHECK_MESSAGE(status.ok(), (status.ok() ? "" : status.error().to_string()));
    CHECK(plan.link_cost ==
          doctest::Approx(cost_on_nodes(problem, plan.placement.data())).epsilon(1e-9));
    const ExpertPlan without = plan_best(plain, {}, executor, Budget()).plan;
    CHECK(plan.objective <= without.objective * (1 + kRounding));
    CHECK(plan.link_cost <= link_cost(problem, without.placement) * (1 + 1e-9));
    if (has_repeats(problem, plan.placement.data())) continue;
    const double best = least_link_cost(problem, plan.objective * (1 + kRounding));
    CHECK(plan.link_cost >= best * (1 - 1e-9));
    least += plan.link_cost <= best * (1 + 1e-9) ? 1 : 0;
    ++compared;
  }
  CHECK(compared > kProblems * 3 / 4);
  CHECK(least == compared);
}

TEST_CASE("experts: costs between nodes are costs between their GPUs") {
  ExpertSpec spec = spec_of(1, 8, 16, 4);
  spec.num_nodes = 2;
  spec.loads = {600, 560, 120, 120, 20, 10, 10, 10};
  spec.link_costs = {0, 10, 10, 0};
  const ExpertProblem of_nodes = ExpertProblem::make(spec).value();
  CHECK(of_nodes.spec().link_costs.size() == 16);
  CHECK(of_nodes.spec().link_costs[1 * 4 + 0] == 0);
  CHECK(of_nodes.spec().link_costs[1 * 4 + 2] == 10);
  // All tokens begin on the first node, so those of single replicas on the other node cross.
  spec.origins = {1, 1, 0, 0};
  const ExpertProblem problem = ExpertProblem::make(spec).value();
  const Placement placement{0, 1, 2, 3, 0, 1, 4, 5, 0, 1, 6, 7, 0, 1, 2, 3};
  CHECK(link_cost(problem, placement) ==
        doctest::Approx(10 * (600 / 2 + 560 / 2 + 120 / 2 + 120 / 2 + 10 + 10)));
  spec.link_costs.pop_back();
  CHECK_FALSE(ExpertProblem::make(spec).ok());
}

TEST_CASE("experts: a stop gives a plan that is checked") {
  InlineExecutor executor;
  std::stop_source source;
  source.request_stop();
  const Budget stopped(std::nullopt, std::nullopt, source.get_token());
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    RandomGenerator random(seed);
    ExpertSpec spec = spec_of(3, 64, 96, 16);
    spec.num_samples = 1 + random.below(3);
    spec.num_nodes = 4;
    spec.num_groups = random.coin() ? 8 : 1;
    spec.link_costs = random.coin() ? std::vector<double>(256, 1) : std::vector<double>();
    const ExpertProblem problem = random_problem(random, std::move(spec), 2);
    PlanRules rules;
    rules.terms.over = random.coin() ? Over::kMean : Over::kWorst;
    if (random.coin()) rules.terms.old = plan_eplb(problem, {}, executor).plan.placement;
    const PlannedExperts planned = plan_best(problem, rules, executor, stopped);
    CHECK(planned.stop == StopReason::kCancelled);
    const Status status = check_plan(problem, planned.plan, planned.terms);
    CHECK_MESSAGE(status.ok(), (status.ok() ? "" : status.error().to_string()));
  }
}

TEST_CASE("experts: forged plans are refused") {
  InlineExecutor executor;
  int forged = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    RandomGenerator random(seed);
    const bool small = random.coin();
    ExpertSpec spec = small ? spec_of(2, 6, 12, 4) : spec_of(2, 24, 32, 8);
    spec.link_costs = costs_of_nodes(spec.num_gpus);
    const ExpertProblem problem = random_problem(random, std::move(spec), 1.5);
    const PlannedExperts planned = plan_best(problem, {}, executor, Budget());
    REQUIRE(check_plan(problem, planned.plan, planned.terms).ok());
    for (int kind = 0; kind < 12; ++kind, ++forged) {
      CAPTURE(kind);
      ExpertPlan plan = planned.plan;
      const std::size_t layer = random.below(2);
      Expert* slots = plan.placement.data() + layer * problem.num_slots();
      const double factor = 1 + 1e-6 + random.fraction();
      switch (kind) {
        case 0:
          plan.max_load[layer] /= factor;
          break;
        case 1:
          plan.mean_load[layer] *= factor;
          break;
        case 2:
          plan.objective /= factor;
          break;
        case 3:
          ++plan.moved;
          break;
        case 4:
          plan.lower_bound[layer] = plan.max_load[layer] * factor;
          break;
        case 5:
          slots[random.below(problem.num_slots())] = 99;
          break;
        case 6:
          plan.placement.pop_back();
          break;
        case 7:
          slots[0] = slots[1];
          break;  // two replicas on a GPU, or an expert without a slot
        case 8:
          plan.lower_bound.pop_back();
          break;
        case 9:
          plan.link_cost /= factor;
          break;
        case 10:
          plan.rules[layer] =
              plan.rules[layer] == BoundRule::kMean ? BoundRule::kShares : BoundRule::kMean;
          break;
        default:
          plan.proven_optimal = true;
          plan.lower_bound[layer] *= 1 - 1e-6;
      }
      CHECK_FALSE(check_plan(problem, plan, planned.terms).ok());
    }
  }
  CHECK(forged == 600);
}

}  // namespace shardwright::plan_experts_test
