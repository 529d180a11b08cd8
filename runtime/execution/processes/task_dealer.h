// Deals tasks out to processes as they become free.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace shardwright {

// Thread safety: one thread at a time. All processes call deal() with the same number of tasks.
class TaskDealer {
 public:
  virtual ~TaskDealer() = default;

  // Calls work(i) for every i below `count`, each in one of the processes, in no particular order.
  // In the first process, calls take(i, answer) with the result of work(i), in the order of the
  // tasks, as soon as the answers before it have arrived. Returns false if a process was lost; then
  // take() was called for the first tasks only.
  virtual bool deal(std::size_t count, const std::function<std::string(std::size_t)>& work,
                    const std::function<void(std::size_t, const std::string&)>& take) = 0;
};

}  // namespace shardwright
