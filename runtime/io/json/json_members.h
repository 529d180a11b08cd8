// Reads the members of JSON objects into C++ values. Wrong types and unknown keys are errors that
// name the place.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/status.h"
#include "runtime/io/json/json_document.h"

namespace shardwright {

// Returns the index of a text in `names`; ignores case. `what` is what the error message calls the
// names, as in "unknown data type". The message suggests the nearest name.
Result<std::size_t> read_choice(JsonValue value, std::string_view what,
                                std::span<const std::string_view> names);

Status read_value(JsonValue value, std::int64_t& out);
Status read_value(JsonValue value, std::uint64_t& out);
Status read_value(JsonValue value, int& out);
Status read_value(JsonValue value, double& out);
Status read_value(JsonValue value, bool& out);
Status read_value(JsonValue value, std::string& out);

// Reads an enumeration. what_of() is what errors call it, names_of() are the names of its values.
template <class Enum>
requires(std::is_enum_v<Enum>) Status read_value(JsonValue value, Enum& out) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index,
                               read_choice(value, what_of(Enum{}), names_of(Enum{})));
  out = static_cast<Enum>(index);
  return {};
}

// Returns the error of a value that is no list: `expected(what)`, with the advice to use brackets.
Error not_a_list(JsonValue value, std::string_view what);

template <class T>
Status read_value(JsonValue value, std::vector<T>& out);

// Reads null as "not given".
template <class T>
Status read_value(JsonValue value, std::optional<T>& out) {
  if (value.is_null()) return {};
  T inner{};
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, inner));
  out = std::move(inner);
  return {};
}

template <class T>
Status read_value(JsonValue value, std::vector<T>& out) {
  if (value.is_null()) return {};
  if (!value.is_array()) return not_a_list(value, "a list");
  out.clear();
  out.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    T element{};
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(value[i], element));
    out.push_back(std::move(element));
  }
  return {};
}

// Returns a function that reads a list. An empty list is an error: the member must be left out.
template <class T>
auto filled_list(std::vector<T>& out) {
  return [&out](JsonValue value) -> Status {
    if (value.is_array() && value.size() == 0)
      return value.error("the list is empty; leave it out");
    return read_value(value, out);
  };
}

// Reads one object member by member. finish() returns the first error. A key that is neither read
// nor ignored is an error.
// Thread safety: one thread at a time.
class ObjectReader {
 public:
  explicit ObjectReader(JsonValue object);

  // Leaves `out` unchanged if the object does not have the member.
  template <class T>
  ObjectReader& optional(std::string_view key, T& out) {
    return optional_with(key, [&](JsonValue value) { return read_value(value, out); });
  }
  template <class T>
  ObjectReader& required(std::string_view key, T& out) {
    return required_with(key, [&](JsonValue value) { return read_value(value, out); });
  }

  // The same, but calls `function`, which takes a JsonValue and returns a Status.
  template <class Function>
  ObjectReader& optional_with(std::string_view key, const Function& function) {
    if (const std::optional<JsonValue> value = take(key)) keep(function(*value));
    return *this;
  }
  template <class Function>
  ObjectReader& required_with(std::string_view key, const Function& function) {
    const std::optional<JsonValue> value = take(key);
    if (value) keep(function(*value));
    if (!value) report_missing(key);
    return *this;
  }

  ObjectReader& ignore(std::initializer_list<std::string_view> keys);
  ObjectReader& ignore(std::span<const std::string_view> keys);

  // Returns success or one error, by this priority: an error of a member that was read before any
  // key was found missing; the first unknown key, which may be the missing one misspelt; the first
  // missing key. Errors of members that are read after a missing key are dropped, because they may
  // only follow from it.
  Status finish();

 private:
  std::optional<JsonValue> take(std::string_view key);
  void keep(Status status);
  void report_missing(std::string_view key);

  JsonValue object_;
  Status status_;
  Status missing_;
  boost::container::small_vector<std::string_view, 24> known_;
  std::size_t members_taken_ = 0;
  std::span<const std::string_view> ignored_;
};

}  // namespace shardwright
