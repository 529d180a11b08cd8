// Why a search ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace shardwright {

enum class StopReason : std::uint8_t { kFinished, kWorkLimit, kTimeLimit, kCancelled };

// Indexed by StopReason. The name is empty for a search that ran to its end.
inline constexpr std::array<std::string_view, 4> kStopReasonNames{"", "work_limit", "time_limit",
                                                                  "cancelled"};

// Returns the words for a sentence such as "stopped by the work limit".
constexpr std::string_view text_of(StopReason reason) {
  constexpr std::array<std::string_view, 4> kTexts{"", "the work limit", "the time limit",
                                                   "a request"};
  return kTexts[static_cast<std::size_t>(reason)];
}

constexpr std::string_view name_of(StopReason reason) {
  return kStopReasonNames[static_cast<std::size_t>(reason)];
}

}  // namespace shardwright
