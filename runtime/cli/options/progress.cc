#include "runtime/cli/options/progress.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include <unistd.h>

#include "runtime/execution/processes/launch.h"

namespace shardwright::cli {
namespace {

constexpr double kQuietForSeconds = 0.3;
constexpr double kIntervalSeconds = 0.1;

std::string bar(double share) {
  constexpr int kWidth = 20;
  const int full = static_cast<int>(share * kWidth);
  return "[" + std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(kWidth - full), '-') + "]";
}

}  // namespace

ProgressLine::ProgressLine() : terminal_(is_first_process() && isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void ProgressLine::show(const PlanProgress& progress) {
  if (!terminal_ || progress.elapsed_s < kQuietForSeconds) return;
  if (drawn_ && progress.elapsed_s - last_s_ < kIntervalSeconds) return;
  drawn_ = true;
  last_s_ = progress.elapsed_s;
  const auto done = static_cast<double>(progress.proposals);
  const double all = std::max(done, static_cast<double>(progress.proposals_at_most));
  const double share = all > 0 ? done / all : 1;
  const double left_s = share > 0 ? progress.elapsed_s * (1 - share) / share : 0;
  const std::string best =
      progress.best_rating ? "best " + std::to_string(*progress.best_rating) : "nothing fits yet";
  std::fprintf(stderr, "\r\x1b[K%s %3.0f %%  %.0f proposals/s  %s  %.0f s left", bar(share).c_str(),
               share * 100, done / progress.elapsed_s, best.c_str(), left_s);
  std::fflush(stderr);
}

}  // namespace shardwright::cli
