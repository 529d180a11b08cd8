// The loop of compat mode, best mode and the operators' local search: propose candidates, evaluate
// them concurrently, take in the results.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <vector>

#include "search/budget.h"
#include "search/executor.h"

namespace shardwright {

// What a planning domain provides for explore(). A batch of candidates goes through three stages.
// propose and synchronize run on the thread that called explore(), one call at a time, in the order
// of the batches. evaluate runs on the workers. A batch is in flight from propose to synchronize,
// in slot n % batches_in_flight() for batch n.
template <class D>
concept ExplorationDomain = requires(D& domain, const D& fixed, const Budget& budget, Budget& spent,
                                     std::size_t slot, unsigned worker, std::size_t index) {
  // Largest number of batches in flight, at least 1. With 1, a batch is proposed after the previous
  // batch was taken in. Constant during an exploration.
  { fixed.batches_in_flight() } -> std::convertible_to<std::size_t>;
  // Fills the slot with the next batch and returns its number of candidates. Returns 0 if nothing
  // can be proposed before another batch is taken in; if no batch is in flight, the exploration
  // ends. Must not change what evaluate reads of other slots.
  { domain.propose(slot, budget) } -> std::convertible_to<std::size_t>;
  // The number of candidates in one call of evaluate.
  { fixed.range_sizes() } -> std::convertible_to<RangeSizes>;
  // Evaluates the candidates [begin, end) of the slot's batch. Runs concurrently for disjoint
  // ranges and distinct workers, and concurrently with propose and synchronize of other slots. May
  // call only interrupted() of the budget unless batches_in_flight() is 1.
  domain.evaluate(slot, worker, index, index, budget);
  // Takes in the results of the slot's batch, in the order of its candidates, and spends the work
  // done. Returns false to stop exploring; later batches are dropped.
  { domain.synchronize(slot, spent) } -> std::convertible_to<bool>;
};

// The default observer, which does nothing.
struct NoObserver {
  template <class Domain>
  void operator()(const Domain&) const {}
};

// The batches of one exploration that are in flight, oldest first. The destructor drops them.
// Thread safety: belongs to the exploring thread.
template <ExplorationDomain Domain>
class BatchPipeline {
 public:
  BatchPipeline(Domain& domain, Executor& executor, Budget& budget)
      : domain_(&domain), executor_(&executor), budget_(&budget) {
    batches_.resize(domain.batches_in_flight());
    for (std::size_t slot = 0; slot < batches_.size(); ++slot)
      batches_[slot].evaluate = {&domain, &budget, slot};
  }

  bool empty() const { return oldest_ == next_; }

  // Proposes batches and begins to evaluate them, until all slots are taken. If it stops earlier,
  // returns the reason.
  std::optional<StopReason> run_ahead() {
    while (next_ - oldest_ < batches_.size()) {
      if (const auto reason = budget_->interrupted()) return reason;
      if (!budget_->work_left()) return StopReason::kWorkLimit;
      const std::size_t slot = next_ % batches_.size();
      const std::size_t candidates = domain_->propose(slot, *budget_);
      if (candidates == 0) return StopReason::kFinished;
      ++next_;
      Batch& batch = batches_[slot];
      batch.loop = executor_->begin_for(candidates, domain_->range_sizes(), batch.evaluate);
    }
    return std::nullopt;
  }

  // Waits for the oldest batch and takes it in. Returns false to stop exploring. Precondition: not
  // empty.
  bool take_in() {
    const std::size_t slot = oldest_++ % batches_.size();
    batches_[slot].loop.wait();
    return domain_->synchronize(slot, *budget_);
  }

 private:
  struct Evaluate {
    Domain* domain = nullptr;
    const Budget* budget = nullptr;
    std::size_t slot = 0;
    void operator()(unsigned worker, std::size_t begin, std::size_t end) const {
      domain->evaluate(slot, worker, begin, end, *budget);
    }
  };
  struct Batch {
    Evaluate evaluate;
    Executor::Loop loop;
  };

  Domain* domain_;
  Executor* executor_;
  Budget* budget_;
  std::vector<Batch> batches_;  // by slot
  std::size_t oldest_ = 0;
  std::size_t next_ = 0;
};

// Explores until the domain has nothing left to propose or the budget ends. While workers evaluate
// a batch, the calling thread takes in earlier batches and proposes later batches; then it helps to
// evaluate. propose and synchronize are called in the same order for any executor, so decisions do
// not depend on it; only a deadline or a stop request depends on time. Calls observe(domain) on the
// calling thread after every batch. If a stop is noticed while a batch is taken in, later batches
// are dropped, even if they were evaluated. An exception of any stage ends the exploration, and
// reaches the caller after all evaluations that had begun have ended.
template <ExplorationDomain Domain, class Observe = NoObserver>
StopReason explore(Domain& domain, Executor& executor, Budget& budget,
                   const Observe& observe = {}) {
  BatchPipeline<Domain> pipeline(domain, executor, budget);
  for (;;) {
    const std::optional<StopReason> stopped = pipeline.run_ahead();
    if (pipeline.empty()) return *stopped;
    const bool go_on = pipeline.take_in();
    observe(domain);
    if (!go_on) return StopReason::kFinished;
    if (const auto reason = budget.interrupted()) return *reason;
  }
}

}  // namespace shardwright
