// The parts of a planning run that are measured one by one.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace shardwright::perf {

using Action = std::function<void()>;

// `prepare` builds the input and returns the action to measure; only the action is measured. Both
// execute the same instructions in every run.
struct Region {
  std::string name;
  std::string what;
  std::function<Action()> prepare;
};

// Makes the compiler assume that `value` is used, so that it does not remove its computation.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

// Returns all regions in the order of a planning run.
const std::vector<Region>& regions();

}  // namespace shardwright::perf
