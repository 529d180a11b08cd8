#include "search/experts/pair_search.h"

#include <algorithm>
#include <utility>

#include "search/random.h"

namespace shardwright::experts {
namespace {

// A move is accepted if it raises the sum of high powers of the pairs by at most this part, which
// falls to zero.
constexpr double kFirstThreshold = 0.3;

using Replica = std::pair<double, std::uint32_t>;  // share, place of the expert in the pool

class PairSearch {
 public:
  PairSearch(const Pool& pool, std::vector<std::int32_t> counts)
      : pool_(pool), counts_(std::move(counts)), mean_(mean_time(pool)) {
    for (std::uint32_t expert = 0; expert < counts_.size(); ++expert)
      replicas_.insert(replicas_.end(), static_cast<std::size_t>(counts_[expert]),
                       {share(expert, counts_[expert]), expert});
    std::sort(replicas_.begin(), replicas_.end());
    cost_ = cost_of(replicas_, busiest_);
    best_ = replicas_;
    best_busiest_ = busiest_;
  }

  void search(std::size_t moves, std::uint64_t key, StopCheck& stop) {
    RandomGenerator random(key);
    for (std::size_t i = 0; i < moves && !stop(i * pool_.num_slots()); ++i) {
      const std::uint32_t from = replicas_[random.below(replicas_.size())].second;
      const std::uint32_t to = random.below(counts_.size());
      const bool fits =
          !pool_.forbids_repeats || counts_[to] < static_cast<std::int32_t>(pool_.num_gpus);
      if (from == to || counts_[from] == 1 || !fits) continue;
      move(from, to);
      double busiest = 0;
      const double cost = cost_of(next_, busiest);
      const double left = 1 - static_cast<double>(i) / static_cast<double>(moves);
      if (cost > cost_ * (1 + kFirstThreshold * left * left)) continue;
      std::swap(replicas_, next_);
      --counts_[from];
      ++counts_[to];
      cost_ = cost;
      if (busiest < best_busiest_) best_busiest_ = busiest, best_ = replicas_;
    }
  }

  // Pairs the best replicas. Where a pair has an expert twice, changes partners with another pair.
  std::vector<Expert> slots() const {
    const std::size_t gpus = pool_.num_gpus;
    std::vector<std::pair<Replica, Replica>> pairs;
    for (std::size_t i = 0; i < gpus; ++i)
      pairs.emplace_back(best_[2 * gpus - 1 - i], best_[i]);
    const auto is_twice = [&](std::size_t i) {
      return pool_.forbids_repeats && pairs[i].first.second == pairs[i].second.second;
    };
    for (std::size_t i = 0; i < gpus; ++i) {
      for (std::size_t step = 1; is_twice(i) && step < gpus; ++step) {
        const std::size_t other = (i + gpus - step) % gpus;
        std::swap(pairs[i].second, pairs[other].second);
        if (is_twice(i) || is_twice(other)) std::swap(pairs[i].second, pairs[other].second);
      }
      if (is_twice(i)) return {};
    }
    std::vector<Expert> slots;
    for (const auto& [large, small] : pairs) {
      slots.push_back(pool_.experts[large.second]);
      slots.push_back(pool_.experts[small.second]);
    }
    return slots;
  }

 private:
  double share(std::uint32_t expert, std::int32_t count) const {
    return pool_.loads[expert] / count;
  }

  // Sets next_: replicas_ after one replica of `from` became one of `to`. Merges sorted lists.
  void move(std::uint32_t from, std::uint32_t to) {
    const Replica less{share(from, counts_[from] - 1), from};
    const Replica more{share(to, counts_[to] + 1), to};
    std::int32_t less_left = counts_[from] - 1;
    std::int32_t more_left = counts_[to] + 1;
    next_.clear();
    const auto put_up_to = [&](const Replica& end) {
      for (; more_left > 0 && more < end; --more_left)
        next_.push_back(more);
      for (; less_left > 0 && less < end; --less_left)
        next_.push_back(less);
    };
    for (const Replica& replica : replicas_) {
      if (replica.second == from || replica.second == to) continue;
      if (less_left + more_left > 0) put_up_to(replica);
      next_.push_back(replica);
    }
    const bool more_first = more < less;
    next_.insert(next_.end(), static_cast<std::size_t>(more_first ? more_left : less_left),
                 more_first ? more : less);
    next_.insert(next_.end(), static_cast<std::size_t>(more_first ? less_left : more_left),
                 more_first ? less : more);
    // Both lists may lie between the same two replicas.
    if (next_.size() > 1 && !std::is_sorted(next_.begin(), next_.end()))
      std::sort(next_.begin(), next_.end());
  }

  // Sum over pairs of (time / mean)^64: the busiest pairs decide.
  double cost_of(const std::vector<Replica>& replicas, double& busiest) const {
    double cost = 0;
    busiest = 0;
    const std::size_t last = replicas.size() - 1;
    for (std::size_t i = 0; i <= last / 2; ++i) {
      const double time = replicas[i].first + replicas[last - i].first;
      busiest = std::max(busiest, time);
      double power = time / mean_;
      for (int square = 0; square < 6; ++square)
        power *= power;
      cost += power;
    }
    return cost;
  }

  const Pool& pool_;
  std::vector<std::int32_t> counts_;
  double mean_;
  std::vector<Replica> replicas_;  // ascending
  std::vector<Replica> next_;
  std::vector<Replica> best_;
  double cost_ = 0;
  double busiest_ = 0;
  double best_busiest_ = 0;
};

}  // namespace

std::vector<Expert> search_pairs(const Pool& pool, std::vector<std::int32_t> counts,
                                 std::size_t moves, std::uint64_t key, StopCheck& stop) {
  PairSearch search(pool, std::move(counts));
  search.search(moves, key, stop);
  return search.slots();
}

}  // namespace shardwright::experts
