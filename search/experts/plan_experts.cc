#include "search/experts/plan_experts.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "core/experts/link_cost.h"
#include "core/experts/pair_bound.h"
#include "search/experts/eplb.h"
#include "search/experts/link_search.h"
#include "search/experts/moves.h"
#include "search/experts/pair_search.h"
#include "search/experts/pool_search.h"

namespace shardwright::experts {
namespace {

// Prices of a move with which the path from the old placement is searched, relative to the layer's
// time per slot of a GPU. Falling prices find the best moves first.
constexpr std::array kMovePrices{0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0};

// A layer within this relative distance of its bound is good enough. Half and twice as much change
// the mean gap of the golden cases by less than 0.0002 percent points.
constexpr double kEnough = 5e-5;
constexpr std::size_t kLeastKicks = 4;
constexpr std::size_t kMostKicks = 200;
constexpr std::size_t kLeastPairMoves = 10'000;  // fewer find little
constexpr std::size_t kLeastCounts = 300;        // as many ways take a tenth of a millisecond

// A time within this relative distance of its bound is proved to be least. Differs from equality
// by a few roundings of a sum.
constexpr double kTight = 4 * kRounding;

// What is known of a layer.
struct LayerState {
  std::vector<Expert> slots;
  double time = 0;  // over windows, as the rules say
  std::optional<LayerBound> bound;
  bool bound_has_repeats = false;  // the bound is that of placements with repeats
  std::vector<Expert> mean_slots;  // the plan for the mean of all windows
  std::vector<LayerPoint> front;   // with an old placement
};

// Plans one layer. Thread safety: one thread at a time.
class LayerPlanner {
 public:
  LayerPlanner(const ExpertProblem& problem, const ExpertProblem& mean, const PlanRules& rules,
               const Budget& budget, std::size_t layer)
      : problem_(problem),
        mean_(mean),
        rules_(rules),
        eplb_(rules.terms.eplb.data() + layer * problem.num_slots()),
        stop_(budget),
        layer_(layer) {}

  LayerState plan() {
    search_mean();
    state_.mean_slots = state_.slots;
    if (problem_.num_samples() > 1) search_windows();
    if (!rules_.terms.old.empty()) search_moves();
    return std::move(state_);
  }

 private:
  // A pool per node that keeps groups, or one for the layer.
  struct Nodes {
    std::vector<PoolSearch> searches;
    std::size_t busiest() const {
      std::size_t busiest = 0;
      for (std::size_t i = 1; i < searches.size(); ++i) {
        if (searches[i].time() > searches[busiest].time()) busiest = i;
      }
      return busiest;
    }
    std::vector<Expert> slots() const {
      std::vector<Expert> slots;
      for (const PoolSearch& search : searches)
        search.append_slots(slots);
      return slots;
    }
  };

  const Expert* old_slots() const {
    return rules_.terms.old.data() + layer_ * problem_.num_slots();
  }

  // Time of a placement over all windows, or in the mean of all windows.
  double time_of(const ExpertProblem& problem, const Expert* slots) const {
    double result = 0;
    for (std::size_t sample = 0; sample < problem.num_samples(); ++sample) {
      const std::vector<double> times = gpu_times(problem, sample, layer_, slots);
      const double busiest = *std::max_element(times.begin(), times.end());
      result = rules_.terms.over == Over::kMean
                   ? result + busiest / static_cast<double>(problem.num_samples())
                   : std::max(result, busiest);
    }
    return result;
  }

  bool is_legal(const Expert* slots) const {
    return check_layer(layer_problem(problem_, rules_.terms, layer_, slots), layer_, slots).ok();
  }

  // The groups of every node in a placement.
  std::vector<std::vector<Expert>> node_experts(const Expert* slots) const {
    const std::size_t nodes = problem_.keeps_groups() ? problem_.num_nodes() : 1;
    const std::size_t per_node = problem_.num_slots() / nodes;
    std::vector<std::vector<Expert>> experts(nodes);
    for (std::size_t node = 0; node < nodes; ++node) {
      experts[node].assign(slots + node * per_node, slots + (node + 1) * per_node);
      std::sort(experts[node].begin(), experts[node].end());
      experts[node].erase(std::unique(experts[node].begin(), experts[node].end()),
                          experts[node].end());
    }
    return experts;
  }

