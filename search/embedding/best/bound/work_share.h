// How much work one method of the proof may take beside the others.
#pragma once

#include <cstdint>

namespace shardwright::embedding {

// A method that may take long waits until all others had as much work: one of those may prove the
// goal at once.
// Thread safety: a value.
struct WorkShare {
  std::uint64_t own = 0;
  std::uint64_t others = 0;
  bool others_ended = false;  // they have nothing left to try

  bool allows(std::uint64_t next) const { return others_ended || own + next <= others; }
};

}  // namespace shardwright::embedding
