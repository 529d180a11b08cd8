// Writes values as the text of facts.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/embedding/identity/problem_facts.h"

namespace shardwright {

// Passes facts to a sink, one section and owner after the other.
// Thread safety: one thread at a time.
class FactWriter {
 public:
  explicit FactWriter(const std::function<void(const ProblemFact&)>& sink) : sink_(sink) {}

  // Starts a section. Its facts have no owner until owner() names one.
  FactWriter& section(std::string_view name) {
    section_ = name;
    owner_ = {};
    return *this;
  }
  FactWriter& owner(std::string_view name) {
    owner_ = name;
    return *this;
  }

  template <class Value>
  FactWriter& fact(std::string_view key, const Value& value) {
    text_.clear();
    append(value);
    return emit(key);
  }
  // Writes nothing if `value` is the default.
  template <class Value>
  FactWriter& unless(const Value& fallback, std::string_view key, const Value& value) {
    return value == fallback ? *this : fact(key, value);
  }
  // Every element of `list`, as `part` gives it, joined by ','.
  template <class List, class Part>
  FactWriter& list(std::string_view key, const List& list, const Part& part) {
    text_.clear();
    bool first = true;
    for (const auto& element : list) {
      if (!first) text_ += ',';
      first = false;
      append(part(element));
    }
    return emit(key);
  }
  template <class List>
  FactWriter& list(std::string_view key, const List& values) {
    return list(
        key, values, [](const auto& value) -> const auto& { return value; });
  }

 private:
  void append(bool flag) { text_ += flag ? "true" : "false"; }
  // Escapes commas, which separate the elements of a list.
  void append(std::string_view text) {
    for (const char c : text) {
      if (c == ',' || c == '\\') text_ += '\\';
      text_ += c;
    }
  }
  void append(const std::string& text) { append(std::string_view(text)); }
  template <class Number>
  requires(std::integral<Number> || std::floating_point<Number>) void append(Number number) {
    std::array<char, 32> digits;
    text_.append(digits.data(),
                 std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
  }
  FactWriter& emit(std::string_view key) {
    sink_(ProblemFact{section_, owner_, key, text_});
    return *this;
  }

  const std::function<void(const ProblemFact&)>& sink_;
  std::string_view section_;
  std::string_view owner_;
  std::string text_;
};

}  // namespace shardwright
