#include "search/experts/pool_search.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "core/check.h"

namespace shardwright::experts {
namespace {

// Of changes with equal times, the one that leaves its GPUs less busy is better: it helps if
// several GPUs are as busy as the busiest. Only with one window and free moves does this end: every
// change then leaves fewer GPUs as busy as the busiest was.
constexpr double kLocalWeight = 1e-3;
constexpr std::size_t kKickSwaps = 3;
constexpr double kLeastGain = 1e-9;  // relative; smaller gains are rounding

}  // namespace

PoolSearch::PoolSearch(SearchPool search_pool)
    : pool_(std::move(search_pool)),
      windows_(pool_.num_windows),
      gpus_(pool_.pool.num_gpus),
      per_gpu_(pool_.pool.slots_per_gpu) {
  for (const double speed : pool_.speeds)
    slowness_.push_back(1 / speed);
  const std::size_t experts = pool_.pool.experts.size();
  const std::size_t slots = pool_.pool.num_slots();
  SHARDWRIGHT_CHECK(slots >= experts && pool_.loads.size() == experts * windows_);
  slots_.assign(slots, 0);
  first_.resize(experts);
  next_.resize(slots);
  previous_.resize(slots);
  shares_.resize(experts * windows_);
  loads_.resize(gpus_ * windows_);
  changed_.resize(gpus_ * windows_);
  is_touched_.assign(gpus_, 0);
  top_.resize(windows_ * kTop);
  least_gpu_.resize(windows_);
}

// Computes the state from slots_.
void PoolSearch::recount() {
  const std::size_t experts = first_.size();
  counts_.assign(experts, 0);
  first_.assign(experts, kNone);
  on_.assign(experts * gpus_, 0);
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const std::uint32_t expert = slots_[slot];
    ++counts_[expert];
    attach(slot, expert);
    ++on_[expert * gpus_ + gpu_of(slot)];
  }
  for (std::uint32_t expert = 0; expert < experts; ++expert)
    set_share(expert);
  std::fill(loads_.begin(), loads_.end(), 0.0);
  moved_ = 0;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const std::size_t gpu = gpu_of(slot);
    for (std::size_t window = 0; window < windows_; ++window)
      load(gpu)[window] += share(slots_[slot])[window];
    if (!was_on_.empty() && !was_on(gpu, slots_[slot])) ++moved_;
  }
  rank_gpus();
}

void PoolSearch::set_share(std::uint32_t expert) {
  const double part = 1.0 / counts_[expert];
  for (std::size_t window = 0; window < windows_; ++window)
    shares_[expert * windows_ + window] = pool_.loads[expert * windows_ + window] * part;
}

// Adds a slot to the ring of an expert.
void PoolSearch::attach(std::size_t at, std::uint32_t expert) {
  const auto slot = static_cast<std::uint32_t>(at);
  slots_[slot] = expert;
  std::uint32_t& first = first_[expert];
  if (first == kNone) {
    first = next_[slot] = previous_[slot] = slot;
    return;
  }
  const std::uint32_t last = previous_[first];
  next_[slot] = first;
  previous_[slot] = last;
  next_[last] = previous_[first] = slot;
}

// Removes a slot from the ring of its expert.
void PoolSearch::detach(std::size_t slot) {
  std::uint32_t& first = first_[slots_[slot]];
  if (next_[slot] == slot) {
    first = kNone;
    return;
  }
  next_[previous_[slot]] = next_[slot];
  previous_[next_[slot]] = previous_[slot];
  if (first == slot) first = next_[slot];
}

// Sets top_ and time_.
void PoolSearch::rank_gpus() {
  time_ = 0;
  for (std::size_t window = 0; window < windows_; ++window) {
    Busiest* top = top_.data() + window * kTop;
    std::fill(top, top + kTop, Busiest{kNone, -1});
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu) {
      Busiest next{static_cast<std::uint32_t>(gpu), load(gpu)[window] * slowness_[gpu]};
      if (next.time < least) least = next.time, least_gpu_[window] = gpu;
      if (next.time <= top[kTop - 1].time) continue;
      for (std::size_t i = 0; i < kTop; ++i) {
        if (next.time > top[i].time) std::swap(next, top[i]);
      }
    }
    time_ = over_windows(time_, top[0].time);
  }
}

double PoolSearch::local_weight() const {
  return windows_ == 1 && move_cost_.per_move == 0 ? kLocalWeight : 0;
}

