// Builds a JsonStore from the tokens of a JSON text, without recursion.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "runtime/io/json/json_scanner.h"
#include "runtime/io/json/json_store.h"

namespace shardwright::internal {
namespace {

constexpr std::size_t kMaxDepth = 64;
// Node numbers and string offsets are 32 bits wide.
constexpr std::size_t kMaxText = std::size_t{1} << 31;

// Collects the children of open containers in `pending_`. When a container ends, its children move
// to the store, where they are contiguous.
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
  // An open container. Its children begin at pending_[first].
  struct Frame {
    std::size_t first;
    std::uint32_t key;
    JsonType type;
    bool at_start = true;
  };

  // Reads a value. For a container, reads only the opening bracket.
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

  // Closes the containers that end here. Returns true if a value follows, and false at the end of
  // the text or on an error.
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

  // Sets `key_` to the number of the key `text_`. Equal keys of all objects share one number.
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
  // occurs twice, which is an error.
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

  // JSON pointer of the innermost open container.
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
  std::string text_;  // the last key or string read
  std::vector<JsonNode> pending_;
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> last_object_with_;  // by key
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
