#include "runtime/report/embedding/questions/sweep_text.h"

#include <algorithm>
#include <utility>

#include "core/text/printable.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
namespace {

using Align = TextTable::Align;

std::string rating_text(const embedding::ProblemSpec& problem, double rating) {
  if (problem.perf_model == embedding::PerfModel::kPerf) return format_ms(rating);
  return format_bytes(Bytes(static_cast<std::int64_t>(rating)));
}

std::string hbm_text(const std::optional<std::int64_t>& bytes) {
  return bytes ? format_bytes(Bytes(*bytes)) : "-";
}

// Ranks of a sharding group.
std::string group_text(const SweepPoint& point) {
  return point.sharding_group_size ? std::to_string(*point.sharding_group_size) : "";
}

std::string share_text(double part) { return part <= 0 ? "0%" : format_ms(part * 100) + "%"; }

std::string reasons(const Sweep& sweep, std::size_t width) {
  std::string text;
  for (const SweepPoint& point : sweep.points) {
    if (point.fits()) continue;
    text += wrap(format_plural(static_cast<std::uint64_t>(point.ranks), "rank") + ", " +
                     hbm_text(point.hbm_bytes) + ", batch " +
                     format_count(static_cast<std::uint64_t>(point.batch_size)) + ": " +
                     printable(why_not(point)),
                 width, 2);
  }
  return text.empty() ? "" : "\nWhat does not fit, and why\n" + text;
}

std::string points_table(const embedding::ProblemSpec& problem, const Sweep& sweep,
                         std::size_t width) {
  const bool perf = problem.perf_model == embedding::PerfModel::kPerf;
  TextTable table({{"ranks", Align::kRight, 0},
                   {"group", Align::kRight, 0},
                   {"HBM", Align::kRight, 0},
                   {"batch", Align::kRight, 0},
                   {perf ? "rating ms" : "rating", Align::kRight, 0},
                   {"bound", Align::kRight, 2},
                   {"gap", Align::kRight, 1},
                   {"peak HBM", Align::kRight, 3},
                   {"fits", Align::kLeft, 0}});
  const auto has_group = [](const SweepPoint& point) {
    return point.sharding_group_size.has_value();
  };
  if (std::none_of(sweep.points.begin(), sweep.points.end(), has_group)) table.hide(1);
  for (const SweepPoint& point : sweep.points) {
    const bool bounded = point.fits() && point.lower_bound;
    table.add_row({format_count(static_cast<std::uint64_t>(point.ranks)), group_text(point),
                   hbm_text(point.hbm_bytes),
                   format_count(static_cast<std::uint64_t>(point.batch_size)),
                   point.fits() ? rating_text(problem, *point.rating) : "-",
                   bounded ? rating_text(problem, *point.lower_bound) : "-",
                   bounded ? share_text(gap(*point.rating, *point.lower_bound)) : "-",
                   point.fits() ? format_bytes(Bytes(point.peak_hbm_bytes)) : "-",
                   point.fits() ? "yes" : "no"});
  }
  return table.render(width);
}

}  // namespace

std::string sweep_report(const embedding::ProblemSpec& problem, const Sweep& sweep,
                         std::size_t width) {
  std::string text = (problem.name.empty() ? "" : printable(problem.name) + ": ") +
                     format_plural(problem.tables.size(), "table") + ", " +
                     format_plural(sweep.points.size(), "machine") + " in " +
                     format_seconds(sweep.total_s) + "\n\n";
  text += points_table(problem, sweep, width) + reasons(sweep, width) +
          "\nSmallest number of ranks that fits\n";
  TextTable smallest(
      {{"HBM", Align::kRight, 0}, {"batch", Align::kRight, 0}, {"ranks", Align::kRight, 0}});
  for (const SmallestMachine& machine : smallest_machines(sweep)) {
    smallest.add_row(
        {hbm_text(machine.hbm_bytes), format_count(static_cast<std::uint64_t>(machine.batch_size)),
         machine.ranks ? format_count(static_cast<std::uint64_t>(*machine.ranks)) : "none"});
  }
  return text + smallest.render(width);
}

}  // namespace shardwright
