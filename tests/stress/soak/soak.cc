// Solves many problems in several threads of one process, with cancellations, time limits and
// failing allocations. Fails if an answer is wrong, or if memory, threads or descriptors grow.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

// The generators of random problems use doctest's assertions.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "tests/stress/soak/process_state.h"
#include "tests/stress/soak/questions.h"
#include "tests/stress/soak/scarce_memory.h"

namespace {

using namespace shardwright::soak;
using shardwright::test_support::Random;

// The problems are solved in 20 parts. After each part, nothing runs and a sample is taken.
constexpr std::size_t kParts = 20;
// Caches and pools fill during the first samples, which are ignored.
constexpr std::size_t kSettled = kParts / 4;
// Allocated bytes may grow by this much per problem.
constexpr double kMostLeak = 1;
// Resident memory also grows by fragmentation: at most by this share, or this many bytes, after the
// first samples.
constexpr double kMostGrowth = 0.05;
constexpr std::int64_t kMostGrowthBytes = 64 << 20;
// oneTBB keeps its workers, whose number depends on which problems ran at the same time. A leak
// would add thousands.
constexpr std::int64_t kMostNewThreads = 8;

struct Arguments {
  std::uint64_t problems = 2'000;
  unsigned threads = 8;
  std::uint64_t seed = 1;
  // One in this many allocations fails; 0 = none. A problem makes some thousands of allocations.
  std::uint64_t fail_one_in = 40'009;
};

Arguments arguments_of(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::uint64_t value = std::strtoull(argv[i + 1], nullptr, 0);
    if (name == "--problems") arguments.problems = value;
    if (name == "--threads") arguments.threads = static_cast<unsigned>(value);
    if (name == "--seed") arguments.seed = value;
    if (name == "--fail-one-in") arguments.fail_one_in = value;
  }
  return arguments;
}

class Soak {
 public:
  explicit Soak(const Arguments& arguments) : arguments_(arguments), running_(arguments.threads) {}

  // Returns true if every answer was right and no resource grew.
  bool run() {
    samples_.reserve(kParts);
    std::printf("  problems  allocated MiB  resident MiB  threads  descriptors\n");
    for (std::size_t part = 1; part <= kParts; ++part) {
      ask_until(arguments_.problems * part / kParts);
      take_sample();
    }
    return report();
  }

 private:
  struct Sample {
    double problems = 0;
    double allocated_bytes = 0;
    ProcessState process;
  };

  void ask_until(std::uint64_t end) {
    const AmpleMemory ample;  // allocations of this thread do not fail
    fail_one_allocation_in(arguments_.fail_one_in);
    {
      std::vector<std::jthread> askers;
      for (unsigned i = 0; i < arguments_.threads; ++i)
        askers.emplace_back([this, i, end] { serve(i, end); });
      cancel_now_and_then(end);
    }
    fail_one_allocation_in(0);
    next_ = end;
  }

  void serve(unsigned thread, std::uint64_t end) {
    while (true) {
      const std::uint64_t number = next_++;
      if (number >= end) return;
      Random random(arguments_.seed * 1'000'003 + number);
      ++outcomes_[static_cast<std::size_t>(ask(random, running_[thread]))];
      ++done_;
    }
  }

  void cancel_now_and_then(std::uint64_t end) {
    Random random(arguments_.seed + end);
    while (done_ < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1 + random.below(20)));
      running_[random.below(running_.size())].cancel();
    }
  }

  void take_sample() {
    const Sample sample{static_cast<double>(done_), static_cast<double>(allocated_bytes()),
                        process_state()};
    samples_.push_back(sample);
    std::printf("%10.0f  %13.3f  %12.1f  %7lld  %11lld\n", sample.problems,
                sample.allocated_bytes / (1 << 20),
                static_cast<double>(sample.process.resident_bytes) / (1 << 20),
                static_cast<long long>(sample.process.threads),
                static_cast<long long>(sample.process.descriptors));
    std::fflush(stdout);
  }

  // Fits a line through the samples after the first ones, by least squares.
  template <class Bytes>
  double bytes_per_problem(Bytes bytes) const {
    double mean_x = 0;
    double mean_y = 0;
    const auto count = static_cast<double>(kParts - kSettled);
    for (std::size_t i = kSettled; i < kParts; ++i) {
      mean_x += samples_[i].problems / count;
      mean_y += bytes(samples_[i]) / count;
    }
    double covariance = 0;
    double variance = 0;
    for (std::size_t i = kSettled; i < kParts; ++i) {
      const double x = samples_[i].problems - mean_x;
      covariance += x * (bytes(samples_[i]) - mean_y);
      variance += x * x;
    }
    return covariance / variance;
  }

  bool report() const {
    std::printf("answered %llu, stopped %llu, refused %llu, out of memory %llu, wrong %llu; ",
                count(Outcome::kAnswered), count(Outcome::kStopped), count(Outcome::kRefused),
                count(Outcome::kOutOfMemory), count(Outcome::kWrong));
    std::printf("%llu allocations failed\n",
                static_cast<unsigned long long>(num_failed_allocations()));
    const double leak = bytes_per_problem([](const Sample& s) { return s.allocated_bytes; });
    const double slope = bytes_per_problem(
        [](const Sample& s) { return static_cast<double>(s.process.resident_bytes); });
    std::printf("allocated memory grows by %.1f bytes per problem, resident memory by %.1f\n", leak,
                slope);
    const ProcessState& settled = samples_[kSettled].process;
    const ProcessState& last = samples_.back().process;
    const double growth = slope * static_cast<double>(arguments_.problems);
    const bool flat = leak < kMostLeak &&
                      growth < std::max(kMostGrowth * static_cast<double>(settled.resident_bytes),
                                        static_cast<double>(kMostGrowthBytes)) &&
                      last.threads <= settled.threads + kMostNewThreads &&
                      last.descriptors <= settled.descriptors;
    if (!flat) std::printf("failed: memory, threads or descriptors grow\n");
    const bool failed_as_asked = (count(Outcome::kOutOfMemory) > 0) == (arguments_.fail_one_in > 0);
    return flat && count(Outcome::kWrong) == 0 && failed_as_asked;
  }

  unsigned long long count(Outcome outcome) const {
    return outcomes_[static_cast<std::size_t>(outcome)].load();
  }

  Arguments arguments_;
  std::vector<Cancellable> running_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> done_{0};
  std::array<std::atomic<unsigned long long>, kNumOutcomes> outcomes_{};
  std::vector<Sample> samples_;
};

}  // namespace

int main(int argc, char** argv) {
  return Soak(arguments_of(argc, argv)).run() ? EXIT_SUCCESS : EXIT_FAILURE;
}
