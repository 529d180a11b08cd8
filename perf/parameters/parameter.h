// Parameters with names, so that a program can change one of them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <functional>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "search/embedding/bound/bound_parameters.h"

namespace shardwright::perf {

// One number, or one array of numbers, in the struct `Root` of parameters.
template <class Root>
struct Parameter {
  std::string name;   // group.member
  std::string value;  // the default, as text
  // Multiplies the parameter, or every element of an array, by `factor`. For a ratio, `factor`
  // multiplies the distance to 1. An integer is rounded and stays at least 1.
  std::function<void(Root&, double factor)> scale;
};

// A factor multiplies a quantity, or the distance of a ratio to 1.
enum class Kind { kQuantity, kRatio };

template <class T>
void scale_value(T& value, Kind kind, double factor) {
  const double old = static_cast<double>(value);
  const double scaled = kind == Kind::kRatio ? 1 + (old - 1) * factor : old * factor;
  if constexpr (std::integral<T>) {
    value = static_cast<T>(std::max(1.0, std::round(scaled)));
  } else {
    value = scaled;
  }
}

// `value` holds multipliers, which must not become negative.
inline void scale_value(embedding::KnapsackParameters::Scale& value, Kind kind, double factor) {
  for (double* const part : {&value.load, &value.hbm}) {
    scale_value(*part, kind, factor);
    *part = std::max(0.0, *part);
  }
}

template <class T, std::size_t size>
void scale_value(std::array<T, size>& values, Kind kind, double factor) {
  for (T& value : values)
    scale_value(value, kind, factor);
}

template <class T>
void print_value(std::ostream& out, const T& value) {
  out << value;
}

inline void print_value(std::ostream& out, const embedding::KnapsackParameters::Scale& value) {
  out << value.load << " and " << value.hbm;
}

template <class T, std::size_t size>
void print_value(std::ostream& out, const std::array<T, size>& values) {
  for (std::size_t i = 0; i < size; ++i) {
    out << (i == 0 ? "" : ", ");
    print_value(out, values[i]);
  }
}

// Adds the members of one struct `Own` of parameters to a list.
template <class Root, class Own>
class ParameterGroup {
 public:
  using Find = Own& (*)(Root&);

  ParameterGroup(std::vector<Parameter<Root>>& all, std::string name, Find find)
      : all_(&all), name_(std::move(name)), find_(find) {}

  template <class T>
  void add(const char* member, T Own::*pointer, Kind kind = Kind::kQuantity) const {
    std::ostringstream value;
    print_value(value, Own().*pointer);
    all_->push_back({name_ + "." + member, value.str(),
                     [find = find_, pointer, kind](Root& root, double factor) {
                       scale_value(find(root).*pointer, kind, factor);
                     }});
  }

 private:
  std::vector<Parameter<Root>>* all_;
  std::string name_;
  Find find_;
};

}  // namespace shardwright::perf
