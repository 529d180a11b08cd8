// Random questions to the planner, each with a random way to be cut short.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <stop_token>

#include "tests/support/random.h"

namespace shardwright::soak {

enum class Outcome { kAnswered, kStopped, kRefused, kOutOfMemory, kWrong };
inline constexpr std::size_t kNumOutcomes = 5;

// The search that a thread runs, which another thread may cancel.
// Thread safety: any.
class Cancellable {
 public:
  std::stop_token begin();
  void cancel();

 private:
  std::mutex mutex_;
  std::stop_source source_;
};

// Plans, replans, sweeps or explains one random problem. Most are small, one in fifty has hundreds
// of tables. kWrong: an answer that the verifier does not accept, or an exception other than
// std::bad_alloc; a sentence about it is on standard error.
Outcome ask(test_support::Random& random, Cancellable& running);

}  // namespace shardwright::soak
