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

// One value of a problem. `section` is a key of a problem file. `owner` is the full name of a table
// or the name of another member; it is empty if the value belongs to the section itself. `key` is
// the member's key; it is empty if the value belongs to the owner itself. Numbers are decimal;
// doubles have the shortest form that reads back as the same double. Lists are joined by ','.
struct ProblemFact {
  std::string_view section;
  std::string_view owner;
  std::string_view key;
  std::string_view value;
};

// Calls `fact` for every fact of the problem, sections in a fixed order and owners sorted. The
// order of tables, groups and sets in the problem therefore does not matter. Default values are
// left out, so that it does not matter whether a file writes them, and keys of later versions do
// not change the facts of older problems. Also left out: the problem's name, settings that only
// steer the search (proposers, partitioner, order of enumeration), and settings that no rule or
// estimate reads (names of features, pooling, bounds checks, stochastic rounding, algorithm and
// precision of caches). The texts are valid only during the call. Cost: O(problem), and sorting
// tables.
void for_each_fact(const embedding::Problem& problem,
                   const std::function<void(const ProblemFact&)>& fact);

// Passes facts to a sink, grouped by section and owner. Keeps a reference to the sink. Thread
// safety: one thread at a time.
class FactWriter {
 public:
  explicit FactWriter(const std::function<void(const ProblemFact&)>& sink) : sink_(sink) {}

  // Starts a section. Its facts have no owner until owner() is called.
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
  // Writes the fact unless `value` equals the default `fallback`.
  template <class Value>
  FactWriter& unless(const Value& fallback, std::string_view key, const Value& value) {
    return value == fallback ? *this : fact(key, value);
  }
  // Writes part(element) for every element of `list`, joined by ','.
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
// Writes what takes memory before tables do, as far as the reservation reads it.
void write_reservation(const embedding::ProblemSpec& spec, FactWriter& out);

}  // namespace shardwright
