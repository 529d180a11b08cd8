// The members of a request, described once. The flags of the command with their help, the members
// of a JSON request (C, Python) and the tables of the reference page follow from the description.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "runtime/surface/input.h"

namespace shardwright::commands {

inline constexpr std::int64_t kMostThreads = 4096;
// Messages leave out upper limits from this number on.
inline constexpr std::uint64_t kMostCount = std::uint64_t{1} << 40;

// One member of a request.
struct Field {
  std::string name;      // in JSON: "time_limit"; the flag is --time-limit
  std::string help;      // what it does, in a line
  std::string value;     // what help calls its value: "FILE", "best|compat"; empty for a switch
  std::string argument;  // "PROBLEM" if the command takes it without a flag
  std::string group;     // in help
  std::string preset;    // the default that help shows
  bool required = false;
  bool is_list = false;            // values with commas between them; in JSON one value or a list
  bool is_rest = false;            // takes all words that follow the flag
  Input* document = nullptr;       // null unless the member is a document
  std::vector<std::string> words;  // given on the command line
  // Set the member. Errors: kInvalidInput, from take_json() with the place in the request.
  std::function<Status(const std::vector<std::string>& words)> take_words;
  std::function<Status(JsonValue value)> take_json;

  Field& needed() { return required = true, *this; }
  Field& as(std::string_view its_argument) { return argument = its_argument, *this; }
  Field& in(std::string_view its_group) { return group = its_group, *this; }
  Field& shows(std::string its_default) { return preset = std::move(its_default), *this; }

  // "--time-limit", or "PROBLEM".
  std::string flag() const;
  // "`time_limit`"
  std::string quoted() const { return "`" + name + "`"; }
};

// How a value is read from a word and from JSON.
template <class T>
struct ValueReader {
  std::function<Result<T>(const std::string& word)> of_word;
  std::function<Result<T>(JsonValue value)> of_json;
};

// A whole number in digits only: no sign, no exponent, no spaces.
ValueReader<std::uint64_t> whole_number(std::uint64_t least, std::uint64_t most);
// A finite number; `what` follows "a number" in errors.
ValueReader<double> decimal_number(std::string what, bool zero_allowed);
// Bytes, as "80GiB"; from `least` bytes on.
ValueReader<std::int64_t> size_in_bytes(std::int64_t least);
// Bytes per millisecond: a text such as "900GB/s", in JSON also a number.
ValueReader<double> bandwidth_per_ms();
ValueReader<std::string> any_text();
// "4x2"; in JSON also [4, 2].
ValueReader<std::string> mesh_shape();
// The index of one of `words`; `what` is what errors call them.
ValueReader<std::size_t> one_of(std::string what, std::span<const std::string_view> words);

// The members of one request, in the order of help. Refers to the request.
// Thread safety: one thread at a time.
class Fields {
 public:
  Fields() = default;
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  // Adds a document: the positional argument `argument`, or a flag if `argument` is empty.
  Field& document(std::string_view name, Input& out, std::string_view argument,
                  std::string_view help);

  Field& flag(std::string_view name, bool& out, std::string_view help);

