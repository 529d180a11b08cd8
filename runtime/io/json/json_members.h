// Describes the members of JSON objects once per C++ type. describe(JsonMembers&, T&) names every
// member of T; reader, writer and JSON Schema of T follow from it.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_shape.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright {

class JsonMembers;

// A type with `void describe(JsonMembers&, T&)` in its own namespace or in `shardwright`.
template <class T>
concept Described = requires(JsonMembers& members, T& value) {
  describe(members, value);
};

// Returns the names of a table's rows, for read_choice() and shapes.
template <class Row, std::size_t Size>
constexpr std::array<std::string_view, Size> names_in(const std::array<Row, Size>& table) {
  std::array<std::string_view, Size> names;
  for (std::size_t i = 0; i < Size; ++i)
    names[i] = table[i].name;
  return names;
}

// Returns the index of a text in `names`, ignoring case. In error messages `what` is the kind of
// name, as in "unknown data type". The message suggests the nearest name.
Result<std::size_t> read_choice(JsonValue value, std::string_view what,
                                std::span<const std::string_view> names);

Status read_value(JsonValue value, std::int64_t& out);
Status read_value(JsonValue value, std::uint64_t& out);
Status read_value(JsonValue value, std::uint32_t& out);
Status read_value(JsonValue value, int& out);
Status read_value(JsonValue value, double& out);
Status read_value(JsonValue value, bool& out);
Status read_value(JsonValue value, std::string& out);
// Reads null as kFinished.
Status read_value(JsonValue value, StopReason& out);

// Reads the name of an enumerator, one of names_of(Enum{}). Errors call it what_of(Enum{}).
template <class Enum>
requires(std::is_enum_v<Enum>) Status read_value(JsonValue value, Enum& out) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index,
                               read_choice(value, what_of(Enum{}), names_of(Enum{})));
  out = static_cast<Enum>(index);
  return {};
}

template <Described T>
Status read_value(JsonValue value, T& out);

// Returns the error of a value that is no list: expected(what), with advice to use brackets.
Error not_a_list(JsonValue value, std::string_view what);

template <class T>
Status read_value(JsonValue value, std::vector<T>& out);

// Reads null as absent.
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

// Return the shape of a value of this type. Only the type of the argument matters.
inline JsonShape shape_of(const bool&) { return json::boolean(); }
inline JsonShape shape_of(const std::string&) { return json::text(); }
inline JsonShape shape_of(const double&) { return json::number(); }
inline JsonShape shape_of(const StopReason&) {
  return json::one_word(std::span(kStopReasonNames).subspan(1)).or_null();
}
template <std::integral T>
requires(!std::same_as<T, bool>) JsonShape shape_of(const T&) {
  return std::unsigned_integral<T> ? json::natural() : json::integer();
}
template <class Enum>
requires(std::is_enum_v<Enum>) JsonShape shape_of(const Enum&) {
  return json::one_word(names_of(Enum{}));
}
template <Described T>
JsonShape shape_of(const T&);
template <class T>
JsonShape shape_of(const std::vector<T>&);
template <class T>
JsonShape shape_of(const std::optional<T>&) {
  return shape_of(T{}).or_null();
}
// Such a member is left out if absent, and may be null.
template <class T>
JsonShape shape_of(const std::optional<std::optional<T>>&) {
  return json::one_of({shape_of(std::optional<T>())}).or_null();
}
template <class T>
JsonShape shape_of(const std::vector<T>&) {
  return json::list(shape_of(T{})).or_null();
}

// Writes a value: an empty optional as null, an enumerator by its name.
template <class T>
void write_value(JsonWriter& json, const T& value);

// Reads one object, writes it or describes its shape, depending on the constructor. Reading: absent
// members leave their value unchanged. finish() returns the first error. A key that is neither read
// nor ignored is an error. Writing: members are written in the order of the calls. optional()
// leaves out an empty optional.
// Thread safety: one thread at a time.
class JsonMembers {
 public:
  explicit JsonMembers(JsonValue object);
  // Writes members to an object that has begun. Keeps a reference to `json`.
  explicit JsonMembers(JsonWriter& json) : json_(&json) {}
  // Adds members to `shape`, which becomes an object. Keeps a reference to `shape`.
  explicit JsonMembers(JsonShape& shape) : shape_(&shape) { shape.type = JsonShape::Type::kObject; }

