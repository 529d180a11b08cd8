// One process that answers many problems from several threads. They are cancelled, have deadlines
// and run out of memory. Fails if an answer is wrong, or if memory, threads or descriptors grow.
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

// The random problems of the tests use doctest's assertions.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "tests/stress/soak/process_state.h"
#include "tests/stress/soak/questions.h"
#include "tests/stress/soak/scarce_memory.h"

namespace {

using namespace shardwright::soak;
using shardwright::test_support::Random;

constexpr std::size_t kSamples = 20;
// The first samples see caches and pools fill.
constexpr std::size_t kSettled = kSamples / 4;
// From the settled state to the end.
constexpr double kMostGrowth = 0.05;
constexpr std::int64_t kMostGrowthBytes = 16 << 20;
// A problem makes some thousands of allocations.
constexpr std::uint64_t kFailOneIn = 40'009;

struct Arguments {
  std::uint64_t problems = 2'000;
  unsigned threads = 8;
  std::uint64_t seed = 1;
};

Arguments arguments_of(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::uint64_t value = std::strtoull(argv[i + 1], nullptr, 0);
    if (name == "--problems") arguments.problems = value;
    if (name == "--threads") arguments.threads = static_cast<unsigned>(value);
    if (name == "--seed") arguments.seed = value;
  }
  return arguments;
}

class Soak {
 public:
  explicit Soak(const Arguments& arguments) : arguments_(arguments), running_(arguments.threads) {}

  // Returns true if every answer was right and nothing grew.
  bool run() {
    std::printf("  problems  resident MiB  threads  descriptors\n");
    fail_one_allocation_in(kFailOneIn);
    {
      std::vector<std::jthread> askers;
      for (unsigned i = 0; i < arguments_.threads; ++i)
        askers.emplace_back([this, i] { serve(i); });
      watch();
    }
    fail_one_allocation_in(0);
    return report();
  }

 private:
  void serve(unsigned thread) {
    while (true) {
      const std::uint64_t number = next_++;
      if (number >= arguments_.problems) return;
      Random random(arguments_.seed * 1'000'003 + number);
      ++outcomes_[static_cast<std::size_t>(ask(random, running_[thread]))];
      ++done_;
    }
  }

  // Cancels a random search now and then, and takes a sample after every part of the problems.
  void watch() {
    const AmpleMemory ample;
    Random random(arguments_.seed);
    while (done_ < arguments_.problems) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1 + random.below(20)));
      running_[random.below(running_.size())].cancel();
      const std::uint64_t done = done_;
      if (done * kSamples < (samples_.size() + 1) * arguments_.problems) continue;
      samples_.push_back(process_state());
      const ProcessState& state = samples_.back();
      std::printf("%10llu  %12.1f  %7lld  %11lld\n", static_cast<unsigned long long>(done),
                  static_cast<double>(state.resident_bytes) / (1 << 20),
                  static_cast<long long>(state.threads), static_cast<long long>(state.descriptors));
      std::fflush(stdout);
    }
  }

  // By least squares over the settled samples.
  double bytes_per_problem() const {
    double mean_x = 0;
    double mean_y = 0;
    const auto count = static_cast<double>(samples_.size() - kSettled);
    for (std::size_t i = kSettled; i < samples_.size(); ++i) {
      mean_x += static_cast<double>(i) / count;
      mean_y += static_cast<double>(samples_[i].resident_bytes) / count;
    }
    double covariance = 0;
    double variance = 0;
    for (std::size_t i = kSettled; i < samples_.size(); ++i) {
      const double x = static_cast<double>(i) - mean_x;
      covariance += x * (static_cast<double>(samples_[i].resident_bytes) - mean_y);
      variance += x * x;
    }
    return covariance / variance * kSamples / static_cast<double>(arguments_.problems);
  }

  bool report() const {
    std::printf("answered %llu, stopped %llu, refused %llu, out of memory %llu, wrong %llu; ",
                count(Outcome::kAnswered), count(Outcome::kStopped), count(Outcome::kRefused),
                count(Outcome::kOutOfMemory), count(Outcome::kWrong));
    std::printf("%llu allocations failed\n",
                static_cast<unsigned long long>(num_failed_allocations()));
    if (samples_.size() < kSettled + 3) {
      std::printf("failed: too few problems to see whether memory grows\n");
      return false;
    }
    const ProcessState& settled = samples_[kSettled];
    const ProcessState& last = samples_.back();
    const double slope = bytes_per_problem();
    std::printf("resident memory grows by %.1f bytes per problem\n", slope);
    const double growth = slope * static_cast<double>(arguments_.problems);
    const bool flat = growth < std::max(kMostGrowth * static_cast<double>(settled.resident_bytes),
                                        static_cast<double>(kMostGrowthBytes)) &&
                      last.threads <= settled.threads + 1 &&
                      last.descriptors <= settled.descriptors;
    if (!flat) std::printf("failed: memory, threads or descriptors grow\n");
    return flat && count(Outcome::kWrong) == 0 && count(Outcome::kOutOfMemory) > 0;
  }

  unsigned long long count(Outcome outcome) const {
    return outcomes_[static_cast<std::size_t>(outcome)].load();
  }

  Arguments arguments_;
  std::vector<Cancellable> running_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> done_{0};
  std::array<std::atomic<unsigned long long>, kNumOutcomes> outcomes_{};
  std::vector<ProcessState> samples_;
};

}  // namespace

int main(int argc, char** argv) {
  return Soak(arguments_of(argc, argv)).run() ? EXIT_SUCCESS : EXIT_FAILURE;
}
