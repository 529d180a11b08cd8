#include "core/experts/bound.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>

namespace shardwright::experts {
namespace {

constexpr std::size_t kMostGroups = 16;
constexpr std::size_t kMostGroupSets = 2000;

Pool pool_of(const double* loads, std::vector<Expert> experts) {
  std::sort(experts.begin(), experts.end(), [loads](Expert a, Expert b) {
    return loads[a] != loads[b] ? loads[a] > loads[b] : a < b;
  });
  Pool pool;
  pool.loads.reserve(experts.size());
  for (const Expert expert : experts)
    pool.loads.push_back(loads[expert]);
  pool.experts = std::move(experts);
  return pool;
}

// Refutes values of T for shares_bound().
class SharesTest {
 public:
  explicit SharesTest(const Pool& pool) : pool_(&pool) {}

  // Returns false if no placement has all times at most `time`.
  bool allows(double time) {
    const double capacity = time * pool_->top_speed;
    double others = 0;
    for (;;) {
      const double room = capacity - others;
      if (!count_replicas(room)) return false;
      const double more = least_others();
      if (more <= others * (1 + kRounding)) return true;
      others = more;
    }
  }

 private:
  // Sets large_ (replicas of experts that need several) and spare_. Returns false if slots lack.
  bool count_replicas(double room) {
    large_.clear();
    if (room <= 0) return pool_->loads.front() <= 0;
    std::size_t needed = pool_->loads.size();
    const double factor = (1 - kRounding) / room;
    for (std::size_t i = 0; i < pool_->loads.size() && pool_->loads[i] * factor > 1; ++i) {
      const double replicas = std::ceil(pool_->loads[i] * factor);
      if (replicas > static_cast<double>(most_replicas())) return false;
      large_.push_back(replicas);
      needed += static_cast<std::size_t>(replicas) - 1;
      if (needed > pool_->num_slots()) return false;
    }
    spare_ = static_cast<double>(pool_->num_slots() - needed);
    return true;
  }

  std::size_t most_replicas() const {
    return pool_->forbids_repeats ? pool_->num_gpus : pool_->num_slots();
  }

  // The least sum of the other replicas on a GPU.
  double least_others() {
    const std::size_t others = pool_->slots_per_gpu - 1;
    if (others == 0 || !pool_->forbids_repeats) return 0;
    smallest_.clear();
    const std::size_t experts = pool_->loads.size();
    const std::size_t tail = std::max(large_.size(), experts - std::min(experts, others));
    for (std::size_t i = 0; i < large_.size(); ++i)
      smallest_.push_back(pool_->loads[i] / (large_[i] + spare_));
    for (std::size_t i = tail; i < experts; ++i)
      smallest_.push_back(pool_->loads[i] / (1 + spare_));
    std::sort(smallest_.begin(), smallest_.end());
    return std::accumulate(smallest_.begin(),
                           smallest_.begin() + static_cast<std::ptrdiff_t>(others), 0.0);
  }