// The busiest GPU other than two.
double PoolSearch::rest(std::size_t window, std::size_t gpu_a, std::size_t gpu_b) const {
  const Busiest* top = top_.data() + window * kTop;
  while (top->gpu == gpu_a || top->gpu == gpu_b)
    ++top;
  return std::max(0.0, top->time);
}

void PoolSearch::place_greedily() {
  const std::vector<double>& loads = pool_.pool.loads;
  const std::size_t experts = loads.size();
  const auto most = static_cast<std::int32_t>(pool_.pool.forbids_repeats ? gpus_ : slots_.size());
  counts_.assign(experts, 1);
  // Largest share first; of equal shares the first expert.
  std::vector<std::pair<double, std::uint32_t>> heap;
  for (std::uint32_t expert = 0; expert < experts; ++expert)
    heap.emplace_back(loads[expert], ~expert);
  std::make_heap(heap.begin(), heap.end());
  for (std::size_t slot = experts; slot < slots_.size(); ++slot) {
    for (;;) {
      std::pop_heap(heap.begin(), heap.end());
      const std::uint32_t expert = ~heap.back().second;
      if (counts_[expert] == most) {
        heap.pop_back();
        continue;
      }
      heap.back().first = loads[expert] / ++counts_[expert];
      std::push_heap(heap.begin(), heap.end());
      break;
    }
  }
  std::vector<std::pair<double, std::uint32_t>> replicas;
  for (std::uint32_t expert = 0; expert < experts; ++expert)
    replicas.insert(replicas.end(), static_cast<std::size_t>(counts_[expert]),
                    {-loads[expert] / counts_[expert], expert});
  std::sort(replicas.begin(), replicas.end());
  using Gpu = std::pair<double, std::uint32_t>;
  std::vector<Gpu> gpus;  // that have room: time, number; a heap, the least first
  std::vector<Gpu> aside;
  std::vector<std::size_t> filled(gpus_, 0);
  for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu)
    gpus.emplace_back(0, gpu);
  on_.assign(experts * gpus_, 0);
  for (const auto& [share, expert] : replicas) {
    aside.clear();
    while (!gpus.empty() && !may_take(gpus.front().second, expert)) {
      std::pop_heap(gpus.begin(), gpus.end(), std::greater<>());
      aside.push_back(gpus.back());
      gpus.pop_back();
    }
    if (gpus.empty()) return deal();
    std::pop_heap(gpus.begin(), gpus.end(), std::greater<>());
    Gpu& gpu = gpus.back();
    slots_[gpu.second * per_gpu_ + filled[gpu.second]++] = expert;
    ++on_[expert * gpus_ + gpu.second];
    gpu.first -= share * slowness_[gpu.second];
    if (filled[gpu.second] == per_gpu_) {
      gpus.pop_back();
    } else {
      std::push_heap(gpus.begin(), gpus.end(), std::greater<>());
    }
    for (const Gpu& other : aside) {
      gpus.push_back(other);
      std::push_heap(gpus.begin(), gpus.end(), std::greater<>());
    }
  }
  recount();
}

// Deals the replicas like cards. No expert has more replicas than there are GPUs, so none comes to
// a GPU twice.
void PoolSearch::deal() {
  std::size_t next = 0;
  for (std::uint32_t expert = 0; expert < first_.size(); ++expert) {
    for (std::int32_t i = 0; i < counts_[expert]; ++i, ++next)
      slots_[next % gpus_ * per_gpu_ + next / gpus_] = expert;
  }
  recount();
}

// Returns the place of an expert in the pool by its number.
std::vector<std::uint32_t> PoolSearch::places() const {
  std::vector<std::uint32_t> places;
  for (std::uint32_t i = 0; i < first_.size(); ++i) {
    const auto expert = static_cast<std::size_t>(pool_.pool.experts[i]);
    if (places.size() <= expert) places.resize(expert + 1, kNone);
    places[expert] = i;
  }
  return places;
}

void PoolSearch::place(const Expert* slots) {
  const std::vector<std::uint32_t> places = this->places();
  for (std::size_t slot = 0; slot < slots_.size(); ++slot)
    slots_[slot] = places[static_cast<std::size_t>(slots[slot])];
  recount();
}

void PoolSearch::charge_moves(MoveCost cost) {
  move_cost_ = cost;
  was_on_.assign(first_.size() * gpus_, 0);
  const std::vector<std::uint32_t> places = this->places();
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const auto expert = static_cast<std::size_t>(cost.old[slot]);
    if (expert < places.size() && places[expert] != kNone)
      was_on_[places[expert] * gpus_ + gpu_of(slot)] = 1;
  }
  recount();
}