  template <class T>
  JsonMembers& optional(std::string_view key, T& value, std::string_view help = {}) {
    return member(key, value, help, false);
  }
  template <class T>
  JsonMembers& required(std::string_view key, T& value, std::string_view help = {}) {
    return member(key, value, help, true);
  }

  // Read a member with a function (JsonValue) -> Status. Not for writing. `shape` is a JsonShape,
  // or a function that returns one and is called only to describe.
  template <class Function, class Shape = JsonShape>
  JsonMembers& optional_with(std::string_view key, const Function& function,
                             const Shape& shape = {}) {
    return member_with(key, function, shape, false);
  }
  template <class Function, class Shape = JsonShape>
  JsonMembers& required_with(std::string_view key, const Function& function,
                             const Shape& shape = {}) {
    return member_with(key, function, shape, true);
  }

  // Writes a member; reading ignores it. An empty optional is left out.
  template <class T>
  JsonMembers& shown(std::string_view key, const T& value, std::string_view help = {});

  // Writes a member with a function that takes a JsonWriter. Not for reading. `shape` is as above.
  template <class Function, class Shape>
  JsonMembers& written(std::string_view key, const Function& write, const Shape& shape) {
    return written_with(key, write, shape, true, true);
  }
  // As written(), but only if `is_given` is true.
  template <class Function, class Shape>
  JsonMembers& written_if(bool is_given, std::string_view key, const Function& write,
                          const Shape& shape) {
    return written_with(key, write, shape, is_given, false);
  }

  // Set the limits of the last member in the shape. Reading does not check them.
  JsonMembers& from(double least) {
    if (shape_ != nullptr) shape_->members.back().shape.least = least;
    return *this;
  }
  JsonMembers& up_to(double most) {
    if (shape_ != nullptr) shape_->members.back().shape.most = most;
    return *this;
  }

  // Describes an inner object: `function` gets the JsonMembers of the inner object. Reading takes
  // null as absent unless the object is required.
  template <class Function>
  JsonMembers& object(std::string_view key, const Function& function, std::string_view help = {},
                      bool is_required = false);

  // Writes a member that always has this text, such as the format of a file.
  JsonMembers& constant(std::string_view key, std::string_view text);

  // Describes a list, or an optional list that is left out if empty. Writing begins a new line for
  // each element, and for the closing bracket if `closes_line` is true.
  template <class List>
  JsonMembers& rows(std::string_view key, List& list, bool closes_line = false,
                    std::string_view help = {});

  // Writes a list of objects, one per line: `function` gets the JsonMembers and the element. With
  // `may_miss`, an empty list is left out. Not for reading.
  template <class List, class Function>
  JsonMembers& rows_by(std::string_view key, List& list, const Function& function,
                       bool may_miss = false);

  // Describes a list that must not be empty; the error about an empty list is `if_empty`.
  template <class T>
  JsonMembers& filled(std::string_view key, std::vector<T>& list, std::string_view help = {},
                      std::string_view what = "a list",
                      std::string_view if_empty = "the list is empty; leave it out");