  const Pool* pool_;
  std::vector<double> large_;
  std::vector<double> smallest_;
  double spare_ = 0;
};

}  // namespace

Pool expert_pool(const ExpertProblem& problem, std::size_t sample, std::size_t layer,
                 std::vector<Expert> experts, std::size_t num_nodes) {
  Pool pool = pool_of(problem.loads(sample, layer), std::move(experts));
  pool.num_gpus = problem.num_gpus() / num_nodes;
  pool.slots_per_gpu = problem.slots_per_gpu();
  pool.forbids_repeats = problem.forbids_repeats();
  pool.all_speeds = 0;
  pool.top_speed = 0;
  for (std::size_t gpu = 0; gpu < problem.num_gpus(); ++gpu) {
    pool.all_speeds += problem.speed(gpu) / static_cast<double>(num_nodes);
    pool.top_speed = std::max(pool.top_speed, problem.speed(gpu));
  }
  return pool;
}

Pool layer_pool(const ExpertProblem& problem, std::size_t sample, std::size_t layer) {
  std::vector<Expert> experts(problem.num_experts());
  std::iota(experts.begin(), experts.end(), 0);
  return expert_pool(problem, sample, layer, std::move(experts), 1);
}

Pool node_pool(const ExpertProblem& problem, std::size_t sample, std::size_t layer,
               GroupSet groups) {
  std::vector<Expert> experts;
  const std::size_t size = problem.num_experts() / problem.num_groups();
  for (std::size_t expert = 0; expert < problem.num_experts(); ++expert) {
    if ((groups >> (expert / size) & 1U) != 0) experts.push_back(static_cast<Expert>(expert));
  }
  return expert_pool(problem, sample, layer, std::move(experts), problem.num_nodes());
}

double mean_time(const Pool& pool) {
  return std::accumulate(pool.loads.begin(), pool.loads.end(), 0.0) / pool.all_speeds;
}

double shares_bound(const Pool& pool) {
  SharesTest test(pool);
  double low = mean_time(pool) * (1 - kRounding);
  if (test.allows(low)) return low;
  double high = 2 * low;
  while (!test.allows(high))
    low = high, high *= 2;
  while (high - low > kRounding / 4 * high) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (test.allows(middle) ? high : low) = middle;
  }
  return low;
}

bool lists_groups(const ExpertProblem& problem) {
  if (!problem.spec().gpu_speeds.empty()) return false;
  if (!problem.keeps_groups()) return true;
  if (problem.num_groups() > kMostGroups) return false;
  std::size_t sets = 1;
  const std::size_t per_node = problem.num_groups() / problem.num_nodes();
  for (std::size_t i = 0; i < per_node; ++i)
    sets = sets * (problem.num_groups() - i) / (i + 1);
  return sets <= kMostGroupSets;
}

namespace {

// Visits all ways to give groups to nodes. A node takes the first group that is left, and others.
// `accept(set)`: returns false to skip ways in which a node has this set. `done()`: called with all
// sets chosen; returns true to end.
template <class Accept, class Done>
class GroupTree {
 public:
  GroupTree(const ExpertProblem& problem, Accept accept, Done done)
      : per_node_(problem.num_groups() / problem.num_nodes()),
        groups_(problem.num_groups()),
        accept_(std::move(accept)),
        done_(std::move(done)) {}

  bool visit(GroupSet left) {
    if (left == 0) return done_(nodes_);
    const GroupSet first = left & (~left + 1);
    return choose(left, first, static_cast<std::size_t>(std::countr_zero(first)) + 1);
  }

 private:
  bool choose(GroupSet left, GroupSet set, std::size_t next) {
    if (static_cast<std::size_t>(std::popcount(set)) == per_node_) {
      if (!accept_(set)) return false;
      nodes_.push_back(set);
      if (visit(left & ~set)) return true;
      nodes_.pop_back();
      return false;
    }
    for (std::size_t group = next; group < groups_; ++group) {
      const GroupSet bit = GroupSet{1} << group;
      if ((left & bit) != 0 && choose(left, set | bit, group + 1)) return true;
    }
    return false;
  }

  std::size_t per_node_;
  std::size_t groups_;
  Accept accept_;
  Done done_;
  std::vector<GroupSet> nodes_;
};

GroupSet all_groups(const ExpertProblem& problem) {
  return static_cast<GroupSet>((std::uint64_t{1} << problem.num_groups()) - 1);
}

}  // namespace

GroupChoice best_groups(const ExpertProblem& problem, std::size_t sample, std::size_t layer,
                        const IsStopped& is_stopped) {
  if (!problem.keeps_groups() || !lists_groups(problem)) return {};
  bool stopped = false;
  GroupChoice best{std::numeric_limits<double>::infinity(), {}};
  std::map<GroupSet, double> bounds;
  const auto bound = [&](GroupSet set) {
    const auto [found, is_new] = bounds.try_emplace(set, 0);
    if (is_new) found->second = shares_bound(node_pool(problem, sample, layer, set));
    return found->second;
  };
  GroupTree tree(
      problem,
      [&](GroupSet set) {
        stopped = stopped || (is_stopped && is_stopped());
        return !stopped && bound(set) < best.bound;
      },
      [&](const std::vector<GroupSet>& nodes) {
        best = {0, nodes};
        for (const GroupSet set : nodes)
          best.bound = std::max(best.bound, bound(set));
        return false;
      });
  tree.visit(all_groups(problem));
  if (stopped) return {};
  return best;
}

