// The main path of every search: propose, evaluate concurrently, rank in order, feed back.
#pragma once

#include <concepts>
#include <cstddef>

#include "search/budget.h"
#include "search/executor.h"

namespace shardwright {

// What a planning domain brings to the exploration.
template <class D>
concept ExplorationDomain = requires(D& domain, const Budget& budget, Budget& spent, unsigned worker,
                                     std::size_t index) {
  // Prepares the next batch of candidates on the calling thread; its size, 0 = the search is over.
  { domain.propose(budget) } -> std::convertible_to<std::size_t>;
  // Smallest piece of a batch worth a worker's start-up.
  { domain.grain() } -> std::convertible_to<std::size_t>;
  // Evaluates the candidates [begin, end) of the batch. Concurrent for disjoint ranges and distinct
  // workers; nothing of it is visible to proposers before synchronize.
  domain.evaluate(worker, index, index, budget);
  // Takes in the results on the calling thread, in proposal order, whatever the order in which they
  // were evaluated; false = stop exploring.
  { domain.synchronize(spent) } -> std::convertible_to<bool>;
};

// Observes nothing.
struct NoObserver {
  template <class Domain>
  void operator()(const Domain&) const {}
};

// Explores until the domain has nothing left to propose or the budget ends. The same domain, with
// the same work limit, makes the same decisions for any executor. `observe(domain)` is called on the
// calling thread after every batch.
template <ExplorationDomain Domain, class Observe = NoObserver>
StopReason explore(Domain& domain, Executor& executor, Budget& budget, const Observe& observe = {}) {
  for (;;) {
    if (const auto reason = budget.interrupted()) return *reason;
    if (!budget.work_left()) return StopReason::kWorkLimit;

    const std::size_t candidates = domain.propose(budget);
    if (candidates == 0) return StopReason::kFinished;

    executor.parallel_for(candidates, domain.grain(),
                          [&](unsigned worker, std::size_t begin, std::size_t end) {
                            domain.evaluate(worker, begin, end, budget);
                          });

    const bool go_on = domain.synchronize(budget);
    observe(domain);
    if (!go_on) return StopReason::kFinished;
  }
}

}  // namespace shardwright
