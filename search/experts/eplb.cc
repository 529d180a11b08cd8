#include "search/experts/eplb.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

namespace shardwright::experts {
namespace {

// A pack of items, ordered by load, then number. Loads are not negative, so the bits of a float
// order as the float does.
std::uint64_t pack_key(float load, std::uint32_t pack) {
  return std::uint64_t{std::bit_cast<std::uint32_t>(load)} << 32 | pack;
}
float load_of(std::uint64_t key) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(key >> 32));
}
std::uint32_t number_of(std::uint64_t key) { return static_cast<std::uint32_t>(key); }

// Replaces the smallest key of a heap (smallest key first).
void replace_top(std::vector<std::uint64_t>& heap, std::uint64_t key) {
  std::size_t hole = 0;
  for (std::size_t child = 1; child < heap.size(); child = 2 * hole + 1) {
    if (child + 1 < heap.size() && heap[child + 1] < heap[child]) ++child;
    if (key <= heap[child]) break;
    heap[hole] = heap[child];
    hole = child;
  }
  heap[hole] = key;
}

// Removes the smallest key.
void pop_top(std::vector<std::uint64_t>& heap) {
  const std::uint64_t last = heap.back();
  heap.pop_back();
  if (!heap.empty()) replace_top(heap, last);
}

// The scratch of one worker. Thread safety: one thread at a time.
class LayerEplb {
 public:
  explicit LayerEplb(const ExpertProblem& problem)
      : nodes_(problem.num_groups() % problem.num_nodes() == 0 ? problem.num_nodes() : 1),
        groups_(problem.num_groups() % problem.num_nodes() == 0 ? problem.num_groups() : 1),
        gpus_(problem.num_gpus() / nodes_),
        slots_(problem.num_slots() / nodes_),
        group_size_(problem.num_experts() / groups_) {}

  void place(const std::vector<float>& loads, Expert* out) {
    group_loads_.assign(groups_, 0);
    for (std::size_t group = 0; group < groups_; ++group) {
      const float* first = loads.data() + group * group_size_;
      group_loads_[group] = static_cast<float>(std::accumulate(first, first + group_size_, 0.0));
    }
    pack(group_loads_, nodes_);
    const std::vector<std::uint32_t> groups = items_;
    const std::size_t groups_per_node = groups_ / nodes_;
    for (std::size_t node = 0; node < nodes_; ++node) {
      experts_.clear();
      for (std::size_t i = 0; i < groups_per_node; ++i) {
        for (std::size_t j = 0; j < group_size_; ++j) {
          const std::size_t group = groups[node * groups_per_node + i];
          experts_.push_back(static_cast<Expert>(group * group_size_ + j));
        }
      }
      place_node(loads, out + node * slots_);
    }
  }

 private:
  // Gives slot after slot to the expert with the largest load per replica, then packs the replicas.
  void place_node(const std::vector<float>& loads, Expert* out) {
    const std::size_t experts = experts_.size();
    counts_.assign(experts, 1);
    replicas_.resize(experts);
    std::iota(replicas_.begin(), replicas_.end(), 0U);
    heap_.clear();
    // The complement of a load orders by falling load.
    for (std::size_t i = 0; i < experts; ++i)
      heap_.push_back(falling_key(loads[static_cast<std::size_t>(experts_[i])], i));
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
    while (replicas_.size() < slots_) {
      const std::uint32_t expert = number_of(heap_.front());
      replicas_.push_back(expert);
      ++counts_[expert];
      replace_top(heap_, falling_key(share(loads, expert), expert));
    }
    shares_.clear();
    for (const std::uint32_t expert : replicas_)
      shares_.push_back(share(loads, expert));
    pack(shares_, gpus_);
    for (std::size_t i = 0; i < slots_; ++i)
      out[i] = experts_[replicas_[items_[i]]];
  }

  static std::uint64_t falling_key(float load, std::size_t number) {
    return std::uint64_t{~std::bit_cast<std::uint32_t>(load)} << 32 | number;
  }
  float share(const std::vector<float>& loads, std::uint32_t expert) const {
    return loads[static_cast<std::size_t>(experts_[expert])] / static_cast<float>(counts_[expert]);
  }

  // Puts items, the heaviest first, into the lightest pack that has room. Sets items_: the items of
  // pack after pack, in the order in which they came.
  void pack(const std::vector<float>& loads, std::size_t packs) {
    const std::size_t room = loads.size() / packs;
    items_.resize(loads.size());
    if (room == 1) {
      std::iota(items_.begin(), items_.end(), 0U);
      return;
    }
    order_.clear();
    for (std::size_t i = 0; i < loads.size(); ++i)
      order_.push_back(falling_key(loads[i], i));
    std::sort(order_.begin(), order_.end());
    filled_.assign(packs, 0);
    heap_.clear();
    for (std::size_t pack = 0; pack < packs; ++pack)
      heap_.push_back(pack_key(0, static_cast<std::uint32_t>(pack)));
    for (const std::uint64_t key : order_) {
      const std::uint32_t item = number_of(key);
      const std::uint64_t top = heap_.front();
      const std::uint32_t pack = number_of(top);
      items_[pack * room + filled_[pack]++] = item;
      if (filled_[pack] == room) {
        pop_top(heap_);
      } else {
        replace_top(heap_, pack_key(load_of(top) + loads[item], pack));
      }
    }
  }

  std::size_t nodes_;
  std::size_t groups_;
  std::size_t gpus_;   // of a node
  std::size_t slots_;  // of a node
  std::size_t group_size_;
  std::vector<float> group_loads_;
  std::vector<Expert> experts_;  // of the node
  std::vector<int> counts_;      // replicas of experts_
  std::vector<std::uint32_t> replicas_;
  std::vector<float> shares_;  // of replicas_
  std::vector<std::uint64_t> heap_;
  std::vector<std::uint64_t> order_;
  std::vector<std::size_t> filled_;
  std::vector<std::uint32_t> items_;
};

}  // namespace

Placement place_eplb(const ExpertProblem& problem, Executor& executor) {
  const ExpertProblem mean = problem.mean_window();
  Placement placement(problem.num_layers() * problem.num_slots());
  executor.parallel_for(
      problem.num_layers(), RangeSizes(4), [&](unsigned, std::size_t begin, std::size_t end) {
        LayerEplb eplb(problem);
        std::vector<float> loads(problem.num_experts());
        for (std::size_t layer = begin; layer < end; ++layer) {
          std::transform(mean.loads(0, layer), mean.loads(0, layer) + loads.size(), loads.begin(),
                         [](double load) { return static_cast<float>(load + 0.0); });
          eplb.place(loads, placement.data() + layer * problem.num_slots());
        }
      });
  return placement;
}

}  // namespace shardwright::experts
