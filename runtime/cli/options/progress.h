// The progress line of a terminal.
#pragma once

#include "runtime/embedding/options.h"

namespace shardwright::cli {

// Shows proposals per second, the best rating and the time left on standard error, at most ten
// times a second. Shows nothing if standard error is not a terminal or planning is quick. Removes
// its line at the end. Thread safety: one thread at a time.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const PlanProgress& progress);

 private:
  bool terminal_;
  bool drawn_ = false;
  double last_s_ = 0;
};

}  // namespace shardwright::cli