LayerBound layer_bound(const ExpertProblem& problem, std::size_t sample, std::size_t layer,
                       const GroupChoice& groups) {
  const Pool pool = layer_pool(problem, sample, layer);
  LayerBound best{mean_time(pool) * (1 - kRounding), BoundRule::kMean};
  const double shares = shares_bound(pool);
  if (shares > best.value * (1 + 2 * kRounding)) best = {shares, BoundRule::kShares};
  if (groups.bound > best.value * (1 + 2 * kRounding)) best = {groups.bound, BoundRule::kGroups};
  return best;
}

LayerBound windows_bound(const ExpertProblem& problem, std::size_t layer, Over over,
                         std::size_t worst, const IsStopped& is_stopped) {
  const std::size_t first = over == Over::kWorst ? worst : 0;
  const std::size_t last = over == Over::kWorst ? worst : problem.num_samples() - 1;
  std::vector<GroupChoice> groups;
  for (std::size_t sample = first; sample <= last; ++sample)
    groups.push_back(best_groups(problem, sample, layer, is_stopped));
  const bool is_complete = std::none_of(groups.begin(), groups.end(),
                                        [](const GroupChoice& one) { return one.nodes.empty(); });
  LayerBound result{0, BoundRule::kWindows};
  for (std::size_t sample = first; sample <= last; ++sample) {
    const LayerBound bound =
        layer_bound(problem, sample, layer, is_complete ? groups[sample - first] : GroupChoice());
    if (problem.num_samples() == 1) return bound;
    result.value += bound.value / static_cast<double>(groups.size());
  }
  return result;
}

namespace {

class PoolTrial {
 public:
  PoolTrial(const Pool& pool, double limit, std::uint64_t& work, const IsStopped& is_stopped)
      : pool_(pool),
        limit_(limit),
        work_(work),
        is_stopped_(is_stopped),
        left_(pool.loads.size(), 0),
        least_(pool.loads.size(), 1),
        least_after_(pool.loads.size(), 0),
        share_(pool.loads.size(), 0) {
    waste_ = limit * static_cast<double>(pool.num_gpus) -
             std::accumulate(pool.loads.begin(), pool.loads.end(), 0.0);
    for (std::size_t i = left_.size(); i-- > 0;) {
      double least = 1;
      while (pool.loads[i] / least >= limit && least <= static_cast<double>(pool.num_slots()))
        ++least;
      least_[i] = static_cast<std::size_t>(least);
      least_after_[i] = i + 1 == left_.size() ? 0 : least_after_[i + 1] + least_[i + 1];
    }
  }

  Trial run() {
    Trial trial;
    if (waste_ > 0 && choose_counts(0, pool_.num_slots())) {
      trial.end = Trial::End::kFound;
      trial.slots = slots_;
    } else {
      trial.end = work_ == 0 ? Trial::End::kOutOfWork : Trial::End::kNone;
    }
    return trial;
  }

 private:
  // Returns false if the work is spent, or the trial is stopped.
  bool spend() {
    constexpr std::uint64_t kInterval = 1024;
    if (work_ == 0) return false;
    if (--work_ % kInterval == 0 && is_stopped_ && is_stopped_()) work_ = 0;
    return work_ > 0;
  }

