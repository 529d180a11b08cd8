// What processes of compat mode tell each other of a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/stop_reason.h"
#include "search/embedding/compat/proposals/candidate_batch.h"

namespace shardwright::embedding {

// The candidates [begin, end) of a batch.
// Thread safety: a value.
struct CandidateRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  bool contains(std::size_t i) const { return begin <= i && i < end; }
};

// The part that a process evaluates, one of `processes` equal ones: neighbours differ least, so
// each part is contiguous.
CandidateRange part_of(std::size_t candidates, std::uint32_t process, std::uint32_t processes);

// The outcomes of the new candidates of `part`, and why the process was interrupted.
std::string to_message(const CandidateBatch& batch, const CandidateRange& part,
                       std::optional<StopReason> stopped);

// Takes the outcomes of another process's part into the batch, and its reason into `stopped` unless
// that has one. Returns false, with some outcomes taken, if it is not a message on that part of
// that batch.
bool take_outcomes(std::string_view message, const CandidateRange& part, CandidateBatch& batch,
                   std::optional<StopReason>& stopped);

}  // namespace shardwright::embedding
