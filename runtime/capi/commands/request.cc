#include "runtime/capi/commands/request.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/embedding/problem/storage.h"
#include "runtime/io/json/json_scanner.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/sizes.h"

namespace shardwright::capi {
namespace {

using commands::Input;

// Members that are documents in some command.
constexpr std::array<std::string_view, 17> kDocuments{
    "problem", "search_space", "plan",    "old_plan",       "plan_a",  "plan_b",
    "reuse",   "resume",       "graph",   "instance",       "file",    "cases",
    "program", "startup",      "options", "redistribution", "transfer"};

bool is_document(std::string_view key) {
  return std::find(kDocuments.begin(), kDocuments.end(), key) != kDocuments.end();
}

Result<std::int64_t> read_bytes_of(JsonValue value, std::int64_t least) {
  if (!value.is_string()) return read_count(value, least, embedding::kMaxRankBytes);
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view text, value.string());
  Result<std::int64_t> size = parse_bytes(text);
  if (!size.ok()) return value.error(size.error().message);
  return size;
}

// Calls `read` for the elements of a list, or for a value that is none.
template <class Read>
Status for_each(JsonValue value, const Read& read) {
  if (!value.is_array()) return read(value);
  for (std::size_t i = 0; i < value.size(); ++i)
    SHARDWRIGHT_RETURN_IF_ERROR(read(value[i]));
  return {};
}

Result<double> read_measure(JsonValue value) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const double number, value.number());
  if (!(number >= 0)) return value.error("must be a number, zero or above");
  return number;
}

}  // namespace

Result<std::int64_t> read_count(JsonValue value, std::int64_t least, std::int64_t most) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t number, value.integer());
  if (number >= least && number <= most) return number;
  return value.error("must be a whole number from " + std::to_string(least) + " to " +
                     std::to_string(most) + ", not " + std::to_string(number));
}

Result<Request> Request::parse(std::string_view text) {
  JsonScanner scanner(text);
  std::vector<std::pair<std::string, std::string_view>> documents;
  std::string members;
  JsonWriter json([&](std::string_view piece) { members += piece; });
  std::string key;
  std::string_view raw;
  json.begin_object();
  scanner.begin_object();
  for (bool first = true; scanner.next_key(first, key) && scanner.read_raw(raw);) {
    const bool apart = is_document(key) && (raw.front() == '{' || raw.front() == '[');
    if (apart) documents.emplace_back(key, raw);
    json.key(key).raw(apart ? "null" : raw);
  }
  if (!scanner.finish()) return scanner.status().error();
  json.end_object().finish();
  SHARDWRIGHT_ASSIGN_OR_RETURN(JsonDocument document, JsonDocument::parse(members));
  return Request(std::move(document), std::move(documents));
}

Status Request::read_document(std::string_view key, JsonValue value, Input& out) const {
  for (const auto& [name, text] : documents_) {
    if (name != key) continue;
    out = Input::text(std::string(text), value.pointer());
    return {};
  }
  if (value.is_null()) return {};
  if (!value.is_string())
    return value.expected("an object, the text of one, or the path of a file");
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view text, value.string());
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text == "-")
    return value.error("must be an object, the text of one, or the path of a file");
  // CSV has several lines, and no path has.
  const bool is_text =
      text[begin] == '{' || text[begin] == '[' || text.find('\n', begin) != std::string_view::npos;
  out = is_text ? Input::text(std::string(text), value.pointer()) : Input::file(std::string(text));
  return {};
}

Request& Request::document(std::string_view key, Input& out) {
  reader_.optional_with(key, [&](JsonValue value) { return read_document(key, value, out); });
  return *this;
}

Request& Request::required_document(std::string_view key, Input& out) {
  reader_.required_with(key, [&](JsonValue value) -> Status {
    SHARDWRIGHT_RETURN_IF_ERROR(read_document(key, value, out));
    return out.given() ? Status() : value.error("is needed");
  });
  return *this;
}

Request& Request::counts(std::string_view key, std::vector<std::int64_t>& out) {
  return member(key, [&](JsonValue value) {
    return for_each(value, [&](JsonValue one) -> Status {
      SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t number, read_count(one, 1, kMostCount));
      out.push_back(number);
      return {};
    });
  });
}

Request& Request::bytes(std::string_view key, std::optional<std::int64_t>& out,
                        std::int64_t least) {
  return member(key, [&](JsonValue value) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(out, read_bytes_of(value, least));
    return {};
  });
}

Request& Request::bytes_list(std::string_view key, std::vector<std::int64_t>& out) {
  return member(key, [&](JsonValue value) {
    return for_each(value, [&](JsonValue one) -> Status {
      SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t number, read_bytes_of(one, 1));
      out.push_back(number);
      return {};
    });
  });
}

Request& Request::mesh(std::string_view key, std::optional<std::string>& out) {
  return member(key, [&](JsonValue value) -> Status {
    std::string text;
    if (value.is_string()) SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, text));
    for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t size, read_count(value[i], 1, kMostCount));
      text += (text.empty() ? "" : "x") + std::to_string(size);
    }
    if (text.empty())
      return value.expected("the devices along each axis, such as \"4x2\" or [4, 2]");
    out = std::move(text);
    return {};
  });
}

Request& Request::measure(std::string_view key, std::optional<double>& out) {
  return member(key, [&](JsonValue value) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(out, read_measure(value));
    return {};
  });
}

Request& Request::measures(std::string_view key, std::vector<double>& out) {
  return member(key, [&](JsonValue value) {
    return for_each(value, [&](JsonValue one) -> Status {
      SHARDWRIGHT_ASSIGN_OR_RETURN(const double number, read_measure(one));
      out.push_back(number);
      return {};
    });
  });
}

Request& Request::flag(std::string_view key, bool& out) {
  return member(key, [&](JsonValue value) { return read_value(value, out); });
}

Request& Request::text(std::string_view key, std::optional<std::string>& out) {
  return member(key, [&](JsonValue value) { return read_value(value, out); });
}

Request& Request::choice(std::string_view key, std::span<const std::string_view> words,
                         std::optional<std::size_t>& out) {
  return member(key, [&](JsonValue value) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(out, read_choice(value, key, words));
    return {};
  });
}

}  // namespace shardwright::capi