  // Chooses the replicas of experts from `i` on. `slots`: that are left for them.
  bool choose_counts(std::size_t i, std::size_t slots) {
    if (i == left_.size()) return slots == 0 && fill_gpu(waste_);
    if (slots < least_after_[i] || !spend()) return false;
    const std::size_t most =
        std::min(slots - least_after_[i], pool_.forbids_repeats ? pool_.num_gpus : slots);
    for (std::size_t count = least_[i]; count <= most; ++count) {
      share_[i] = pool_.loads[i] / static_cast<double>(count);
      left_[i] = static_cast<int>(count);
      if (choose_counts(i + 1, slots - count)) return true;
      if (work_ == 0) return false;
    }
    return false;
  }

  // Fills the next GPU, beginning with the largest replica that is left.
  bool fill_gpu(double waste) {
    if (slots_.size() == pool_.num_slots()) return true;
    std::size_t first = left_.size();
    for (std::size_t i = 0; i < left_.size(); ++i) {
      if (left_[i] > 0 && (first == left_.size() || share_[i] > share_[first])) first = i;
    }
    return take(first, 0, pool_.slots_per_gpu - 1, limit_ - share_[first], waste);
  }

  // Puts a replica of expert `i` on the GPU, then `more` others, from expert `next` on. `room`:
  // time that the GPU has left below the limit.
  bool take(std::size_t i, std::size_t next, std::size_t more, double room, double waste) {
    slots_.push_back(pool_.experts[i]);
    --left_[i];
    const bool found = more == 0 ? room <= waste * (1 + kRounding) && end_gpu(waste - room)
                                 : take_others(next, more, room, waste);
    if (found) return true;
    ++left_[i];
    slots_.pop_back();
    return false;
  }

  bool take_others(std::size_t next, std::size_t more, double room, double waste) {
    const auto gpu = slots_.end() - static_cast<std::ptrdiff_t>(pool_.slots_per_gpu - more);
    const Expert largest = *gpu;
    for (std::size_t i = next; i < left_.size(); ++i) {
      if (left_[i] == 0 || share_[i] >= room) continue;
      if (pool_.forbids_repeats && pool_.experts[i] == largest) continue;
      if (take(i, pool_.forbids_repeats ? i + 1 : i, more - 1, room - share_[i], waste))
        return true;
      if (work_ == 0) return false;
    }
    return false;
  }

  bool end_gpu(double waste) { return spend() && fill_gpu(waste); }

  const Pool& pool_;
  double limit_;
  std::uint64_t& work_;
  const IsStopped& is_stopped_;
  std::vector<int> left_;                 // replicas that have no slot yet, by place in the pool
  std::vector<std::size_t> least_;        // replicas that an expert needs, by place
  std::vector<std::size_t> least_after_;  // that the experts after it need
  std::vector<double> share_;
  std::vector<Expert> slots_;
  double waste_ = 0;  // time that all GPUs together leave unused
};

}  // namespace

Trial place_layer_below(const ExpertProblem& problem, std::size_t sample, std::size_t layer,
                        double limit, std::uint64_t& work, const IsStopped& is_stopped) {
  if (!problem.keeps_groups()) {
    const Pool pool = layer_pool(problem, sample, layer);
    return PoolTrial(pool, limit, work, is_stopped).run();
  }
  std::map<GroupSet, Trial> trials;
  Trial all{Trial::End::kNone, {}};
  GroupTree tree(
      problem,
      [&](GroupSet set) {
        const auto [found, is_new] = trials.try_emplace(set);
        if (is_new) {
          const Pool pool = node_pool(problem, sample, layer, set);
          found->second = PoolTrial(pool, limit, work, is_stopped).run();
          if (found->second.end == Trial::End::kOutOfWork) all.end = Trial::End::kOutOfWork;
        }
        return found->second.end == Trial::End::kFound;
      },
      [&](const std::vector<GroupSet>& nodes) {
        all.end = Trial::End::kFound;
        for (const GroupSet set : nodes) {
          const std::vector<Expert>& slots = trials[set].slots;
          all.slots.insert(all.slots.end(), slots.begin(), slots.end());
        }
        return true;
      });
  tree.visit(all_groups(problem));
  return all;
}

}  // namespace shardwright::experts