  // Describes one of `words`, the names of the enumerators. Errors call a word `what`.
  template <class Enum>
  JsonMembers& word(std::string_view key, Enum& value, std::string_view what,
                    std::span<const std::string_view> words, std::string_view help = {},
                    bool is_required = false) {
    if (json_ != nullptr) {
      json_->member(key, words[static_cast<std::size_t>(value)]);
      return *this;
    }
    const auto read = [&](JsonValue given) -> Status {
      SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index, read_choice(given, what, words));
      value = static_cast<Enum>(index);
      return {};
    };
    return member_with(
        key, read, [&] { return json::one_word(words).says(help); }, is_required);
  }

  // Accepts and ignores keys. Errors list the keys of the first overload among the known ones.
  JsonMembers& ignore(std::initializer_list<std::string_view> keys);
  JsonMembers& ignore(std::span<const std::string_view> keys);

  // Writing: begins a new line before the next member.
  JsonMembers& line() {
    if (json_ != nullptr) json_->new_line();
    return *this;
  }

  // Returns success or one error. An error of a member that was read before any key was found
  // missing comes first. Then come the first unknown key, which may be a misspelt missing key, and
  // the first missing key. Errors after a missing key are dropped: they may follow from it.
  Status finish();

 private:
  template <class T>
  JsonMembers& member(std::string_view key, T& value, std::string_view help, bool is_required);
  template <class Function, class Shape>
  JsonMembers& member_with(std::string_view key, const Function& function, const Shape& shape,
                           bool is_required);
  template <class Function, class Shape>
  JsonMembers& written_with(std::string_view key, const Function& write, const Shape& shape,
                            bool is_given, bool is_required);

  std::optional<JsonValue> take(std::string_view key);
  void keep(Status status);
  void report_missing(std::string_view key);
  void add_shape(std::string_view key, JsonShape shape, bool is_required) {
    shape_->members.push_back({std::string(key), std::move(shape), is_required});
  }
  template <class Shape>
  static JsonShape made(const Shape& shape) {
    if constexpr (std::is_invocable_v<const Shape&>) {
      return shape();
    } else {
      return shape;
    }
  }

  JsonWriter* json_ = nullptr;       // set if this writes
  JsonShape* shape_ = nullptr;       // set if this describes
  std::optional<JsonValue> object_;  // set if this reads
  Status status_;
  Status missing_;
  boost::container::small_vector<std::string_view, 24> known_;
  std::size_t members_taken_ = 0;
  std::span<const std::string_view> ignored_;
};

// Reads an object; `function` gets its JsonMembers.
template <class Function>
Status read_by(JsonValue value, const Function& function) {
  JsonMembers members(value);
  function(members);
  return members.finish();
}

template <Described T>
Status read_value(JsonValue value, T& out) {
  return read_by(value, [&](JsonMembers& members) { describe(members, out); });
}

// Writes an object; `function` gets its JsonMembers.
template <class Function>
void write_by(JsonWriter& json, const Function& function) {
  json.begin_object();
  JsonMembers members(json);
  function(members);
  json.end_object();
}

// Returns the shape of an object; `function` gets its JsonMembers.
template <class Function>
JsonShape shape_by(const Function& function) {
  JsonShape shape;
  JsonMembers members(shape);
  function(members);
  return shape;
}

template <Described T>
JsonShape shape_of(const T&) {
  return shape_by([](JsonMembers& members) {
    T sample{};
    describe(members, sample);
  });
}

namespace internal {

template <class T>
inline constexpr bool is_optional_v = false;
template <class T>
inline constexpr bool is_optional_v<std::optional<T>> = true;
template <class T>
inline constexpr bool is_list_v = false;
template <class T>
inline constexpr bool is_list_v<std::vector<T>> = true;

}  // namespace internal

template <class T>
void write_value(JsonWriter& json, const T& value) {
  if constexpr (internal::is_optional_v<T>) {
    value ? write_value(json, *value) : static_cast<void>(json.null());
  } else if constexpr (std::is_same_v<T, std::vector<std::uint32_t>>) {
    json.numbers(value);
  } else if constexpr (internal::is_list_v<T>) {
    json.begin_array();
    for (const auto& element : value)
      write_value(json, element);
    json.end_array();
  } else if constexpr (std::is_same_v<T, StopReason>) {
    write_stop(value, json);
  } else if constexpr (std::is_enum_v<T>) {
    json.value(names_of(value)[static_cast<std::size_t>(value)]);
  } else if constexpr (Described<T>) {
    write_by(json, [&](JsonMembers& members) {
      describe(members, const_cast<T&>(value));  // describe() does not change it when writing
    });
  } else {
    json.value(value);
  }
}

// Writes the value and a line break.
template <class T>
void write_json(const T& value, const TextSink& sink) {
  JsonWriter json(sink);
  write_value(json, value);
  json.finish();
}

// Returns the value as JSON.
template <class T>
std::string json_text(const T& value) {
  std::string text;
  write_json(value, [&](std::string_view piece) { text += piece; });
  text.pop_back();  // the line break
  return text;
}