  SearchPool search_pool(const ExpertProblem& problem, Pool pool, std::size_t node) const {
    SearchPool search;
    search.num_windows = problem.num_samples();
    search.over = rules_.terms.over;
    for (const Expert expert : pool.experts) {
      for (std::size_t sample = 0; sample < problem.num_samples(); ++sample)
        search.loads.push_back(problem.loads(sample, layer_)[expert]);
    }
    for (std::size_t gpu = 0; gpu < pool.num_gpus; ++gpu)
      search.speeds.push_back(problem.speed(node * pool.num_gpus + gpu));
    search.pool = std::move(pool);
    return search;
  }

  // The nodes of a placement that keeps groups, with this placement.
  Nodes nodes_at(const ExpertProblem& problem, const Expert* slots) const {
    Nodes nodes;
    const auto experts = node_experts(slots);
    const std::size_t per_node = problem_.num_slots() / experts.size();
    for (std::size_t node = 0; node < experts.size(); ++node) {
      Pool pool = expert_pool(mean_, 0, layer_, experts[node], experts.size());
      nodes.searches.emplace_back(search_pool(problem, std::move(pool), node));
      nodes.searches.back().place(slots + node * per_node);
    }
    return nodes;
  }

  // Takes a placement if it is better.
  bool offer(const ExpertProblem& problem, std::vector<Expert> slots) {
    const double time = time_of(problem, slots.data());
    if (!state_.slots.empty() && time >= state_.time) return false;
    state_.slots = std::move(slots);
    state_.time = time;
    return true;
  }

  std::uint64_t key(std::size_t node) const { return layer_ * problem_.num_nodes() + node; }

  void search_mean() {
    std::vector<Pool> pools;
    const GroupChoice groups = best_groups(mean_, 0, layer_, is_stopped_);
    state_.bound = layer_bound(mean_, 0, layer_, groups);
    for (const GroupSet set : groups.nodes)
      pools.push_back(node_pool(mean_, 0, layer_, set));
    if (pools.empty()) {
      const auto experts = node_experts(eplb_);
      for (const std::vector<Expert>& node : experts)
        pools.push_back(expert_pool(mean_, 0, layer_, node, experts.size()));
    }
    double target = state_.bound->value * (1 + kEnough);
    Nodes nodes;
    for (std::size_t node = 0; node < pools.size(); ++node) {
      nodes.searches.emplace_back(search_pool(mean_, std::move(pools[node]), node));
      PoolSearch& search = nodes.searches.back();
      search.place_greedily();
      search.search(target, kicks(), key(node), stop_);
      // The other nodes need not be better than this one.
      target = std::max(target, search.time());
    }
    offer(mean_, nodes.slots());
    const double eplb_time = time_of(mean_, eplb_);
    if (eplb_time < state_.time && !has_repeats(mean_, eplb_)) improve(eplb_);
    search_pairs_of_layer();
    try_all(mean_);
    if (eplb_time >= state_.time) return;
    // Only repeats can make EPLB better than what local search descends to from there.
    improve(eplb_);
    if (!has_repeats(mean_, state_.slots.data())) return;
    const ExpertProblem with_repeats = mean_.with_repeats();
    state_.bound =
        layer_bound(with_repeats, 0, layer_, best_groups(with_repeats, 0, layer_, is_stopped_));
    state_.bound_has_repeats = mean_.forbids_repeats();
    try_all(with_repeats);
  }

  std::size_t kicks() const {
    const std::size_t slots = mean_.num_layers() * mean_.num_slots();
    return std::clamp(rules_.best.slots_kicked / slots, kLeastKicks, kMostKicks) *
           rules_.best.effort;
  }

