// A parsed JSON text: strict, compact, and able to say where in the text a value stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

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

// A value of a document: a pointer and an index, to be passed by value. Valid while the document
// lives.
// Thread safety: a value; reading is safe from any thread.
class JsonValue {
 public:
  JsonType type() const;
  bool is_null() const { return type() == JsonType::kNull; }
  bool is_array() const { return type() == JsonType::kArray; }
  bool is_object() const { return type() == JsonType::kObject; }
  bool is_string() const { return type() == JsonType::kString; }

  // Typed getters; errors name the place, what was expected and what was found. Integers may be
  // written as 512 or 512.0, within the range of int64.
  Result<std::int64_t> integer() const;
  Result<double> number() const;
  Result<bool> boolean() const;
  Result<std::string_view> string() const;

  // Elements of an array or members of an object in file order; none for other types.
  std::size_t size() const;
  JsonValue operator[](std::size_t i) const;  // precondition: i < size()

  // The key under which an object holds this value; empty for elements of arrays.
  std::string_view key() const;
  // The member with this key. O(size()).
  std::optional<JsonValue> find(std::string_view name) const;

  // JSON pointer (RFC 6901) of this value; empty for the whole document. O(depth).
  std::string pointer() const;

  // "an integer", "the text \"x\"", "a list", for error messages.
  std::string describe() const;
  Error error(std::string message) const { return invalid_input(pointer(), std::move(message)); }
  Error expected(std::string_view what) const;

 private:
  friend class JsonDocument;
  JsonValue(const internal::JsonStore* store, std::uint32_t index) : store_(store), index_(index) {}

  const internal::JsonStore* store_;
  std::uint32_t index_;
};

// An immutable JSON text. 16 bytes per value plus its strings; repeated keys are held once.
// Thread safety: const members may be called from any thread.
class JsonDocument {
 public:
  // Strict RFC 8259 with at most 64 levels of nesting: comments, trailing text, NaN, numbers
  // beyond double and keys that occur twice in one object are errors. `where` of a syntax error is
  // "line L, column C". O(size of text) time and memory.
  static Result<JsonDocument> parse(std::string_view text);

  JsonValue root() const;

 private:
  explicit JsonDocument(std::shared_ptr<const internal::JsonStore> store)
      : store_(std::move(store)) {}

  std::shared_ptr<const internal::JsonStore> store_;
};

}  // namespace shardwright
