// Distributes tasks among processes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace shardwright {

// Tasks go to processes as these become free. All processes call deal() with the same `count`.
// Thread safety: one thread at a time.
class TaskDealer {
 public:
  virtual ~TaskDealer() = default;

  // Calls work(i) for every i < `count`, each in one process, in any order. In the first process,
  // also calls take(i, result of work(i)) in ascending order of i, as soon as the results up to i
  // have arrived. Returns false if a process was lost; later calls of take() are then missing.
  virtual bool deal(std::size_t count, const std::function<std::string(std::size_t)>& work,
                    const std::function<void(std::size_t, const std::string&)>& take) = 0;
};

}  // namespace shardwright