  template <class Out>
  Field& count(std::string_view name, Out& out, std::string_view help, std::uint64_t least = 1,
               std::uint64_t most = kMostCount) {
    return value(name, out, "N", help, whole_number(least, most));
  }
  template <class Out>
  Field& natural(std::string_view name, Out& out, std::string_view help) {
    return value(name, out, "N", help, whole_number(0, std::numeric_limits<std::uint64_t>::max()));
  }
  template <class Out>
  Field& seconds(std::string_view name, Out& out, std::string_view help) {
    return value(name, out, "SECONDS", help, decimal_number(" of seconds", true));
  }
  template <class Out>
  Field& bytes(std::string_view name, Out& out, std::string_view help, std::int64_t least = 1) {
    return value(name, out, "SIZE", help, size_in_bytes(least));
  }
  template <class Out>
  Field& bandwidth(std::string_view name, Out& out, std::string_view help) {
    return value(name, out, "BANDWIDTH", help, bandwidth_per_ms());
  }
  template <class Out>
  Field& text(std::string_view name, Out& out, std::string_view type, std::string_view help) {
    return value(name, out, type, help, any_text());
  }
  template <class Out>
  Field& mesh(std::string_view name, Out& out, std::string_view help) {
    return value(name, out, "NxN", help, mesh_shape());
  }
  // A value of an enumeration whose numbers are those of `words`.
  template <class Out>
  Field& choice(std::string_view name, Out& out, std::string what,
                std::span<const std::string_view> words, std::string_view help);
  template <class Enum>
  Field& choice(std::string_view name, std::optional<Enum>& out, std::string_view help) {
    return choice(name, out, std::string(what_of(Enum{})), names_of(Enum{}), help);
  }
  template <class Out>
  Field& value(std::string_view name, Out& out, std::string_view type, std::string_view help,
               auto reader);
  template <class T>
  Field& list(std::string_view name, std::vector<T>& out, std::string_view type,
              std::string_view help, auto reader);

  // Adds a list of numbers from 1 on and ranges: "8,16", "8..64:8" (steps of 8), "8..64:x2"
  // (doubled).
  Field& counts(std::string_view name, std::vector<std::int64_t>& out, std::string_view help);

  // Adds a member; the caller sets its functions.
  Field& add(std::string_view name, std::string_view type, std::string_view help);

  std::deque<Field>& all() { return fields_; }
  const std::deque<Field>& all() const { return fields_; }
  const Field* find(std::string_view name) const;
  // Replaces every member in braces, as in "give {ranks}", by `name` of its field.
  std::string named(std::string message, std::string (Field::*name)() const) const;

 private:
  std::deque<Field> fields_;  // references stay valid
};

// Reads a request: one JSON object whose members are the fields. Absent and null members stay
// unchanged. Errors: kInvalidInput at "line L, column C" for a text that is no JSON object; at the
// member otherwise.
Status read_request(std::string_view text, Fields& fields);

namespace internal {

template <class T>
struct Inner {
  using type = T;
};
template <class T>
struct Inner<std::optional<T>> {
  using type = T;
};

}  // namespace internal

template <class Out>
Field& Fields::value(std::string_view name, Out& out, std::string_view type, std::string_view help,
                     auto reader) {
  using Value = typename internal::Inner<Out>::type;
  Field& field = add(name, type, help);
  field.take_words = [&out, reader](const std::vector<std::string>& words) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(auto given, reader.of_word(words.back()));
    out = static_cast<Value>(std::move(given));
    return {};
  };
  field.take_json = [&out, reader](JsonValue value) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(auto given, reader.of_json(value));
    out = static_cast<Value>(std::move(given));
    return {};
  };
  return field;
}

template <class Out>
Field& Fields::choice(std::string_view name, Out& out, std::string what,
                      std::span<const std::string_view> words, std::string_view help) {
  std::string type;
  for (const std::string_view word : words)
    type += (type.empty() ? "" : "|") + std::string(word);
  return value(name, out, type, help, one_of(std::move(what), words));
}

template <class T>
Field& Fields::list(std::string_view name, std::vector<T>& out, std::string_view type,
                    std::string_view help, auto reader) {
  Field& field = add(name, type, help);
  field.is_list = true;
  field.take_words = [&out, reader](const std::vector<std::string>& words) -> Status {
    for (const std::string& word : words) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(auto given, reader.of_word(word));
      out.push_back(static_cast<T>(std::move(given)));
    }
    return {};
  };
  field.take_json = [&out, reader](JsonValue value) -> Status {
    const bool is_one = !value.is_array();
    for (std::size_t i = 0; i < (is_one ? 1 : value.size()); ++i) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(auto given, reader.of_json(is_one ? value : value[i]));
      out.push_back(static_cast<T>(std::move(given)));
    }
    return {};
  };
  return field;
}

}  // namespace shardwright::commands