void PoolSearch::append_slots(std::vector<Expert>& out) const {
  for (const std::uint32_t expert : slots_)
    out.push_back(pool_.pool.experts[expert]);
}

bool PoolSearch::was_on(std::size_t gpu, std::uint32_t expert) const {
  return was_on_[expert * gpus_ + gpu] != 0;
}

// How many more slots are moved if `leaves` leaves a GPU and `comes` comes to it.
std::ptrdiff_t PoolSearch::moves_of(std::size_t gpu, std::uint32_t leaves,
                                    std::uint32_t comes) const {
  if (was_on_.empty()) return 0;
  return (was_on(gpu, comes) ? 0 : 1) - (was_on(gpu, leaves) ? 0 : 1);
}

double PoolSearch::swap_score(std::size_t window, std::size_t slot_a, std::size_t slot_b) const {
  const std::size_t gpu_a = gpu_of(slot_a);
  const std::size_t gpu_b = gpu_of(slot_b);
  const double* share_a = share(slots_[slot_a]);
  const double* share_b = share(slots_[slot_b]);
  double time = 0;
  double here = 0;
  for (std::size_t w = 0; w < windows_; ++w) {
    const double change = share_a[w] - share_b[w];
    const double local = std::max((load(gpu_a)[w] - change) * slowness_[gpu_a],
                                  (load(gpu_b)[w] + change) * slowness_[gpu_b]);
    if (w == window) here = local;
    time = over_windows(time, std::max(local, rest(w, gpu_a, gpu_b)));
  }
  const std::ptrdiff_t moves = moves_of(gpu_a, slots_[slot_a], slots_[slot_b]) +
                               moves_of(gpu_b, slots_[slot_b], slots_[slot_a]);
  return time + local_weight() * here + move_cost_.per_move * static_cast<double>(moves);
}

void PoolSearch::try_swaps_with(std::size_t window, std::size_t gpu, std::size_t other,
                                Change& best) {
  const double load_a = load(gpu)[window];
  const double load_b = load(other)[window];
  const double most = load_a * slowness_[gpu] / slowness_[other] - load_b;
  const bool is_simple = local_weight() > 0;
  for (std::size_t a = gpu * per_gpu_; a < (gpu + 1) * per_gpu_; ++a) {
    const double share_a = share(slots_[a])[window];
    if (!may_take(other, slots_[a])) continue;
    for (std::size_t b = other * per_gpu_; b < (other + 1) * per_gpu_; ++b) {
      const double change = share_a - share(slots_[b])[window];
      if (change <= 0 || change >= most) continue;
      const double local =
          std::max((load_a - change) * slowness_[gpu], (load_b + change) * slowness_[other]);
      if ((is_simple && local >= best.local) || !may_take(gpu, slots_[b])) continue;
      const double score = swap_score(window, a, b);
      if (score < best.score) best = {score, a, b, kNone, local};
    }
  }
}

void PoolSearch::try_swaps(std::size_t window, std::size_t gpu, Change& best) {
  // A good swap with the GPU that has the least time excludes most others.
  const std::size_t least = least_gpu_[window];
  if (least != gpu) try_swaps_with(window, gpu, least, best);
  const bool is_simple = local_weight() > 0;
  for (std::size_t other = 0; other < gpus_; ++other) {
    // The time of both GPUs if they were equally busy.
    const double even =
        (load(gpu)[window] + load(other)[window]) / (1 / slowness_[gpu] + 1 / slowness_[other]);
    if (other == gpu || other == least || (is_simple && even >= best.local)) continue;
    try_swaps_with(window, gpu, other, best);
  }
  work_ += gpus_ * per_gpu_;
}

void PoolSearch::touch(std::size_t gpu) {
  if (is_touched_[gpu] != 0) return;
  is_touched_[gpu] = 1;
  touched_.push_back(static_cast<std::uint32_t>(gpu));
  std::copy(load(gpu), load(gpu) + windows_, changed_.data() + gpu * windows_);
}

// Changes the share of all replicas as if the expert had `change` more replicas.
void PoolSearch::touch_replicas(std::uint32_t expert, std::int32_t change) {
  const double factor = static_cast<double>(counts_[expert]) / (counts_[expert] + change) - 1;
  std::uint32_t slot = first_[expert];
  for (std::int32_t i = 0; i < counts_[expert]; ++i, slot = next_[slot]) {
    const std::size_t gpu = gpu_of(slot);
    touch(gpu);
    for (std::size_t w = 0; w < windows_; ++w)
      changed_[gpu * windows_ + w] += factor * share(expert)[w];
  }
}

