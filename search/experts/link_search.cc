#include "search/experts/link_search.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace shardwright::experts {
namespace {

constexpr double kLeastCostGain = 1e-9;  // relative to the layer's cost; smaller gains are rounding

// Thread safety: one thread at a time.
class LinkSearch {
 public:
  LinkSearch(const ExpertProblem& problem, const LinkTable& links, std::size_t layer,
             const Expert* old, Expert* slots)
      : problem_(problem),
        links_(links),
        layer_(layer),
        old_(old),
        slots_(slots),
        per_gpu_(problem.slots_per_gpu()),
        gpus_of_(gpus_of_experts(problem, slots)),
        loads_(problem.num_experts(), 0),
        changed_in_(problem.num_gpus(), 0) {
    for (std::size_t sample = 0; sample < problem.num_samples(); ++sample) {
      for (std::size_t expert = 0; expert < loads_.size(); ++expert)
        loads_[expert] += problem.loads(sample, layer)[expert];
      times_.push_back(gpu_times(problem, sample, layer, slots));
      most_.push_back(*std::max_element(times_.back().begin(), times_.back().end()));
    }
    for (std::size_t expert = 0; expert < loads_.size(); ++expert)
      costs_.push_back(loads_[expert] * links.token_cost(gpus_of_[expert], scratch_));
    least_gain_ = kLeastCostGain * std::accumulate(costs_.begin(), costs_.end(), 0.0);
  }

  // Tries all exchanges. Returns true if one was made.
  bool pass(StopCheck& stop) {
    bool found = false;
    ++pass_;
    const std::size_t gpus = problem_.num_gpus();
    const std::size_t together = problem_.keeps_groups() ? gpus / problem_.num_nodes() : gpus;
    for (Gpu a = 0; a < gpus; ++a) {
      for (Gpu b = a + 1; b < (a / together + 1) * together; ++b) {
        if (changed_in_[a] + 1 < pass_ && changed_in_[b] + 1 < pass_) continue;
        if (stop()) return false;
        if (problem_.speed(a) == problem_.speed(b)) found = exchange_gpus(a, b) || found;
        for (std::size_t i = a * per_gpu_; i < (a + 1) * per_gpu_; ++i) {
          for (std::size_t j = b * per_gpu_; j < (b + 1) * per_gpu_; ++j)
            found = exchange_slots(i, j) || found;
        }
      }
    }
    return found;
  }

 private:
  using Gpu = LinkTable::Gpu;

  bool exchange_gpus(Gpu a, Gpu b) {
    const Expert* first = slots_ + a * per_gpu_;
    const Expert* second = slots_ + b * per_gpu_;
    changed_.assign(first, first + per_gpu_);
    changed_.insert(changed_.end(), second, second + per_gpu_);
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    return exchange(a * per_gpu_, b * per_gpu_, per_gpu_, true);
  }

  bool exchange_slots(std::size_t i, std::size_t j) {
    const Expert x = slots_[i];
    const Expert y = slots_[j];
    const Gpu a = gpu_of(i);
    const Gpu b = gpu_of(j);
    if (x == y || !stays_fast(a, b, x, y) || !may_come(x, b) || !may_come(y, a)) return false;
    changed_ = {x, y};
    return exchange(i, j, 1, false);
  }

  // Exchanges `count` slots from i and j on, whose experts are changed_, if that is cheaper and no
  // more slots move. `all`: they are all slots of their GPUs.
  bool exchange(std::size_t i, std::size_t j, std::size_t count, bool all) {
    double gain = 0;
    for (const Expert expert : changed_)
      gain += costs_[index(expert)] - cost_after(expert, gpu_of(i), gpu_of(j), all);
    if (gain <= least_gain_) return false;
    const auto moves = [&] {
      return old_ == nullptr ? 0 : count_layer_moves(problem_, slots_, old_);
    };
    const std::size_t before = moves();
    std::swap_ranges(slots_ + i, slots_ + i + count, slots_ + j);
    if (moves() > before) {
      std::swap_ranges(slots_ + i, slots_ + i + count, slots_ + j);
      return false;
    }
    for (const Expert expert : changed_) {
      costs_[index(expert)] = cost_after(expert, gpu_of(i), gpu_of(j), all);
      for (const std::vector<Gpu>* gpus : {&gpus_of_[index(expert)], &replicas_}) {
        for (const Gpu gpu : *gpus)
          changed_in_[gpu] = pass_;
      }
      gpus_of_[index(expert)] = replicas_;
    }
    for (std::size_t sample = 0; sample < times_.size(); ++sample) {
      for (const Gpu gpu : {gpu_of(i), gpu_of(j)})
        times_[sample][gpu] = time_of(sample, gpu);
    }
    return true;
  }

