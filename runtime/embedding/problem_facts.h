// The facts of a problem that decide which plans are valid and what they cost, in canonical order.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <functional>
#include <string>
#include <string_view>

#include "core/embedding/problem/problem.h"

namespace shardwright {

// One value of a problem. `section` is a key of a problem file; `owner` the full name of a table or
// of another member, empty if the value is the section's; `key` the member's key, empty if the
// value is the owner's. Numbers are decimal, doubles in the shortest form that reads back as the
// same double; lists are joined by ','.
struct ProblemFact {
  std::string_view section;
  std::string_view owner;
  std::string_view key;
  std::string_view value;
};

// Calls `fact` with every fact of the problem: sections in a fixed order, owners sorted, so the
// order of tables, groups and sets does not matter. A default value is no fact: whether a file
// writes it out does not matter, and a key that a later version adds does not change problems that
// lack it. Nor are these facts: the problem's name, what steers only the search (proposers,
// partitioner, order of enumeration), and what no rule or estimate reads (names of features,
// pooling, bounds checks, stochastic rounding, algorithm and precision of caches). The texts are
// valid during the call. Cost: O(problem), tables sorted by name.
void for_each_fact(const embedding::Problem& problem,
                   const std::function<void(const ProblemFact&)>& fact);

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

void write_perf_estimator(const embedding::PerfEstimatorSpec& estimator, FactWriter& out);
// What takes memory before tables do. Only what the reservation reads counts.
void write_reservation(const embedding::ProblemSpec& spec, FactWriter& out);

}  // namespace shardwright
