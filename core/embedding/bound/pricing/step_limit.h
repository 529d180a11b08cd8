// How much a search may still do.
#pragma once

#include <cstdint>
#include <functional>

namespace shardwright::embedding {

// A stop takes all steps that are left.
// Thread safety: one thread at a time. Refers to its arguments.
class StepLimit {
 public:
  // `is_stopped`: empty if nothing stops the search.
  StepLimit(std::uint64_t& left, const std::function<bool()>& is_stopped)
      : left_(left), is_stopped_(is_stopped), ask_at_(left) {}

  bool is_over() const { return left_ == 0; }
  std::uint64_t left() const { return left_; }
  void spend(std::uint64_t steps) { left_ -= steps < left_ ? steps : left_; }
  // Asks for a stop about every millisecond.
  void hear_stop() {
    if (left_ <= ask_at_ && is_stopped_) ask();
  }

 private:
  void ask();

  std::uint64_t& left_;
  const std::function<bool()>& is_stopped_;
  std::uint64_t ask_at_;  // when so much is left
};

}  // namespace shardwright::embedding
