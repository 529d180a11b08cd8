#include "runtime/io/json/json_document.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/io/json/json_number.h"
#include "runtime/io/json/json_store.h"
#include "runtime/io/sizes.h"

namespace shardwright {
namespace {

constexpr std::size_t kShownText = 40;

const internal::JsonNode& node_of(const internal::JsonStore* store, std::uint32_t index) {
  return store->nodes[index];
}

// How to write the number that a text means: "80GiB", "5%", "16".
std::string number_meant(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [after, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc()) return "";
  if (!std::isfinite(number)) return "; write a number in digits";
  if (after == end) return "; write it without quotes";
  if (const auto whole = whole_number_meant(text)) return "; write " + std::to_string(*whole);
  if (std::string_view(after, static_cast<std::size_t>(end - after)) == "%")
    return "; write " + json_number(number / 100);
  const Result<std::int64_t> bytes = parse_bytes(text);
  return bytes.ok() ? "; in bytes that is " + std::to_string(*bytes)
                    : "; write a number in digits, without quotes";
}

Error not_a_number(const JsonValue& value, std::string_view what) {
  Error error = value.expected(what);
  if (value.is_string()) error.message += number_meant(value.string().value());
  return error;
}

}  // namespace

JsonType JsonValue::type() const { return node_of(store_, index_).type; }

Result<std::int64_t> JsonValue::integer() const {
  const internal::JsonNode& node = node_of(store_, index_);
  switch (node.type) {
    case JsonType::kInteger:
      return node.payload.integer;
    case JsonType::kUnsigned:
      if (node.payload.natural > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) break;
      return static_cast<std::int64_t>(node.payload.natural);
    case JsonType::kFloat: {
      // Above 2^53 the parser may have rounded a fraction away, so the number is not accepted.
      constexpr double kExact = 9007199254740992.0;
      const double value = node.payload.number;
      if (std::trunc(value) != value || std::abs(value) > kExact) break;
      return static_cast<std::int64_t>(value);
    }
    default:
      break;
  }
  const bool too_large =
      node.type == JsonType::kUnsigned ||
      (node.type == JsonType::kFloat && std::trunc(node.payload.number) == node.payload.number);
  return not_a_number(*this, too_large ? "an integer below 2^63, in digits" : "an integer");
}

Result<std::uint64_t> JsonValue::natural() const {
  const internal::JsonNode& node = node_of(store_, index_);
  if (node.type == JsonType::kUnsigned) return node.payload.natural;
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t value, integer());
  if (value < 0) return expected("a whole number from 0 to 2^64 - 1");
  return static_cast<std::uint64_t>(value);
}

Result<double> JsonValue::number() const {
  const internal::JsonNode& node = node_of(store_, index_);
  if (node.type == JsonType::kFloat) return node.payload.number;
  if (node.type == JsonType::kInteger) return static_cast<double>(node.payload.integer);
  if (node.type == JsonType::kUnsigned) return static_cast<double>(node.payload.natural);
  return not_a_number(*this, "a number");
}

Result<bool> JsonValue::boolean() const {
  if (type() != JsonType::kBoolean) return expected("true or false");
  return node_of(store_, index_).payload.boolean;
}

Result<std::string_view> JsonValue::string() const {
  if (type() != JsonType::kString) {
    Error error = expected("a text");
    const bool in_list = is_array() && size() == 1 && (*this)[0].is_string();
    if (in_list) error.message += "; write it without brackets";
    return error;
  }
  const internal::TextRange range = node_of(store_, index_).payload.text;
  return std::string_view(store_->text).substr(range.offset, range.length);
}

std::size_t JsonValue::size() const {
  if (!is_array() && !is_object()) return 0;
  return store_->containers[node_of(store_, index_).payload.container].count;
}

JsonValue JsonValue::operator[](std::size_t i) const {
  SHARDWRIGHT_DCHECK(i < size());
  const std::uint32_t first = store_->containers[node_of(store_, index_).payload.container].first;
  return JsonValue(store_, first + static_cast<std::uint32_t>(i));
}

std::string_view JsonValue::key() const {
  const std::uint32_t key = node_of(store_, index_).key;
  return key == internal::kNoKey ? std::string_view() : store_->keys[key];
}

std::optional<JsonValue> JsonValue::find(std::string_view name) const {
  if (!is_object()) return std::nullopt;
  for (std::size_t i = 0; i < size(); ++i) {
    if ((*this)[i].key() == name) return (*this)[i];
  }
  return std::nullopt;
}

std::string JsonValue::pointer() const {
  std::string text;
  const auto& containers = store_->containers;
  for (std::uint32_t at = index_; at != store_->root;) {
    const auto after = std::upper_bound(
        containers.begin(), containers.end(), at,
        [](std::uint32_t node, const internal::JsonContainer& c) { return node < c.first; });
    const internal::JsonContainer& container = *std::prev(after);
    const std::uint32_t key = node_of(store_, at).key;
    text.insert(0, "/" + (key == internal::kNoKey ? std::to_string(at - container.first)
                                                  : pointer_token(store_->keys[key])));
    at = container.node;
  }
  return text;
}

std::string JsonValue::describe() const {
  switch (type()) {
    case JsonType::kNull:
      return "null";
    case JsonType::kBoolean:
      return boolean().value() ? "true" : "false";
    case JsonType::kInteger:
      return "the number " + std::to_string(node_of(store_, index_).payload.integer);
    case JsonType::kUnsigned:
      return "the number " + std::to_string(node_of(store_, index_).payload.natural);
    case JsonType::kFloat: {
      std::array<char, 32> digits;
      const double value = node_of(store_, index_).payload.number;
      const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
      return "the number " + std::string(static_cast<const char*>(digits.data()), end);
    }
    case JsonType::kString: {
      const std::string_view text = string().value();
      const bool cut = text.size() > kShownText;
      return "the text \"" + std::string(text.substr(0, kShownText)) + (cut ? "…\"" : "\"");
    }
    case JsonType::kArray:
      return size() == 0 ? "an empty list" : "a list of " + std::to_string(size());
    case JsonType::kObject:
      return "an object";
  }
  return "";
}

Error JsonValue::expected(std::string_view what) const {
  constexpr std::string_view kComment = "//";
  const bool is_comment = is_string() && string().value().starts_with(kComment);
  return error(
      "expected " + std::string(what) + ", found " + describe() +
      (is_comment ? "; a comment is a member of an object, whose key begins with //" : ""));
}

Result<JsonDocument> JsonDocument::parse(std::string_view text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return invalid_input("", "the text is UTF-16; save it as UTF-8");
  // Reported here because the parser would treat NUL as the end of the text.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return invalid_input("byte " + std::to_string(nul + 1), "a NUL byte: this is no JSON text");
  }
  auto store = std::make_shared<internal::JsonStore>();
  SHARDWRIGHT_RETURN_IF_ERROR(internal::parse_json(text, *store));
  return JsonDocument(std::move(store));
}

JsonValue JsonDocument::root() const { return JsonValue(store_.get(), store_->root); }

}  // namespace shardwright
