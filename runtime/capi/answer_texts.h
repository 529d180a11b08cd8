// An answer whose texts are written on demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "runtime/surface/answer.h"

namespace shardwright::capi {

// Keeps the JSON and the page, because a caller asks for the size of a text and then for the text.
// Thread safety: may be used from any thread.
class AnswerTexts {
 public:
  explicit AnswerTexts(commands::Answer answer) : answer_(std::move(answer)) {}

  const commands::Answer& answer() const { return answer_; }

  const std::string& json() const;
  // `width`: in columns, 0 = 100. Throws CallFailure for a width below 40.
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
