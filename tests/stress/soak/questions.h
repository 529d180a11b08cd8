// Random requests to the planner, each with a random way to be cut short.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <stop_token>

#include "tests/support/random.h"

namespace shardwright::soak {

enum class Outcome { kAnswered, kStopped, kRefused, kOutOfMemory, kWrong };
inline constexpr std::size_t kNumOutcomes = 5;

// The search that a thread runs; another thread may cancel it. Thread safety: any.
class Cancellable {
 public:
  std::stop_token begin();
  void cancel();

 private:
  std::mutex mutex_;
  std::stop_source source_;
};

// Plans, replans, sweeps or explains a random problem. Most are small; one in fifty has hundreds of
// tables. Returns kWrong, and prints a sentence to standard error, if the verifier refuses the
// answer or an exception other than std::bad_alloc is thrown.
Outcome ask(test_support::Random& random, Cancellable& running);

}  // namespace shardwright::soak
