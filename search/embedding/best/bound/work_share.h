// How much work one method of the proof may take beside the others.
#pragma once

#include <cstdint>

namespace shardwright::embedding {

// A method that may take long waits until all others had as much work: one of those may prove the
// goal at once. Thread safety: one thread at a time.
class WorkShare {
 public:
  void note_own(std::uint64_t work) { own_ += work; }
  void note_others(std::uint64_t work) { others_ += work; }
  // The others have nothing left to try, or do again.
  void set_others_ended(bool ended) { others_ended_ = ended; }
  bool allows(std::uint64_t next) const { return others_ended_ || own_ + next <= others_; }

 private:
  std::uint64_t own_ = 0;
  std::uint64_t others_ = 0;
  bool others_ended_ = false;
};

}  // namespace shardwright::embedding
