// The members of a request. Three things are made from their description: the command's flags with
// their help, the members of a JSON request (C, Python), and the tables of the reference page.
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
// An upper limit from this number on is not mentioned in messages.
inline constexpr std::uint64_t kMostCount = std::uint64_t{1} << 40;

// One member of a request.
struct Field {
  std::string name;      // in JSON, such as "time_limit"; the flag is --time-limit
  std::string help;      // one line
  std::string value;     // type of the value in help: "FILE", "best|compat"; empty for a switch
  std::string argument;  // such as "PROBLEM" if positional, else empty
  std::string group;     // heading in help
  std::string preset;    // default that help shows
  bool required = false;
  bool is_list = false;  // on the command line separated by commas, in JSON an array or one value
  bool is_advanced = false;        // `--help` leaves it out, `--help all` lists it
  bool is_rest = false;            // takes all following words
  Input* document = nullptr;       // null if the member is no document
  std::vector<std::string> words;  // from the command line
  // Set the member. Errors: kInvalidInput; from take_json() with the place in the request.
  std::function<Status(const std::vector<std::string>& words)> take_words;
  std::function<Status(JsonValue value)> take_json;

  Field& needed() { return required = true, *this; }
  Field& advanced() { return is_advanced = true, *this; }
  Field& as(std::string_view its_argument) { return argument = its_argument, *this; }
  Field& in(std::string_view its_group) { return group = its_group, *this; }
  Field& shows(std::string its_default) { return preset = std::move(its_default), *this; }

  // Returns the flag or the positional argument: "--time-limit", "PROBLEM".
  std::string flag() const;
  // Returns the name in backquotes.
  std::string quoted() const { return "`" + name + "`"; }
};

// Converts a word of the command line or a JSON value.
template <class T>
struct ValueReader {
  std::function<Result<T>(const std::string& word)> of_word;
  std::function<Result<T>(JsonValue value)> of_json;
};

// A whole number in digits, without sign, exponent or spaces.
ValueReader<std::uint64_t> whole_number(std::uint64_t least, std::uint64_t most);
// A finite number. `what` follows "a number" in error messages, such as " of seconds".
ValueReader<double> decimal_number(const std::string& what, bool zero_allowed);
// A size of at least `least` bytes, such as "80GiB".
ValueReader<std::int64_t> size_in_bytes(std::int64_t least);
// Bytes per millisecond: a text such as "900GB/s", in JSON also a number.
ValueReader<double> bandwidth_per_ms();
ValueReader<std::string> any_text();
// A mesh such as "4x2"; in JSON also [4, 2].
ValueReader<std::string> mesh_shape();
// The index of one of `words`. Error messages call these words `what`.
ValueReader<std::size_t> one_of(const std::string& what, std::span<const std::string_view> words);

// The members of one request, in the order of help. Keeps references to the request's members.
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
  // Adds a choice: the words stand for the enumerators of `out` in the order of their numbers.
  template <class Out>
  Field& choice(std::string_view name, Out& out, const std::string& what,
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

  // Adds a list of numbers >= 1. An entry is a number or a range: "8,16", "8..64:8" (steps of 8),
  // "8..64:x2" (doubling).
  Field& counts(std::string_view name, std::vector<std::int64_t>& out, std::string_view help);

  // Adds a member. The caller sets take_words and take_json.
  Field& add(std::string_view name, std::string_view type, std::string_view help);

  std::deque<Field>& all() { return fields_; }
  const std::deque<Field>& all() const { return fields_; }
  const Field* find(std::string_view name) const;
  // Replaces member names in braces, as in "give {ranks}", by `name()` of their fields.
  std::string named(std::string message, std::string (Field::*name)() const) const;

 private:
  std::deque<Field> fields_;  // a deque, so references stay valid
};

// Sets the fields from a request, which is one JSON object. Absent and null members stay unchanged.
// Errors: kInvalidInput at the member, or at "line L, column C" for text that is no JSON object.
Status read_request(std::string_view text, Fields& fields);

namespace internal {

template <class T>
struct Inner {
  using Type = T;
};
template <class T>
struct Inner<std::optional<T>> {
  using Type = T;
};

}  // namespace internal

template <class Out>
Field& Fields::value(std::string_view name, Out& out, std::string_view type, std::string_view help,
                     auto reader) {
  using Value = typename internal::Inner<Out>::Type;
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
Field& Fields::choice(std::string_view name, Out& out, const std::string& what,
                      std::span<const std::string_view> words, std::string_view help) {
  std::string type;
  for (const std::string_view word : words)
    type += (type.empty() ? "" : "|") + std::string(word);
  return value(name, out, type, help, one_of(what, words));
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
