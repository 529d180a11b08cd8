#include "runtime/cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

#include "runtime/execution/processes/launch.h"
#include "runtime/report/text/format.h"

namespace shardwright::cli {
namespace {

constexpr double kQuietForSeconds = 0.3;
constexpr double kIntervalSeconds = 0.1;

constexpr std::size_t kUsualWidth = 80;

// Returns the fraction of the stage that is done, by the limit of best mode that is nearest.
double share_of(const PlanProgress& progress) {
  const auto part = [](double done, double all) { return all > 0 ? done / all : 0; };
  if (!progress.is_best_search) {
    return part(static_cast<double>(progress.proposals),
                static_cast<double>(progress.proposals_at_most));
  }
  const double work = part(static_cast<double>(progress.work_steps),
                           static_cast<double>(progress.work_limit.value_or(0)));
  return std::max(work, part(progress.elapsed_s, progress.time_limit_s.value_or(0)));
}

std::string rating_text(const PlanProgress& progress) {
  if (!progress.best_rating) return "nothing fits yet";
  if (!progress.rating_is_bytes) return "best " + format_ms(*progress.best_rating) + " ms";
  return "best " + format_bytes(Bytes(static_cast<std::int64_t>(*progress.best_rating)));
}

// Returns the number of columns of the terminal.
std::size_t line_width() {
  winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                         : kUsualWidth;
}

}  // namespace

std::string progress_text(const PlanProgress& progress, std::size_t width) {
  constexpr double kNearlyAll = 0.99;
  constexpr std::size_t kBarWidth = 20;
  const double share = std::min(share_of(progress), kNearlyAll);
  const std::string percent = std::to_string(static_cast<int>(share * 100)) + " %";
  const double left_s = share > 0 ? progress.elapsed_s * (1 - share) / share : 0;
  std::array<char, 32> left{};
  std::snprintf(left.data(), left.size(), "%.0f s left", left_s);
  struct Part {
    int rank;  // 0 is the most important part
    std::string text;
  };
  const std::array<Part, 5> parts{{
      {3, format_bar(share, 1, kBarWidth)},
      {0, percent},
      {4, progress.is_best_search ? "searching" : "proposals"},
      {1, rating_text(progress)},
      {2, share > 0 ? left.data() : "starting"},
  }};
  std::array<bool, parts.size()> shown{};
  std::size_t used = 0;
  for (int rank = 0; rank < static_cast<int>(parts.size()); ++rank) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::size_t more = parts[i].text.size() + (used > 0 ? 2 : 0);
      if (parts[i].rank != rank || used + more > width) continue;
      shown[i] = true;
      used += more;
    }
  }
  std::string line;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (shown[i]) line += (line.empty() ? "" : "  ") + parts[i].text;
  }
  return line;
}

ProgressLine::ProgressLine() : terminal_(is_first_process() && isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void ProgressLine::show(const PlanProgress& progress) {
  if (!terminal_ || progress.elapsed_s < kQuietForSeconds) return;
  if (drawn_ && progress.elapsed_s - last_s_ < kIntervalSeconds) return;
  drawn_ = true;
  last_s_ = progress.elapsed_s;
  // The last column stays free, since some terminals would break the line after it.
  std::fprintf(stderr, "\r\x1b[K%s", progress_text(progress, line_width() - 1).c_str());
  std::fflush(stderr);
}

}  // namespace shardwright::cli
