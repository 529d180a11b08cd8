// explore() on a toy domain: order of results, ends, and independence of the executor.
#include "search/explore.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <stop_token>
#include <vector>

#include "tests/support/overlapping_domain.h"
#include "tests/support/shuffling_executor.h"

namespace shardwright::explore_test {

namespace {

using namespace shardwright;
using shardwright::test_support::Overlapping;
using shardwright::test_support::ShufflingExecutor;

// Proposes batches of consecutive numbers, several of which may be in flight. The result of a
// number is its square, and its work is its last digit.
class Squares {
 public:
  Squares(std::size_t batches, std::size_t batch_size, std::size_t in_flight = 1)
      : batches_(batches), batch_size_(batch_size), slots_(in_flight) {}

  std::size_t batches_in_flight() const { return slots_.size(); }
  std::size_t propose(std::size_t slot, const Budget& budget) {
    if (done_batches_ == batches_) return 0;
    if (waits_ && proposed_ != taken_in_) return 0;
    Batch& batch = slots_[slot];
    batch.first = done_batches_ * batch_size_;
    batch.planned = 0;
    std::size_t size = 0;
    while (size < batch_size_ && budget.work_left(planned_ + batch.planned))
      batch.planned += cost(batch.first + size++);
    if (size == 0) return 0;
    calls_.push_back(static_cast<int>(++done_batches_));
    planned_ += batch.planned;
    most_in_flight_ = std::max(most_in_flight_, ++proposed_ - taken_in_);
    batch.results.assign(size, 0);
    if (throw_in_propose_ == done_batches_) throw std::runtime_error("propose");
    return size;
  }
  RangeSizes range_sizes() const { return 4; }
  void evaluate(std::size_t slot, unsigned worker, std::size_t begin, std::size_t end,
                const Budget& budget) {
    if (budget.interrupted()) return;
    ++evaluating_;
    Batch& batch = slots_[slot];
    if (worker >= 16 || busy_[worker].exchange(true)) shared_worker_ = true;
    for (std::size_t i = begin; i < end; ++i)
      batch.results[i] += (batch.first + i) * (batch.first + i);
    busy_[worker] = false;
    --evaluating_;
    if (throw_in_evaluate_ == batch.first / batch_size_ + 1) throw std::runtime_error("evaluate");
  }
  bool synchronize(std::size_t slot, Budget& budget) {
    const Batch& batch = slots_[slot];
    calls_.push_back(-static_cast<int>(++taken_in_));
    planned_ -= batch.planned;
    if (throw_in_synchronize_ == taken_in_) throw std::runtime_error("synchronize");
    for (std::size_t i = 0; i < batch.results.size(); ++i) {
      budget.spend(cost(batch.first + i));
      seen_.push_back(batch.results[i]);
    }
    return seen_.size() < stop_after_;
  }

  void stop_after(std::size_t count) { stop_after_ = count; }
  void wait_for_feedback() { waits_ = true; }
  void throw_in(std::size_t propose, std::size_t evaluate, std::size_t synchronize) {
    throw_in_propose_ = propose;
    throw_in_evaluate_ = evaluate;
    throw_in_synchronize_ = synchronize;
  }
  const std::vector<std::size_t>& seen() const { return seen_; }
  // n for the n-th propose(), -n for the n-th synchronize().
  const std::vector<int>& calls() const { return calls_; }
  std::size_t most_in_flight() const { return most_in_flight_; }
  bool shared_worker() const { return shared_worker_; }
  int evaluating() const { return evaluating_; }

 private:
  struct Batch {
    std::size_t first = 0;
    std::uint64_t planned = 0;
    std::vector<std::size_t> results;
  };

  static std::uint64_t cost(std::size_t number) { return number % 10; }