  // On GPUs of two slots, searches the numbers of replicas, and improves the bound.
  void search_pairs_of_layer() {
    if (mean_.slots_per_gpu() != 2 || mean_.keeps_groups() || !mean_.spec().gpu_speeds.empty() ||
        mean_.num_slots() <= kMostTriedSlots || stop_())
      return;
    const std::size_t layers = mean_.num_layers();
    const std::size_t moves = rules_.best.effort * rules_.best.pair_moves / layers;
    const bool has_time = moves >= kLeastPairMoves;
    const Pool pool = layer_pool(mean_, 0, layer_);
    if (has_time && !is_tight()) {
      const auto counts = replica_counts(mean_, state_.slots.data());
      std::vector<std::int32_t> by_place;
      for (const Expert expert : pool.experts)
        by_place.push_back(counts[static_cast<std::size_t>(expert)]);
      const auto slots = search_pairs(pool, std::move(by_place), moves, key(0), stop_);
      if (!slots.empty()) improve(slots.data());
    }
    if (is_tight()) return;
    const std::size_t iterations =
        std::min(rules_.best.effort * rules_.best.pair_iterations / layers, kMostPairIterations);
    const double tight = state_.time * (1 - 2 * kRounding);
    if (counts_refute(pool, tight, std::clamp(moves, kLeastCounts, kMostCounts), is_stopped_) ||
        (has_time && pairs_refute(pool, tight, iterations, is_stopped_))) {
      state_.bound = {tight, BoundRule::kPairs};
    } else if (has_time) {
      const double bound =
          pairs_bound(pool, state_.bound->value, state_.time, iterations, is_stopped_);
      if (bound > state_.bound->value) state_.bound = {bound, BoundRule::kPairs};
    }
  }

  // Descends from a legal placement.
  void improve(const Expert* slots) {
    Nodes nodes = nodes_at(mean_, slots);
    for (PoolSearch& search : nodes.searches)
      search.descend(state_.bound->value, stop_);
    offer(mean_, nodes.slots());
  }

  // Looks for better placements until there is none, or the work is spent.
  void try_all(const ExpertProblem& problem) {
    if (problem.num_slots() > kMostTriedSlots || !lists_groups(problem)) return;
    std::uint64_t work = kTrialWork;
    while (!stop_() && !is_tight()) {
      Trial trial =
          place_layer_below(problem, 0, layer_, state_.time * (1 - kRounding), work, is_stopped_);
      if (trial.end == Trial::End::kOutOfWork) return;
      if (trial.end == Trial::End::kNone) {
        state_.bound = {state_.time, BoundRule::kTried};
        return;
      }
      if (!offer(mean_, std::move(trial.slots))) return;
    }
  }

  bool is_tight() const { return state_.time <= state_.bound->value * (1 + kTight); }

  // Goes on from the plan for the mean of all windows.
  void search_windows() {
    state_.time = time_of(problem_, state_.slots.data());
    Nodes nodes = nodes_at(problem_, state_.slots.data());
    for (std::size_t node = 0; node < nodes.searches.size(); ++node)
      nodes.searches[node].search(0, rules_.best.window_kicks * rules_.best.effort, key(node),
                                  stop_);
    offer(problem_, nodes.slots());
    if (is_legal(eplb_)) offer(problem_, {eplb_, eplb_ + problem_.num_slots()});
  }

  // Collects placements between the old one and the best one.
  void search_moves() {
    std::vector<LayerPoint>& points = state_.front;
    const auto add = [&](std::vector<Expert> slots) {
      keep_slots(problem_, slots.data(), old_slots());
      const std::size_t moves = count_layer_moves(problem_, slots.data(), old_slots());
      points.push_back({moves, time_of(problem_, slots.data()), std::move(slots)});
    };
    add(stop_() ? state_.slots : align(problem_, state_.slots, old_slots()));
    std::vector<Expert> start(old_slots(), old_slots() + problem_.num_slots());
    if (is_legal(start.data())) {
      add(start);
      Nodes nodes = nodes_at(problem_, start.data());
      const std::size_t per_node = start.size() / nodes.searches.size();
      for (const double price : kMovePrices) {
        if (stop_()) break;
        for (std::size_t node = 0; node < nodes.searches.size(); ++node)
          nodes.searches[node].charge_moves(
              {old_slots() + node * per_node, price * points.back().time});
        while (!stop_() && nodes.searches[nodes.busiest()].step())
          add(nodes.slots());
      }
    }
    points = convex_front(std::move(points));
  }

