#include "runtime/capi/answer_texts.h"

#include <string_view>

#include "runtime/capi/boundary.h"

namespace shardwright::capi {
namespace {

constexpr std::uint32_t kNarrowest = 40;

}  // namespace

const std::string& AnswerTexts::json() const {
  const std::lock_guard lock(writing_);
  if (!json_) {
    std::string text;
    answer_.write_json([&](std::string_view piece) { text += piece; });
    json_ = std::move(text);
  }
  return *json_;
}

std::string AnswerTexts::text(std::uint32_t width) const {
  if (width == 0) return answer_.text({});
  if (width < kNarrowest) fail(SHARDWRIGHT_INVALID_ARGUMENT, "must be 0 or at least 40", "width");
  return answer_.text({width, false});
}

const std::string& AnswerTexts::page() const {
  if (!answer_.write_page)
    fail(SHARDWRIGHT_UNSUPPORTED, "there is no HTML page of this answer", "answer");
  const std::lock_guard lock(writing_);
  if (!page_) {
    std::string text;
    take(answer_.write_page({[&](std::string_view piece) { text += piece; }}));
    page_ = std::move(text);
  }
  return *page_;
}

}  // namespace shardwright::capi