double PoolSearch::replica_score(std::size_t window, std::size_t slot, std::uint32_t expert) {
  const std::uint32_t leaves = slots_[slot];
  const std::size_t gpu = gpu_of(slot);
  touched_.clear();
  touch(gpu);
  touch_replicas(leaves, -1);
  touch_replicas(expert, 1);
  for (std::size_t w = 0; w < windows_; ++w) {
    changed_[gpu * windows_ + w] += share(expert)[w] * counts_[expert] / (counts_[expert] + 1) -
                                    share(leaves)[w] * counts_[leaves] / (counts_[leaves] - 1);
  }
  double time = 0;
  double here = 0;
  for (std::size_t w = 0; w < windows_; ++w) {
    double local = 0;
    for (const std::uint32_t touched : touched_)
      local = std::max(local, changed_[touched * windows_ + w] * slowness_[touched]);
    if (w == window) here = local;
    const Busiest* top = top_.data() + w * kTop;
    const Busiest* last = top + kTop - 1;
    while (top != last && top->time >= 0 && is_touched_[top->gpu] != 0)
      ++top;
    time = over_windows(time, std::max(local, top->time));
  }
  for (const std::uint32_t touched : touched_)
    is_touched_[touched] = 0;
  work_ += touched_.size();
  return time + local_weight() * here +
         move_cost_.per_move * static_cast<double>(moves_of(gpu, leaves, expert));
}

// `gpu`: the busiest one, which the change must relieve.
void PoolSearch::try_replica(std::size_t window, std::size_t gpu, std::size_t slot,
                             std::uint32_t expert, Change& best) {
  const std::uint32_t leaves = slots_[slot];
  const std::size_t at = gpu_of(slot);
  if (expert == leaves || counts_[leaves] == 1 || !may_take(at, expert)) return;
  const double comes = share(expert)[window] * counts_[expert] / (counts_[expert] + 1);
  const double change = comes - share(leaves)[window];
  if (at == gpu ? change >= 0
                : (load(at)[window] + change) * slowness_[at] >= load(gpu)[window] * slowness_[gpu])
    return;
  const double score = replica_score(window, slot, expert);
  if (score < best.score) best = {score, slot, 0, expert, best.local};
}

// Returns true if the expert of a slot has other replicas, whose GPUs can take on its load and stay
// below `gpu`, the busiest one.
bool PoolSearch::may_leave(std::size_t window, std::size_t gpu, std::size_t slot) const {
  const std::uint32_t expert = slots_[slot];
  if (counts_[expert] == 1) return false;
  const double time = load(gpu)[window] * slowness_[gpu];
  const double more = share(expert)[window] / (counts_[expert] - 1);
  for (std::size_t other = next_[slot]; other != slot; other = next_[other]) {
    const std::size_t at = gpu_of(other);
    if (at != gpu && (load(at)[window] + more) * slowness_[at] >= time) return false;
  }
  return true;
}

void PoolSearch::try_replicas(std::size_t window, std::size_t gpu, Change& best) {
  const auto experts = static_cast<std::uint32_t>(first_.size());
  for (std::size_t slot = gpu * per_gpu_; slot < (gpu + 1) * per_gpu_; ++slot) {
    if (!may_leave(window, gpu, slot)) continue;
    for (std::uint32_t expert = 0; expert < experts; ++expert)
      try_replica(window, gpu, slot, expert, best);
  }
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (gpu_of(slot) == gpu || !may_leave(window, gpu, slot)) continue;
    for (std::size_t a = gpu * per_gpu_; a < (gpu + 1) * per_gpu_; ++a)
      try_replica(window, gpu, slot, slots_[a], best);
  }
  work_ += per_gpu_ * slots_.size();
}

// The score that a change must reach.
double PoolSearch::accepted_score(std::size_t window) const {
  return (time_ + local_weight() * top_[window * kTop].time) * (1 - kLeastGain);
}

