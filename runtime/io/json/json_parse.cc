// Turns JSON text into a JsonStore without recursion, by the events of nlohmann's parser.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/io/json/json_store.h"

namespace shardwright::internal {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxDepth = 64;
// Node numbers and string offsets are 32 bits wide.
constexpr std::size_t kMaxText = std::size_t{1} << 31;

std::string place_of(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, std::min(position, text.size()));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start =
      before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return "line " + std::to_string(lines + 1) + ", column " +
         std::to_string(std::max<std::size_t>(before.size() - line_start, 1)) + " (byte " +
         std::to_string(before.size()) + ")";
}

// The sentence of a parser's exception without its id and its own idea of the place.
std::string sentence_of(std::string_view what) {
  if (const auto id = what.find("] "); id != std::string_view::npos) what.remove_prefix(id + 2);
  if (what.starts_with("parse error")) {
    if (const auto colon = what.find(": "); colon != std::string_view::npos)
      what.remove_prefix(colon + 2);
  }
  constexpr std::size_t kLongest = 240;  // the parser quotes what it read last, however long
  const bool cut = what.size() > kLongest;
  return "not valid JSON: " + std::string(what.substr(0, kLongest)) + (cut ? "…" : "");
}

// Receives the parser's events. Finished children wait in `pending_` until their container ends
// and then move to the store side by side.
class Builder {
 public:
  Builder(std::string_view text, JsonStore& store) : text_(text), store_(store) {}

  bool null() { return add(JsonType::kNull, {.natural = 0}); }
  bool boolean(bool value) { return add(JsonType::kBoolean, {.boolean = value}); }
  bool number_integer(Json::number_integer_t value) {
    return add(JsonType::kInteger, {.integer = value});
  }
  bool number_unsigned(Json::number_unsigned_t value) {
    return add(JsonType::kUnsigned, {.natural = value});
  }
  bool number_float(Json::number_float_t value, const Json::string_t&) {
    return add(JsonType::kFloat, {.number = value});
  }
  bool string(Json::string_t& value) {
    const TextRange range{static_cast<std::uint32_t>(store_.text.size()),
                          static_cast<std::uint32_t>(value.size())};
    store_.text += value;
    return add(JsonType::kString, {.text = range});
  }
  bool binary(Json::binary_t&) { return false; }  // JSON text has none

  bool start_object(std::size_t) { return open(JsonType::kObject); }
  bool start_array(std::size_t) { return open(JsonType::kArray); }
  bool end_array() { return close(); }
  bool end_object() { return keys_differ() && close(); }

  bool key(Json::string_t& name) {
    const auto [at, added] =
        store_.key_ids.try_emplace(name, static_cast<std::uint32_t>(store_.keys.size()));
    if (added) {
      store_.keys.emplace_back(at->first);
      last_object_with_.push_back(0);
    }
    key_ = at->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception& exception) {
    status_ = invalid_input(place_of(text_, position), sentence_of(exception.what()));
    return false;
  }

  Status finish() {
    if (!status_.ok()) return status_;
    store_.root = static_cast<std::uint32_t>(store_.nodes.size());
    adopt(pending_.back(), store_.root);
    return {};
  }

 private:
  // A container whose end has not been seen: its children begin at `first` of `pending_`.
  struct Frame {
    std::size_t first;
    std::uint32_t key;
    JsonType type;
  };

  bool add(JsonType type, JsonNode::Payload payload) {
    pending_.push_back(JsonNode{payload, std::exchange(key_, kNoKey), type});
    return true;
  }

  bool open(JsonType type) {
    if (frames_.size() == kMaxDepth) {
      status_ = invalid_input(pointer(),
                              "nested more than " + std::to_string(kMaxDepth) + " levels deep");
      return false;
    }
    frames_.push_back(Frame{pending_.size(), std::exchange(key_, kNoKey), type});
    return true;
  }

  bool close() {
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
    return add(frame.type, {.container = container});
  }

  void adopt(const JsonNode& node, std::uint32_t index) {
    if (node.type == JsonType::kArray || node.type == JsonType::kObject) {
      store_.containers[node.payload.container].node = index;
    }
    store_.nodes.push_back(node);
  }

  // Marks every key with the number of the object that is ending: one that is marked already
  // occurs twice.
  bool keys_differ() {
    ++objects_;
    for (std::size_t i = frames_.back().first; i < pending_.size(); ++i) {
      std::uint32_t& mark = last_object_with_[pending_[i].key];
      if (mark == objects_) {
        const std::string_view name = store_.keys[pending_[i].key];
        status_ = invalid_input(pointer() + "/" + pointer_token(name),
                                "the key \"" + std::string(name) + "\" occurs twice");
        return false;
      }
      mark = objects_;
    }
    return true;
  }

  // Of the innermost open container.
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

  std::string_view text_;
  JsonStore& store_;
  std::vector<JsonNode> pending_;
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> last_object_with_;  // by key
  std::uint32_t objects_ = 0;
  std::uint32_t key_ = kNoKey;
  Status status_;
};

}  // namespace

Status parse_json(std::string_view text, JsonStore& store) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return invalid_input("", "the input is empty");
  if (text.size() > kMaxText) return invalid_input("", "the JSON text exceeds 2 GiB");
  Builder builder(text, store);
  Json::sax_parse(text.data(), text.data() + text.size(), &builder);
  return builder.finish();
}

}  // namespace shardwright::internal