  std::size_t batches_, batch_size_;
  std::vector<Batch> slots_;
  std::size_t done_batches_ = 0;
  std::size_t proposed_ = 0;
  std::size_t taken_in_ = 0;
  std::size_t most_in_flight_ = 0;
  std::uint64_t planned_ = 0;
  bool waits_ = false;
  std::size_t throw_in_propose_ = 0;
  std::size_t throw_in_evaluate_ = 0;
  std::size_t throw_in_synchronize_ = 0;
  std::size_t stop_after_ = ~std::size_t{0};
  std::vector<std::size_t> seen_;
  std::vector<int> calls_;
  std::atomic<bool> busy_[16] = {};
  std::atomic<bool> shared_worker_ = false;
  std::atomic<int> evaluating_ = 0;
};

std::vector<std::size_t> squares_below(std::size_t count) {
  std::vector<std::size_t> squares;
  for (std::size_t i = 0; i < count; ++i)
    squares.push_back(i * i);
  return squares;
}

}  // namespace

TEST_CASE("explore: results arrive in proposal order whatever the executor") {
  for (const std::size_t in_flight : {1U, 2U, 4U, 9U}) {
    for (const unsigned workers : {1U, 2U, 4U, 8U}) {
      for (std::uint64_t repetition = 0; repetition < 3; ++repetition) {
        ShufflingExecutor executor(workers, workers + 10 * repetition);
        Squares domain(7, 100, in_flight);
        Budget budget;
        CHECK(explore(domain, executor, budget) == StopReason::kFinished);
        CHECK(domain.seen() == squares_below(700));
        CHECK(domain.most_in_flight() == std::min<std::size_t>(in_flight, 7));
        CHECK_FALSE(domain.shared_worker());
        CHECK(executor.ranges() > 7);
      }
    }
  }
}

TEST_CASE("explore: the serial stages run in the same order whatever the executor") {
  const std::vector<int> expected = {1, 2, 3, -1, 4, -2, 5, -3, 6, -4, 7, -5, -6, -7};
  InlineExecutor in_line;
  ShufflingExecutor shuffling(4, 1);
  for (Executor* executor :
       {static_cast<Executor*>(&in_line), static_cast<Executor*>(&shuffling)}) {
    Squares domain(7, 100, 3);
    Budget budget;
    explore(domain, *executor, budget);
    CHECK(domain.calls() == expected);
  }
}

TEST_CASE("explore: a domain that waits for feedback has one batch in flight") {
  ShufflingExecutor executor(4, 1);
  Squares domain(7, 100, 4);
  domain.wait_for_feedback();
  Budget budget;
  CHECK(explore(domain, executor, budget) == StopReason::kFinished);
  CHECK(domain.most_in_flight() == 1);
  CHECK(domain.seen() == squares_below(700));
}

TEST_CASE("explore: a work limit ends the search at the same point whatever the executor") {
  for (const std::uint64_t limit : {0U, 1U, 17U, 450U, 451U, 1000U, 3150U, 3151U}) {
    INFO("limit ", limit);
    InlineExecutor inline_executor;
    Squares expected(7, 100);
    Budget expected_budget(limit, {});
    const StopReason reason = explore(expected, inline_executor, expected_budget);
    CHECK(reason == (limit <= 3150 ? StopReason::kWorkLimit : StopReason::kFinished));
    for (const unsigned workers : {2U, 5U}) {
      ShufflingExecutor executor(workers, limit);
      Squares domain(7, 100, workers);
      Budget budget(limit, {});
      CHECK(explore(domain, executor, budget) == reason);
      CHECK(domain.seen() == expected.seen());
    }
  }
}

TEST_CASE("explore: a domain can end the search, and later batches are dropped") {
  for (const std::size_t in_flight : {1U, 4U}) {
    InlineExecutor executor;
    Squares domain(7, 100, in_flight);
    domain.stop_after(150);
    Budget budget;
    CHECK(explore(domain, executor, budget) == StopReason::kFinished);
    CHECK(domain.seen() == squares_below(200));
  }
}

TEST_CASE("explore: a deadline or a stop request ends the search before the next batch") {
  InlineExecutor executor;
  Squares late(7, 100, 4);
  Budget past({}, 0.0);
  CHECK(explore(late, executor, past) == StopReason::kTimeLimit);
  CHECK(late.seen().empty());

  std::stop_source source;
  source.request_stop();
  Squares cancelled(7, 100, 4);
  Budget stopped({}, {}, source.get_token());
  CHECK(explore(cancelled, executor, stopped) == StopReason::kCancelled);
  CHECK(cancelled.seen().empty());
}

TEST_CASE("explore: a stop request drops the batches that are on their way") {
  ShufflingExecutor executor(2, 1);
  Squares domain(7, 100, 3);
  std::stop_source source;
  Budget budget({}, {}, source.get_token());
  const auto stop = [&](const Squares&) { source.request_stop(); };
  CHECK(explore(domain, executor, budget, stop) == StopReason::kCancelled);
  CHECK(domain.calls() == std::vector<int>{1, 2, 3, -1});
}

TEST_CASE("explore: an exception of a stage reaches the caller after all evaluations have ended") {
  for (std::size_t batch = 1; batch <= 5; ++batch) {
    for (int stage = 0; stage < 3; ++stage) {
      ShufflingExecutor executor(4, batch);
      Squares domain(7, 100, 4);
      domain.throw_in(stage == 0 ? batch : 0, stage == 1 ? batch : 0, stage == 2 ? batch : 0);
      Budget budget;
      const char* const names[] = {"propose", "evaluate", "synchronize"};
      CHECK_THROWS_WITH_AS(explore(domain, executor, budget), names[stage], std::runtime_error);
      CHECK(domain.evaluating() == 0);
    }
  }
}

TEST_CASE("explore: batches are proposed and taken in while another one is evaluated") {
  ShufflingExecutor executor(2, 1);
  Overlapping domain(true);
  Budget budget;
  CHECK(explore(domain, executor, budget) == StopReason::kFinished);
  CHECK(domain.overlapped());
}

TEST_CASE("executor: ranges are disjoint, cover the loop and are no shorter than the grain") {
  for (const std::size_t count : {0U, 1U, 3U, 4U, 5U, 63U, 64U, 1000U}) {
    for (const std::size_t grain : {0U, 1U, 4U, 50U}) {
      ShufflingExecutor shuffling(3, count);
      InlineExecutor in_line;
      for (Executor* executor :
           {static_cast<Executor*>(&shuffling), static_cast<Executor*>(&in_line)}) {
        std::vector<std::atomic<int>> visits(count);
        std::atomic<bool> too_short = false;
        executor->parallel_for(count, grain, [&](unsigned, std::size_t begin, std::size_t end) {
          if (end - begin < std::min(grain, count)) too_short = true;
          for (std::size_t i = begin; i < end; ++i)
            ++visits[i];
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

TEST_CASE(
    "executor: a loop that is destroyed before its end drops its rest and waits for running "
    "ranges") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    ShufflingExecutor executor(3, seed);
    std::atomic<int> running = 0;
    const auto body = [&](unsigned, std::size_t, std::size_t) {
      ++running;
      --running;
    };
    { const auto loop = executor.begin_for(1000, 1, body); }
    CHECK(running == 0);
  }
}

}  // namespace shardwright::explore_test