bool PoolSearch::step() {
  Change best;
  for (std::size_t window = 0; window < windows_; ++window) {
    // Only the worst window can lower the worst time.
    if (pool_.over == Over::kWorst && top_[window * kTop].time < time_) continue;
    best.score = accepted_score(window);
    const std::size_t gpu = top_[window * kTop].gpu;
    try_swaps(window, gpu, best);
    if (best.score == accepted_score(window)) try_replicas(window, gpu, best);
    if (best.score < accepted_score(window)) {
      apply(best);
      return true;
    }
  }
  return false;
}

void PoolSearch::apply(const Change& change) {
  if (change.expert == kNone) {
    swap_slots(change.slot_a, change.slot_b);
  } else {
    change_replica(change.slot_a, change.expert);
  }
  rank_gpus();
}

void PoolSearch::swap_slots(std::size_t slot_a, std::size_t slot_b) {
  const std::size_t gpu_a = gpu_of(slot_a);
  const std::size_t gpu_b = gpu_of(slot_b);
  const std::uint32_t a = slots_[slot_a];
  const std::uint32_t b = slots_[slot_b];
  moved_ = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(moved_) + moves_of(gpu_a, a, b) +
                                    moves_of(gpu_b, b, a));
  for (std::size_t w = 0; w < windows_; ++w) {
    const double change = share(a)[w] - share(b)[w];
    load(gpu_a)[w] -= change;
    load(gpu_b)[w] += change;
  }
  for (const auto& [expert, from, to] :
       {std::tuple(a, gpu_a, gpu_b), std::tuple(b, gpu_b, gpu_a)}) {
    --on_[expert * gpus_ + from];
    ++on_[expert * gpus_ + to];
  }
  detach(slot_a);
  detach(slot_b);
  attach(slot_a, b);
  attach(slot_b, a);
}

void PoolSearch::change_replica(std::size_t slot, std::uint32_t expert) {
  const std::uint32_t leaves = slots_[slot];
  const std::size_t gpu = gpu_of(slot);
  moved_ =
      static_cast<std::size_t>(static_cast<std::ptrdiff_t>(moved_) + moves_of(gpu, leaves, expert));
  add_replicas(leaves, -1);
  add_replicas(expert, -1);
  detach(slot);
  attach(slot, expert);
  --on_[leaves * gpus_ + gpu];
  ++on_[expert * gpus_ + gpu];
  --counts_[leaves];
  ++counts_[expert];
  for (const std::uint32_t changed : {leaves, expert}) {
    set_share(changed);
    add_replicas(changed, 1);
  }
}

// Adds the shares of all replicas to the loads of their GPUs, or subtracts them.
void PoolSearch::add_replicas(std::uint32_t expert, double sign) {
  std::uint32_t slot = first_[expert];
  for (std::int32_t i = 0; i < counts_[expert]; ++i, slot = next_[slot]) {
    for (std::size_t w = 0; w < windows_; ++w)
      load(gpu_of(slot))[w] += sign * share(expert)[w];
  }
}

bool PoolSearch::descend(double target, StopCheck& stop) {
  while (time_ > target) {
    if (stop(work_)) return false;
    if (!step()) break;
  }
  return true;
}

void PoolSearch::kick(RandomGenerator& random) {
  const std::size_t swaps = 1 + random.below(kKickSwaps);
  for (std::size_t i = 0; i < swaps; ++i) {
    const std::size_t busy = random.coin() ? top_[0].gpu : random.below(gpus_);
    const std::size_t a = busy * per_gpu_ + random.below(per_gpu_);
    const std::size_t b = random.below(slots_.size());
    if (gpu_of(a) == gpu_of(b) || !may_take(gpu_of(a), slots_[b]) ||
        !may_take(gpu_of(b), slots_[a]))
      continue;
    swap_slots(a, b);
  }
  const std::size_t slot = random.below(slots_.size());
  const std::uint32_t expert = random.below(first_.size());
  if (random.coin() && expert != slots_[slot] && counts_[slots_[slot]] > 1 &&
      may_take(gpu_of(slot), expert))
    change_replica(slot, expert);
  rank_gpus();
}

void PoolSearch::search(double target, std::size_t kicks, std::uint64_t key, StopCheck& stop) {
  if (!descend(target, stop)) return;
  RandomGenerator random(key);
  std::vector<std::uint32_t> best = slots_;
  double best_score = score();
  for (std::size_t i = 0; i < kicks && time_ > target; ++i) {
    kick(random);
    const bool goes_on = descend(target, stop);
    if (score() < best_score) {
      best_score = score();
      best = slots_;
    } else {
      slots_ = best;
      recount();
    }
    if (!goes_on) break;
  }
}

}  // namespace shardwright::experts