  // Returns what the tokens of one of changed_ cost after the exchange of a and b, or of its slots
  // there; sets replicas_.
  double cost_after(Expert expert, Gpu a, Gpu b, bool all) {
    replicas_ = gpus_of_[index(expert)];
    if (all) {
      for (Gpu& gpu : replicas_)
        gpu = gpu == a ? b : gpu == b ? a : gpu;
    } else {
      const bool is_first = expert == changed_[0];
      *std::find(replicas_.begin(), replicas_.end(), is_first ? a : b) = is_first ? b : a;
    }
    std::sort(replicas_.begin(), replicas_.end());
    return loads_[index(expert)] * links_.token_cost(replicas_, scratch_);
  }

  double time_of(std::size_t sample, Gpu gpu) const {
    double load = 0;
    for (std::size_t slot = gpu * per_gpu_; slot < (gpu + 1) * per_gpu_; ++slot)
      load += problem_.loads(sample, layer_)[slots_[slot]] /
              static_cast<double>(gpus_of_[index(slots_[slot])].size());
    return load / problem_.speed(gpu);
  }

  // Returns true if no window's busiest GPU becomes busier when x goes from a to b, and y to a.
  bool stays_fast(Gpu a, Gpu b, Expert x, Expert y) const {
    for (std::size_t sample = 0; sample < times_.size(); ++sample) {
      const double* loads = problem_.loads(sample, layer_);
      const double change = loads[y] / static_cast<double>(gpus_of_[index(y)].size()) -
                            loads[x] / static_cast<double>(gpus_of_[index(x)].size());
      const std::vector<double>& times = times_[sample];
      if (times[a] + change / problem_.speed(a) > most_[sample] ||
          times[b] - change / problem_.speed(b) > most_[sample])
        return false;
    }
    return true;
  }

  bool may_come(Expert expert, Gpu gpu) const {
    const std::vector<Gpu>& gpus = gpus_of_[index(expert)];
    return !problem_.forbids_repeats() || std::find(gpus.begin(), gpus.end(), gpu) == gpus.end();
  }

  Gpu gpu_of(std::size_t slot) const { return static_cast<Gpu>(slot / per_gpu_); }
  static std::size_t index(Expert expert) { return static_cast<std::size_t>(expert); }

  const ExpertProblem& problem_;
  const LinkTable& links_;
  std::size_t layer_;
  const Expert* old_;
  Expert* slots_;
  std::size_t per_gpu_;
  double least_gain_ = 0;
  std::vector<std::vector<Gpu>> gpus_of_;  // by expert
  std::vector<double> loads_;              // by expert, of all windows
  std::vector<double> costs_;              // by expert: what its tokens cost
  std::vector<std::size_t> changed_in_;    // by GPU: the pass in which its experts changed GPUs
  std::size_t pass_ = 0;
  std::vector<std::vector<double>> times_;  // [windows][gpus]
  std::vector<double> most_;                // by window: the busiest GPU at first
  std::vector<Expert> changed_;             // experts of an exchange
  std::vector<Gpu> replicas_;               // scratch
  LinkTable::Scratch scratch_;
};

}  // namespace

void lower_link_cost(const ExpertProblem& problem, const LinkTable& links, std::size_t layer,
                     const Expert* old, Expert* slots, StopCheck& stop) {
  LinkSearch search(problem, links, layer, old, slots);
  while (search.pass(stop)) {
  }
}

}  // namespace shardwright::experts
