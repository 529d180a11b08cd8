#include "runtime/io/json/json_members.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/nearest_name.h"

namespace shardwright {
namespace {

bool equal_without_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : int{c}; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

// What a reader of an enumerator expects: the names if these are few, or else what they name.
std::string any_of(std::string_view what, std::span<const std::string_view> names) {
  constexpr std::size_t kFew = 6;
  if (names.size() > kFew) {
    const bool vowel =
        !what.empty() && std::string_view("aeiou").find(what[0]) != std::string_view::npos;
    return (vowel ? "the name of an " : "the name of a ") + std::string(what);
  }
  std::string words;
  for (std::size_t i = 0; i < names.size(); ++i)
    words += (i == 0                  ? "\""
              : i + 1 == names.size() ? " or \""
                                      : ", \"") +
             std::string(names[i]) + "\"";
  return words;
}

}  // namespace

Result<std::size_t> read_choice(JsonValue value, std::string_view what,
                                std::span<const std::string_view> names) {
  if (!value.is_string()) return value.expected(any_of(what, names));
  const std::string_view text = value.string().value();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (equal_without_case(names[i], text)) return i;
  }
  return value.error("unknown " + std::string(what) + " \"" + std::string(text) + "\"" +
                     suggestion(text, names));
}

Status read_value(JsonValue value, std::int64_t& out) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(out, value.integer());
  return {};
}

Status read_value(JsonValue value, std::uint64_t& out) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(out, value.natural());
  return {};
}

Status read_value(JsonValue value, std::uint32_t& out) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::uint64_t wide, value.natural());
  if (wide > std::numeric_limits<std::uint32_t>::max())
    return value.expected("an integer of at most 2^32 - 1");
  out = static_cast<std::uint32_t>(wide);
  return {};
}

Status read_value(JsonValue value, int& out) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t wide, value.integer());
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    return value.expected("an integer of at most 2^31 - 1");
  }
  out = static_cast<int>(wide);
  return {};
}

Status read_value(JsonValue value, double& out) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(out, value.number());
  return {};
}

Status read_value(JsonValue value, bool& out) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(out, value.boolean());
  return {};
}

Status read_value(JsonValue value, std::string& out) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(out, value.string());
  return {};
}

Status read_value(JsonValue value, StopReason& out) {
  if (value.is_null()) return {};
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      const std::size_t index,
      read_choice(value, "reason", std::span(kStopReasonNames).subspan(1)));
  out = static_cast<StopReason>(index + 1);
  return {};
}

Error not_a_list(JsonValue value, std::string_view what) {
  Error error = value.expected(what);
  const bool single = !value.is_object() && !value.is_null();
  if (single) error.message += "; write a single one in brackets, too";
  return error;
}

JsonMembers::JsonMembers(JsonValue object) : object_(object) {
  if (!object.is_object()) status_ = object.expected("an object");
}

std::optional<JsonValue> JsonMembers::take(std::string_view key) {
  known_.push_back(key);
  const std::optional<JsonValue> value = object_->find(key);
  if (value) ++members_taken_;
  return value;
}

void JsonMembers::keep(Status status) {
  // After a missing key, errors may only follow from that; see finish().
  if (status_.ok() && missing_.ok()) status_ = std::move(status);
}

void JsonMembers::report_missing(std::string_view key) {
  if (missing_.ok()) missing_ = object_->error("the key \"" + std::string(key) + "\" is missing");
}

JsonMembers& JsonMembers::constant(std::string_view key, std::string_view text) {
  if (json_ != nullptr) {
    json_->member(key, text);
    return *this;
  }
  const auto read = [&](JsonValue value) -> Status {
    const Result<std::size_t> known = read_choice(value, key, std::span(&text, 1));
    return known.ok() ? Status() : Status(known.error());
  };
  return member_with(
      key, read, [&] { return json::one_word({text}); }, true);
}

JsonMembers& JsonMembers::ignore(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (object_ && object_->find(key)) ++members_taken_;
    if (object_) known_.push_back(key);
    if (shape_ != nullptr) add_shape(key, json::not_read(), false);
  }
  return *this;
}

JsonMembers& JsonMembers::ignore(std::span<const std::string_view> keys) {
  ignored_ = keys;
  for (const std::string_view key : keys) {
    if (shape_ != nullptr) add_shape(key, json::not_read(), false);
  }
  return *this;
}

Status JsonMembers::finish() {
  if (!object_ || !status_.ok()) return status_;
  if (members_taken_ == object_->size()) return missing_;
  const auto among = [](std::string_view key, auto&& keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  for (std::size_t i = 0; i < object_->size(); ++i) {
    const std::string_view key = (*object_)[i].key();
    if (among(key, known_) || among(key, ignored_)) continue;
    const std::span<const std::string_view> known(known_.data(), known_.size());
    return (*object_)[i].error("unknown key \"" + std::string(key) + "\"" + suggestion(key, known));
  }
  return missing_;
}

}  // namespace shardwright