  const ExpertProblem& problem_;
  const ExpertProblem& mean_;
  const PlanRules& rules_;
  const Expert* eplb_;
  StopCheck stop_;
  IsStopped is_stopped_ = [this] { return stop_(); };
  std::size_t layer_;
  LayerState state_;
};

// Sets the bounds of layers that have none, and of layers whose placement has repeats although the
// bound excludes them, or none although it allows them.
void bound_layers(const ExpertProblem& all, const PlanTerms& terms, std::vector<LayerState>& layers,
                  const Placement& placement, Executor& executor, const Budget& budget) {
  const std::size_t worst = worst_window(all, busiest_times(all, placement));
  executor.parallel_for(
      layers.size(), RangeSizes(1), [&](unsigned, std::size_t begin, std::size_t end) {
        for (std::size_t layer = begin; layer < end; ++layer) {
          LayerState& state = layers[layer];
          const ExpertProblem problem = layer_problem(all, terms, layer, state.slots.data());
          const bool has_repeats = problem.forbids_repeats() != all.forbids_repeats();
          if (state.bound && all.num_samples() == 1 && state.bound_has_repeats == has_repeats)
            continue;
          state.bound = windows_bound(problem, layer, terms.over, worst,
                                      [&] { return budget.interrupted().has_value(); });
        }
      });
}

Placement joined(const std::vector<LayerState>& layers) {
  Placement placement;
  for (const LayerState& layer : layers)
    placement.insert(placement.end(), layer.slots.begin(), layer.slots.end());
  return placement;
}

// Completes a plan from the placements and bounds of its layers.
PlannedExperts finish(const ExpertProblem& problem, const PlanRules& rules,
                      std::vector<LayerState> layers, Executor& executor, const Budget& budget) {
  PlannedExperts planned;
  ExpertPlan& plan = planned.plan;
  Placement placement = joined(layers);
  bound_layers(problem, rules.terms, layers, placement, executor, budget);
  const std::vector<double> busiest = busiest_times(problem, placement);
  const std::size_t worst = worst_window(problem, busiest);
  plan.max_load = over_windows(problem, busiest, rules.terms.over, worst);
  plan.mean_load = over_windows(problem, mean_times(problem), rules.terms.over, worst);
  plan.moved = rules.terms.old.empty() ? 0 : count_moves(problem, placement, rules.terms.old);
  plan.objective = rules.terms.migration_weight * static_cast<double>(plan.moved);
  plan.proven_optimal = rules.terms.migration_weight == 0 || plan.moved == 0;
  for (std::size_t layer = 0; layer < problem.num_layers(); ++layer) {
    plan.objective += plan.max_load[layer];
    const double bound = std::min(layers[layer].bound->value, plan.max_load[layer]);
    // A bound within rounding of the load is the load. Refuted pairs are refuted at their value
    // only.
    const bool is_tight = plan.max_load[layer] <= bound * (1 + kTight);
    const bool is_exact = layers[layer].bound->rule == BoundRule::kPairs;
    plan.lower_bound.push_back(is_tight && !is_exact ? plan.max_load[layer] : bound);
    plan.rules.push_back(layers[layer].bound->rule);
    plan.proven_optimal = plan.proven_optimal && is_tight;
  }
  plan.link_cost = link_cost(problem, placement);
  plan.placement = std::move(placement);
  planned.terms = rules.terms;
  planned.stop = budget.interrupted().value_or(StopReason::kFinished);
  return planned;
}

}  // namespace

PlannedExperts plan_eplb(const ExpertProblem& problem, const PlanRules& rules, Executor& executor,
                         const Budget& budget) {
  std::vector<LayerState> layers(problem.num_layers());
  PlanRules all = rules;
  all.terms.eplb = place_eplb(problem, executor);
  const Expert* slots = all.terms.eplb.data();
  for (LayerState& layer : layers) {
    layer.slots.assign(slots, slots + problem.num_slots());
    slots += problem.num_slots();
  }
  return finish(problem, all, std::move(layers), executor, budget);
}

namespace {

// For the worst window, layers are searched one by one for their own worst windows. Begins with
// EPLB's placement, the plan for the mean or the searched one, whichever is best as a whole; then
// takes the layers of the others as long as the worst window of all layers becomes better.
void settle_worst(const ExpertProblem& problem, const Placement& eplb,
                  std::vector<LayerState>& layers) {
  const std::size_t size = problem.num_slots();
  std::array<Placement, 3> plans{eplb, {}, joined(layers)};
  for (const LayerState& layer : layers)
    plans[1].insert(plans[1].end(), layer.mean_slots.begin(), layer.mean_slots.end());
  std::array<std::vector<double>, 3> busiest;  // [windows][layers]
  std::vector<double> sums;                    // by window
  double best = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    busiest[i] = busiest_times(problem, plans[i]);
    std::vector<double> of_plan;
    for (auto at = busiest[i].begin(); at != busiest[i].end();
         at += static_cast<std::ptrdiff_t>(layers.size()))
      of_plan.push_back(std::accumulate(at, at + static_cast<std::ptrdiff_t>(layers.size()), 0.0));
    const double time = *std::max_element(of_plan.begin(), of_plan.end());
    if (i > 0 && time >= best) continue;
    best = time;
    first = i;
    sums = of_plan;
  }
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    std::size_t chosen = first;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      std::vector<double> next = sums;
      for (std::size_t window = 0; window < next.size(); ++window) {
        const std::size_t at = window * layers.size() + layer;
        next[window] += busiest[i][at] - busiest[chosen][at];
      }
      const double time = *std::max_element(next.begin(), next.end());
      if (time >= best) continue;
      best = time;
      chosen = i;
      sums = std::move(next);
    }
    const Expert* slots = plans[chosen].data() + layer * size;
    layers[layer].slots.assign(slots, slots + size);
  }
}

