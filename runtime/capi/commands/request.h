// Reads the request of a command: one JSON object whose members are the command's arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"
#include "runtime/commands/input.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_reader.h"

namespace shardwright::capi {

// Members are read by the functions below; finish() returns the first error, also for a member that
// no function has read. What is absent or null leaves `out` unchanged. Documents (problems, plans,
// graphs) are not parsed here.
// Thread safety: one thread at a time.
class Request {
 public:
  // Errors: kInvalidInput at "line L, column C" for a text that is no JSON object.
  static Result<Request> parse(std::string_view text);

  // A document: an object or a list as it stands, or a text that begins with one; any other text is
  // the path of a file.
  Request& document(std::string_view key, commands::Input& out);
  Request& required_document(std::string_view key, commands::Input& out);

  // A whole number from `least` to `most`.
  template <class Integer>
  Request& count(std::string_view key, Integer& out, std::int64_t least, std::int64_t most);
  template <class Integer>
  Request& count(std::string_view key, std::optional<Integer>& out, std::int64_t least,
                 std::int64_t most);
  // A whole number from 0 to 2^64 - 1.
  template <class Natural>
  Request& natural(std::string_view key, Natural& out) {
    return member(key, [&](JsonValue value) { return read_value(value, out); });
  }
  // One whole number or a list of them.
  Request& counts(std::string_view key, std::vector<std::int64_t>& out);
  // Bytes, or a size such as "80GiB".
  Request& bytes(std::string_view key, std::optional<std::int64_t>& out, std::int64_t least = 1);
  Request& bytes_list(std::string_view key, std::vector<std::int64_t>& out);
  // "4x2" or [4, 2].
  Request& mesh(std::string_view key, std::optional<std::string>& out);
  // A finite number, 0 or above.
  Request& measure(std::string_view key, std::optional<double>& out);
  // One such number or a list of them.
  Request& measures(std::string_view key, std::vector<double>& out);
  Request& flag(std::string_view key, bool& out);
  Request& text(std::string_view key, std::optional<std::string>& out);
  // The number of a word in `words`.
  Request& choice(std::string_view key, std::span<const std::string_view> words,
                  std::optional<std::size_t>& out);
  template <class Function>
  Request& member(std::string_view key, const Function& read) {
    reader_.optional_with(
        key, [&](JsonValue value) { return value.is_null() ? Status() : read(value); });
    return *this;
  }

  Status finish() { return reader_.finish(); }

 private:
  Request(JsonDocument members, std::vector<std::pair<std::string, std::string_view>> documents)
      : members_(std::move(members)), reader_(members_.root()), documents_(std::move(documents)) {}

  Status read_document(std::string_view key, JsonValue value, commands::Input& out) const;

  JsonDocument members_;  // without documents, for which there is null
  ObjectReader reader_;
  std::vector<std::pair<std::string, std::string_view>>
      documents_;  // objects and lists of the text
};

inline constexpr std::int64_t kMostCount = std::int64_t{1} << 40;

// Reads a whole number. Errors: kInvalidInput at its place.
Result<std::int64_t> read_count(JsonValue value, std::int64_t least, std::int64_t most);

template <class Integer>
Request& Request::count(std::string_view key, Integer& out, std::int64_t least, std::int64_t most) {
  return member(key, [&](JsonValue value) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t number, read_count(value, least, most));
    out = static_cast<Integer>(number);
    return {};
  });
}

template <class Integer>
Request& Request::count(std::string_view key, std::optional<Integer>& out, std::int64_t least,
                        std::int64_t most) {
  return member(key, [&](JsonValue value) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t number, read_count(value, least, most));
    out = static_cast<Integer>(number);
    return {};
  });
}

}  // namespace shardwright::capi
