// The progress line of a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/embedding/options.h"

namespace shardwright::cli {

// Describes the state of a search in at most `width` columns of ASCII: the stage, the percentage of
// the stage that is done (below 100 while the search runs), the best rating with its unit, the time
// left. If the line is too narrow, leaves out the least important items.
std::string progress_text(const PlanProgress& progress, std::size_t width);

// Shows the progress on standard error as one line, which is redrawn at most ten times a second and
// removed at the end. Shows nothing if standard error is no terminal or planning is quick. Thread
// safety: one thread at a time.
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
