// The main path on a toy domain: order of results, ends, and independence of the executor.
#include "search/explore.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <stop_token>
#include <vector>

#include "tests/support/shuffling_executor.h"

namespace shardwright::explore_test {

namespace {

using namespace shardwright;
using shardwright::test_support::ShufflingExecutor;

// Proposes batches of consecutive numbers; a number costs its digit sum and its result is its square.
class Squares {
 public:
  Squares(std::size_t batches, std::size_t batch_size)
      : batches_(batches), batch_size_(batch_size) {}

  std::size_t propose(const Budget& budget) {
    if (done_batches_ == batches_) return 0;
    first_ = done_batches_++ * batch_size_;
    std::uint64_t planned = 0;
    std::size_t size = 0;
    while (size < batch_size_ && budget.work_left(planned)) planned += cost(first_ + size++);
    results_.assign(size, 0);
    return size;
  }
  std::size_t grain() const { return 4; }
  void evaluate(unsigned worker, std::size_t begin, std::size_t end, const Budget&) {
    if (worker >= 16 || busy_[worker].exchange(true)) shared_worker_ = true;
    for (std::size_t i = begin; i < end; ++i) results_[i] += (first_ + i) * (first_ + i);
    busy_[worker] = false;
  }
  bool synchronize(Budget& budget) {
    for (std::size_t i = 0; i < results_.size(); ++i) {
      budget.spend(cost(first_ + i));
      seen_.push_back(results_[i]);
    }
    return seen_.size() < stop_after_;
  }

  void stop_after(std::size_t count) { stop_after_ = count; }
  const std::vector<std::size_t>& seen() const { return seen_; }
  bool shared_worker() const { return shared_worker_; }

 private:
  static std::uint64_t cost(std::size_t number) { return number % 10; }

  std::size_t batches_, batch_size_;
  std::size_t done_batches_ = 0;
  std::size_t first_ = 0;
  std::size_t stop_after_ = ~std::size_t{0};
  std::vector<std::size_t> results_;
  std::vector<std::size_t> seen_;
  std::atomic<bool> busy_[16] = {};
  std::atomic<bool> shared_worker_ = false;
};

std::vector<std::size_t> squares_below(std::size_t count) {
  std::vector<std::size_t> squares;
  for (std::size_t i = 0; i < count; ++i) squares.push_back(i * i);
  return squares;
}

}  // namespace

TEST_CASE("explore: results arrive in proposal order whatever the executor") {
  for (const unsigned workers : {1U, 2U, 3U, 8U}) {
    ShufflingExecutor executor(workers, workers);
    Squares domain(7, 100);
    Budget budget;
    CHECK(explore(domain, executor, budget) == StopReason::kFinished);
    CHECK(domain.seen() == squares_below(700));
    CHECK_FALSE(domain.shared_worker());
    CHECK(executor.ranges() > 7);
  }
}

TEST_CASE("explore: a work limit cuts at the same point whatever the executor") {
  for (const std::uint64_t limit : {0U, 1U, 17U, 450U, 451U, 1000U, 3150U, 3151U}) {
    INFO("limit ", limit);
    InlineExecutor inline_executor;
    Squares expected(7, 100);
    Budget expected_budget(limit, {});
    const StopReason reason = explore(expected, inline_executor, expected_budget);
    CHECK(reason == (limit <= 3150 ? StopReason::kWorkLimit : StopReason::kFinished));
    for (const unsigned workers : {2U, 5U}) {
      ShufflingExecutor executor(workers, limit);
      Squares domain(7, 100);
      Budget budget(limit, {});
      CHECK(explore(domain, executor, budget) == reason);
      CHECK(domain.seen() == expected.seen());
      CHECK(budget.work_done() == expected_budget.work_done());
    }
  }
}

TEST_CASE("explore: a domain that has seen enough ends the search") {
  InlineExecutor executor;
  Squares domain(7, 100);
  domain.stop_after(150);
  Budget budget;
  CHECK(explore(domain, executor, budget) == StopReason::kFinished);
  CHECK(domain.seen() == squares_below(200));
}

TEST_CASE("explore: a deadline or a stop request ends the search before the next batch") {
  InlineExecutor executor;
  Squares late(7, 100);
  Budget past({}, 0.0);
  CHECK(explore(late, executor, past) == StopReason::kTimeLimit);
  CHECK(late.seen().empty());

  std::stop_source source;
  source.request_stop();
  Squares cancelled(7, 100);
  Budget stopped({}, {}, source.get_token());
  CHECK(explore(cancelled, executor, stopped) == StopReason::kCancelled);
  CHECK(cancelled.seen().empty());
}

TEST_CASE("executor: ranges are disjoint, cover the loop and are no shorter than the grain") {
  for (const std::size_t count : {0U, 1U, 3U, 4U, 5U, 63U, 64U, 1000U}) {
    for (const std::size_t grain : {0U, 1U, 4U, 50U}) {
      ShufflingExecutor shuffling(3, count);
      InlineExecutor in_line;
      for (Executor* executor : {static_cast<Executor*>(&shuffling), static_cast<Executor*>(&in_line)}) {
        std::vector<std::atomic<int>> visits(count);
        std::atomic<bool> too_short = false;
        executor->parallel_for(count, grain, [&](unsigned, std::size_t begin, std::size_t end) {
          if (end - begin < std::min(grain, count)) too_short = true;
          for (std::size_t i = begin; i < end; ++i) ++visits[i];
        });
        CHECK_FALSE(too_short);
        CHECK(std::all_of(visits.begin(), visits.end(), [](const auto& n) { return n == 1; }));
      }
    }
  }
}

TEST_CASE("executor: an exception of the body reaches the caller") {
  InlineExecutor in_line;
  ShufflingExecutor shuffling(2, 1);
  const auto thrower = [](unsigned, std::size_t, std::size_t) { throw std::runtime_error("body"); };
  CHECK_THROWS_AS(in_line.parallel_for(10, 1, thrower), std::runtime_error);
  CHECK_THROWS_AS(shuffling.parallel_for(10, 1, thrower), std::runtime_error);
}

}  // namespace shardwright::explore_test