// The second objective, where there is one.
void lower_link_costs(const ExpertProblem& problem, const PlanTerms& terms,
                      std::vector<LayerState>& layers, Executor& executor, const Budget& budget) {
  if (problem.spec().link_costs.empty()) return;
  const LinkTable links(problem);
  executor.parallel_for(
      layers.size(), RangeSizes(1), [&](unsigned, std::size_t begin, std::size_t end) {
        StopCheck stop(budget);
        for (std::size_t layer = begin; layer < end; ++layer) {
          Expert* slots = layers[layer].slots.data();
          const Expert* old =
              terms.old.empty() ? nullptr : terms.old.data() + layer * problem.num_slots();
          lower_link_cost(layer_problem(problem, terms, layer, slots), links, layer, old, slots,
                          stop);
          if (old != nullptr) keep_slots(problem, slots, old);
        }
      });
}

}  // namespace

PlannedExperts plan_best(const ExpertProblem& problem, const PlanRules& rules, Executor& executor,
                         const Budget& budget) {
  PlanRules all = rules;
  all.terms.eplb = place_eplb(problem, executor);
  const ExpertProblem mean = problem.mean_window();
  std::vector<LayerState> layers(problem.num_layers());
  executor.parallel_for(layers.size(), RangeSizes(1),
                        [&](unsigned, std::size_t begin, std::size_t end) {
                          for (std::size_t layer = begin; layer < end; ++layer)
                            layers[layer] = LayerPlanner(problem, mean, all, budget, layer).plan();
                        });
  if (problem.num_samples() > 1 && rules.terms.over == Over::kWorst && rules.terms.old.empty())
    settle_worst(problem, all.terms.eplb, layers);
  std::vector<MovesPoint> front;
  if (!rules.terms.old.empty()) {
    std::vector<std::vector<LayerPoint>> fronts;
    fronts.reserve(layers.size());
    for (LayerState& layer : layers)
      fronts.push_back(std::move(layer.front));
    const std::vector<std::size_t> chosen = choose_points(fronts, rules, front);
    for (std::size_t layer = 0; layer < layers.size(); ++layer)
      layers[layer].slots = fronts[layer][chosen[layer]].slots;
  }
  lower_link_costs(problem, all.terms, layers, executor, budget);
  PlannedExperts planned = finish(problem, all, std::move(layers), executor, budget);
  planned.front = std::move(front);
  return planned;
}

}  // namespace shardwright::experts
