#include "runtime/io/json/json_document.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/io/json/json_scanner.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/sizes.h"

namespace shardwright {
namespace {

constexpr std::size_t kShownText = 40;

const internal::JsonNode& node_of(const internal::JsonStore* store, std::uint32_t index) {
  return store->nodes[index];
}

// Returns a hint how to write the number that a text such as "80GiB", "5%" or "16" stands for.
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
      // Above 2^53 the parser may have rounded a fraction away, so such numbers are refused.
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
  const internal::JsonNode& object = node_of(store_, index_);
  if (object.type != JsonType::kObject) return std::nullopt;
  const internal::JsonContainer& members = store_->containers[object.payload.container];
  for (std::uint32_t at = members.first; at < members.first + members.count; ++at) {
    if (store_->keys[store_->nodes[at].key] == name) return JsonValue(store_, at);
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
  // The parser would take NUL for the end of the text.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return invalid_input("byte " + std::to_string(nul + 1), "a NUL byte: this is no JSON text");
  }
  auto store = std::make_shared<internal::JsonStore>();
  SHARDWRIGHT_RETURN_IF_ERROR(internal::parse_json(text, *store));
  return JsonDocument(std::move(store));
}

JsonValue JsonDocument::root() const { return JsonValue(store_.get(), store_->root); }

}  // namespace shardwright

namespace shardwright::internal {

namespace {

constexpr std::size_t kMaxDepth = 64;
// Node indices and string offsets have 32 bits.
constexpr std::size_t kMaxText = std::size_t{1} << 31;

// Collects the children of open containers in pending_. When a container ends, its children move to
// the store, where they are contiguous.
class Builder {
 public:
  Builder(std::string_view text, JsonStore& store) : scanner_(text), store_(store) {}

  Status build() {
    while (read_value() && advance()) {
    }
    if (!scanner_.finish()) return scanner_.status();
    store_.root = static_cast<std::uint32_t>(store_.nodes.size());
    adopt(pending_.back(), store_.root);
    return {};
  }

 private:
  // An open container; its children begin at pending_[first].
  struct Frame {
    std::size_t first;
    std::uint32_t key;
    JsonType type;
    bool at_start = true;
  };

  // Reads a value; of a container, only the opening bracket.
  bool read_value() {
    const JsonToken token = scanner_.peek();
    switch (token) {
      case JsonToken::kObject:
        return open(JsonType::kObject) && scanner_.begin_object();
      case JsonToken::kArray:
        return open(JsonType::kArray) && scanner_.begin_array();
      case JsonToken::kString:
        return read_string();
      case JsonToken::kNumber:
        return read_number();
      case JsonToken::kNull:
        return scanner_.read_literal(token) && add(JsonType::kNull, {.natural = 0});
      case JsonToken::kTrue:
      case JsonToken::kFalse:
        return scanner_.read_literal(token) &&
               add(JsonType::kBoolean, {.boolean = token == JsonToken::kTrue});
      case JsonToken::kNone:
        break;
    }
    return scanner_.no_value();
  }

  // Closes the containers that end here. Returns true if a value follows; false at the end or on an
  // error.
  bool advance() {
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      if (frame.type == JsonType::kArray) {
        if (scanner_.next_element(frame.at_start)) return true;
      } else if (scanner_.next_key(frame.at_start, text_)) {
        number_key();
        return true;
      }
      if (!scanner_.status().ok() || !keys_differ(frame)) return false;
      close();
    }
    return false;
  }

  bool read_string() {
    if (!scanner_.read_string(text_)) return false;
    const TextRange range{static_cast<std::uint32_t>(store_.text.size()),
                          static_cast<std::uint32_t>(text_.size())};
    store_.text += text_;
    return add(JsonType::kString, {.text = range});
  }

  bool read_number() {
    ScannedNumber number;
    if (!scanner_.read_number(number)) return false;
    if (number.whole) return add(JsonType::kInteger, {.integer = number.integer});
    if (number.natural > 0) return add(JsonType::kUnsigned, {.natural = number.natural});
    return add(JsonType::kFloat, {.number = number.value});
  }

  // Sets key_ to the number of the key text_. Equal keys share one number.
  void number_key() {
    const auto [at, added] =
        store_.key_ids.try_emplace(text_, static_cast<std::uint32_t>(store_.keys.size()));
    if (added) {
      store_.keys.emplace_back(at->first);
      last_object_with_.push_back(0);
    }
    key_ = at->second;
  }

  bool add(JsonType type, JsonNode::Payload payload) {
    pending_.push_back(JsonNode{payload, std::exchange(key_, kNoKey), type});
    return true;
  }

  bool open(JsonType type) {
    if (frames_.size() == kMaxDepth) {
      return scanner_.fail(invalid_input(
          pointer(), "nested more than " + std::to_string(kMaxDepth) + " levels deep"));
    }
    frames_.push_back(Frame{pending_.size(), std::exchange(key_, kNoKey), type});
    return true;
  }

  void close() {
    const Frame frame = frames_.back();
    const auto first = static_cast<std::uint32_t>(store_.nodes.size());
    const auto count = static_cast<std::uint32_t>(pending_.size() - frame.first);
    for (std::size_t i = frame.first; i < pending_.size(); ++i) {
      adopt(pending_[i], static_cast<std::uint32_t>(store_.nodes.size()));
    }
    pending_.resize(frame.first);
    frames_.pop_back();
    const auto container = static_cast<std::uint32_t>(store_.containers.size());
    store_.containers.push_back(JsonContainer{first, count, 0});
    key_ = frame.key;
    add(frame.type, {.container = container});
  }

  void adopt(const JsonNode& node, std::uint32_t index) {
    if (node.type == JsonType::kArray || node.type == JsonType::kObject) {
      store_.containers[node.payload.container].node = index;
    }
    store_.nodes.push_back(node);
  }

  // Marks every key of the ending object with the object's number. A key that already has this mark
  // is a duplicate, which is an error.
  bool keys_differ(const Frame& object) {
    if (object.type == JsonType::kArray) return true;
    ++objects_;
    for (std::size_t i = object.first; i < pending_.size(); ++i) {
      std::uint32_t& mark = last_object_with_[pending_[i].key];
      if (mark == objects_) {
        const std::string_view name = store_.keys[pending_[i].key];
        return scanner_.fail(invalid_input(pointer() + "/" + pointer_token(name),
                                           "the key \"" + std::string(name) + "\" occurs twice"));
      }
      mark = objects_;
    }
    return true;
  }

  // Returns the JSON pointer of the innermost open container.
  std::string pointer() const {
    std::string text;
    for (std::size_t i = 1; i < frames_.size(); ++i) {
      const bool in_array = frames_[i - 1].type == JsonType::kArray;
      text += '/';
      text += in_array ? std::to_string(frames_[i].first - frames_[i - 1].first)
                       : pointer_token(store_.keys[frames_[i].key]);
    }
    return text;
  }

  JsonScanner scanner_;
  JsonStore& store_;
  std::string text_;  // last key or string that was read
  std::vector<JsonNode> pending_;
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> last_object_with_;  // index: key
  std::uint32_t objects_ = 0;
  std::uint32_t key_ = kNoKey;
};

}  // namespace

Status parse_json(std::string_view text, JsonStore& store) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return invalid_input("", "the input is empty");
  if (text.size() > kMaxText) return invalid_input("", "the JSON text exceeds 2 GiB");
  return Builder(text, store).build();
}

}  // namespace shardwright::internal

namespace shardwright {}  // namespace shardwright