template <class T>
JsonMembers& JsonMembers::member(std::string_view key, T& value, std::string_view help,
                                 bool is_required) {
  if (object_) [[likely]] {
    if (const std::optional<JsonValue> given = take(key)) {
      keep(read_value(*given, value));
    } else if (is_required) {
      report_missing(key);
    }
  } else if (shape_ != nullptr) {
    JsonShape shape = shape_of(value).says(help);
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      if (!is_required && (std::is_enum_v<T> || value != T{})) shape.preset = json_text(value);
    }
    add_shape(key, std::move(shape), is_required);
  } else {
    if constexpr (internal::is_optional_v<T>) {
      if (!is_required && !value) return *this;
    }
    // One of object_, shape_ and json_ is set. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage)
    write_value(json_->key(key), value);
  }
  return *this;
}

template <class Function>
JsonMembers& JsonMembers::object(std::string_view key, const Function& function,
                                 std::string_view help, bool is_required) {
  if (shape_ != nullptr) {
    JsonShape shape = shape_by(function).says(help);
    shape.nullable = !is_required;
    add_shape(key, std::move(shape), is_required);
  } else if (json_ != nullptr) {
    json_->key(key).begin_object();
    function(*this);
    json_->end_object();
  } else if (const std::optional<JsonValue> given = take(key);
             given && (is_required || !given->is_null())) {
    keep(read_by(*given, function));
  } else if (is_required) {
    report_missing(key);
  }
  return *this;
}

template <class List>
JsonMembers& JsonMembers::rows(std::string_view key, List& list, bool closes_line,
                               std::string_view help) {
  if (json_ == nullptr) return member(key, list, help, !internal::is_optional_v<List>);
  if constexpr (internal::is_optional_v<List>) {
    return list ? rows(key, *list, closes_line) : *this;
  } else {
    json_->key(key).begin_array();
    for (const auto& element : list)
      write_value(json_->new_line(), element);
    if (closes_line) json_->new_line();
    json_->end_array();
    return *this;
  }
}

template <class List, class Function>
JsonMembers& JsonMembers::rows_by(std::string_view key, List& list, const Function& function,
                                  bool may_miss) {
  const auto write = [&](JsonWriter& json) {
    json.begin_array();
    for (auto& element : list)
      write_by(json.new_line(), [&](JsonMembers& inner) { function(inner, element); });
    json.end_array();
  };
  const auto shape = [&] {
    typename List::value_type sample{};
    return json::list(shape_by([&](JsonMembers& inner) { function(inner, sample); }));
  };
  return written_with(key, write, shape, !may_miss || !list.empty(), !may_miss);
}

template <class T>
JsonMembers& JsonMembers::filled(std::string_view key, std::vector<T>& list, std::string_view help,
                                 std::string_view what, std::string_view if_empty) {
  const auto read = [&](JsonValue given) -> Status {
    if (!given.is_array() && !given.is_null()) return not_a_list(given, what);
    if (given.is_array() && given.size() == 0) return given.error(std::string(if_empty));
    return read_value(given, list);
  };
  return member_with(
      key, read, [&] { return shape_of(list).from(1).says(help); }, false);
}

template <class T>
JsonMembers& JsonMembers::shown(std::string_view key, const T& value, std::string_view help) {
  if (shape_ != nullptr) {
    JsonShape shape = shape_of(value).says(help);
    shape.nullable = false;
    add_shape(key, std::move(shape), !internal::is_optional_v<T>);
  } else if (json_ != nullptr) {
    if constexpr (internal::is_optional_v<T>) {
      if (!value) return *this;
    }
    // One of object_, shape_ and json_ is set. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage)
    write_value(json_->key(key), value);
  }
  return *this;
}

template <class Function, class Shape>
JsonMembers& JsonMembers::written_with(std::string_view key, const Function& write,
                                       const Shape& shape, bool is_given, bool is_required) {
  if (shape_ != nullptr) {
    add_shape(key, made(shape), is_required);
  } else if (json_ != nullptr && is_given) {
    write(json_->key(key));
  }
  return *this;
}

template <class Function, class Shape>
JsonMembers& JsonMembers::member_with(std::string_view key, const Function& function,
                                      const Shape& shape, bool is_required) {
  if (shape_ != nullptr) {
    add_shape(key, made(shape), is_required);
    return *this;
  }
  if (const std::optional<JsonValue> given = take(key)) {
    keep(function(*given));
  } else if (is_required) {
    report_missing(key);
  }
  return *this;
}

}  // namespace shardwright
