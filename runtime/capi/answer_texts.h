// An answer whose texts are made on demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "runtime/surface/answer.h"

namespace shardwright::capi {

// Keeps the JSON and the page, since callers ask for a text's size first.
// Thread safety: every member may be called from any thread.
class AnswerTexts {
 public:
  explicit AnswerTexts(commands::Answer answer) : answer_(std::move(answer)) {}

  const commands::Answer& answer() const { return answer_; }

  const std::string& json() const;
  // `width` is the number of columns; 0 means 100. Throws CallFailure for a width below 40.
  std::string text(std::uint32_t width) const;
  // Throws CallFailure if the answer has no page.
  const std::string& page() const;

 private:
  commands::Answer answer_;
  mutable std::mutex writing_;
  mutable std::optional<std::string> json_;
  mutable std::optional<std::string> page_;
};

}  // namespace shardwright::capi
