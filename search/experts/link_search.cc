#include "search/experts/link_search.h"

#include <algorithm>
#include <numeric>
#include <tuple>
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
        loads_(problem.num_experts(), 0),
        costs_(problem.num_experts()),
        changed_in_(problem.num_gpus(), 0),
        times_(problem.num_samples()) {
    for (std::size_t sample = 0; sample < problem.num_samples(); ++sample) {
      for (std::size_t expert = 0; expert < loads_.size(); ++expert)
        loads_[expert] += problem.loads(sample, layer)[expert];
    }
    update();
    for (const std::vector<double>& times : times_)
      most_.push_back(*std::max_element(times.begin(), times.end()));
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
    Expert* first = slots_ + a * per_gpu_;
    Expert* second = slots_ + b * per_gpu_;
    changed_.assign(first, first + per_gpu_);
    changed_.insert(changed_.end(), second, second + per_gpu_);
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    double gain = 0;
    for (const Expert expert : changed_) {
      replicas_ = gpus_of_[index(expert)];
      for (Gpu& gpu : replicas_)
        gpu = gpu == a ? b : gpu == b ? a : gpu;
      gain += gain_of(expert);
    }
    return gain > least_gain_ && take(first, second, per_gpu_);
  }

  bool exchange_slots(std::size_t i, std::size_t j) {
    const Expert x = slots_[i];
    const Expert y = slots_[j];
    const auto a = static_cast<Gpu>(i / per_gpu_);
    const auto b = static_cast<Gpu>(j / per_gpu_);
    if (x == y || !stays_fast(a, b, x, y) || !may_come(x, b) || !may_come(y, a)) return false;
    double gain = 0;
    for (const auto& [expert, from, to] : {std::tuple(x, a, b), std::tuple(y, b, a)}) {
      replicas_ = gpus_of_[index(expert)];
      *std::find(replicas_.begin(), replicas_.end(), from) = to;
      gain += gain_of(expert);
    }
    return gain > least_gain_ && take(slots_ + i, slots_ + j, 1);
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

  // Returns what the expert's tokens cost less with replicas_, in any order.
  double gain_of(Expert expert) {
    std::sort(replicas_.begin(), replicas_.end());
    return costs_[index(expert)] - loads_[index(expert)] * links_.token_cost(replicas_, scratch_);
  }

  // Exchanges slots, unless more move.
  bool take(Expert* first, Expert* second, std::size_t count) {
    const auto moves = [&] {
      return old_ == nullptr ? 0 : count_layer_moves(problem_, slots_, old_);
    };
    const std::size_t before = moves();
    std::swap_ranges(first, first + count, second);
    if (moves() > before) {
      std::swap_ranges(first, first + count, second);
      return false;
    }
    // Before and after: the GPUs of an expert are those that its exchange concerns.
    for (int i = 0; i < 2; ++i) {
      for (const Expert* slots : {first, second}) {
        for (std::size_t j = 0; j < count; ++j) {
          for (const Gpu gpu : gpus_of_[index(slots[j])])
            changed_in_[gpu] = pass_;
        }
      }
      if (i == 0) update();
    }
    return true;
  }

  // Recomputes what follows from slots_.
  void update() {
    gpus_of_ = gpus_of_experts(problem_, slots_);
    for (std::size_t sample = 0; sample < times_.size(); ++sample)
      times_[sample] = gpu_times(problem_, sample, layer_, slots_);
    for (std::size_t expert = 0; expert < gpus_of_.size(); ++expert)
      costs_[expert] = loads_[expert] * links_.token_cost(gpus_of_[expert], scratch_);
  }

  static std::size_t index(Expert expert) { return static_cast<std::size_t>(expert); }

  const ExpertProblem& problem_;
  const LinkTable& links_;
  std::size_t layer_;
  const Expert* old_;
  Expert* slots_;
  std::size_t per_gpu_;
  double least_gain_ = 0;
  std::vector<std::vector<Gpu>> gpus_of_;   // by expert
  std::vector<double> loads_;               // by expert, of all windows
  std::vector<double> costs_;               // by expert: what its tokens cost
  std::vector<std::size_t> changed_in_;     // by GPU: the pass in which its experts changed GPUs
  std::size_t pass_ = 0;
  std::vector<std::vector<double>> times_;  // [windows][gpus]
  std::vector<double> most_;                // by window: the busiest GPU at first
  std::vector<Expert> changed_;             // scratch
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
