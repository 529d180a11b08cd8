// The parts of a planning run that are measured one by one.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace shardwright::perf {

using Action = std::function<void()>;

// `prepare` builds the input, which is not measured, and returns the work to measure. Both execute
// the same instructions in every run.
struct Region {
  std::string name;
  std::string what;
  std::function<Action()> prepare;
};

// Makes the compiler believe that `value` is used.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

// In the order of a planning run.
const std::vector<Region>& regions();

}  // namespace shardwright::perf
