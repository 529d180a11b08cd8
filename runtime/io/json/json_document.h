// A compact tree of a JSON text, parsed strictly, in which every value knows its JSON pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/json_pointer.h"
#include "core/status.h"

namespace shardwright {

namespace internal {
struct JsonStore;
}

enum class JsonType : std::uint8_t {
  kNull,
  kBoolean,
  kInteger,
  kUnsigned,
  kFloat,
  kString,
  kArray,
  kObject
};

// A value of a document: a pointer and an index, cheap to copy. Valid while the document exists.
// Thread safety: a value; any thread may read.
class JsonValue {
 public:
  JsonType type() const;
  bool is_null() const { return type() == JsonType::kNull; }
  bool is_array() const { return type() == JsonType::kArray; }
  bool is_object() const { return type() == JsonType::kObject; }
  bool is_string() const { return type() == JsonType::kString; }

  // Typed getters. integer() also accepts 512.0; natural() accepts integers from 0 to 2^64 - 1.
  // Errors: kInvalidInput with the place, the expected type and the actual value.
  Result<std::int64_t> integer() const;
  Result<std::uint64_t> natural() const;
  Result<double> number() const;
  Result<bool> boolean() const;
  Result<std::string_view> string() const;

  // Elements of an array, or members of an object, in file order. Other types have size 0.
  std::size_t size() const;
  JsonValue operator[](std::size_t i) const;  // precondition: i < size()

  // Returns the key of this value in its object; empty for elements of an array.
  std::string_view key() const;
  // Returns the member with this key, or nullopt. Cost: O(size()).
  std::optional<JsonValue> find(std::string_view name) const;

  // Returns the JSON pointer (RFC 6901) of this value; empty for the root. Cost: O(depth).
  std::string pointer() const;

  // Describes the value for error messages, such as "the number 5", "the text \"x\"" or "a list".
  std::string describe() const;
  Error error(std::string message) const { return invalid_input(pointer(), std::move(message)); }
  Error expected(std::string_view what) const;

 private:
  friend class JsonDocument;
  JsonValue(const internal::JsonStore* store, std::uint32_t index) : store_(store), index_(index) {}

  const internal::JsonStore* store_;
  std::uint32_t index_;
};

// An immutable JSON document: 16 bytes per value, plus strings; equal keys are stored once.
// Thread safety: const members may be called from any thread.
class JsonDocument {
 public:
  // Parses RFC 8259 strictly, with at most 64 levels of nesting. Members whose key begins with "//"
  // are comments and are left out. Errors: kInvalidInput at "line L, column C", also for trailing
  // text, NaN, numbers out of the range of double, and duplicate keys. O(size of text).
  static Result<JsonDocument> parse(std::string_view text);

  JsonValue root() const;

 private:
  explicit JsonDocument(std::shared_ptr<const internal::JsonStore> store)
      : store_(std::move(store)) {}

  std::shared_ptr<const internal::JsonStore> store_;
};

}  // namespace shardwright

namespace shardwright::internal {

struct TextRange {
  std::uint32_t offset;
  std::uint32_t length;
};

inline constexpr std::uint32_t kNoKey = ~std::uint32_t{0};

// A value. The payload of an array or object is the index of its JsonContainer.
struct JsonNode {
  union Payload {
    std::int64_t integer;
    std::uint64_t natural;
    double number;
    TextRange text;
    std::uint32_t container;
    bool boolean;
  } payload;
  std::uint32_t key = kNoKey;
  JsonType type = JsonType::kNull;
};
static_assert(sizeof(JsonNode) == 16);

// The children of an array or object: the nodes [first, first + count). Containers are numbered in
// the order in which they end, so `first` never decreases; a binary search finds a node's
// container.
struct JsonContainer {
  std::uint32_t first;
  std::uint32_t count;
  std::uint32_t node;  // node of the container itself
};

struct JsonStore {
  std::vector<JsonNode> nodes;
  std::vector<JsonContainer> containers;
  std::vector<std::string_view> keys;  // views into the keys of key_ids
  std::unordered_map<std::string, std::uint32_t> key_ids;
  std::string text;
  std::uint32_t root = 0;
};

// Parses `text` into an empty store. Errors: as JsonDocument::parse.
Status parse_json(std::string_view text, JsonStore& store);

}  // namespace shardwright::internal

namespace shardwright {}  // namespace shardwright
