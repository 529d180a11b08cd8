#include "runtime/report/embedding/sweep_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "runtime/embedding/sweep_points.h"
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

std::string rounded(double number) { return format_count(static_cast<std::uint64_t>(number)); }

// In the user's currency.
std::string price_text(double price) {
  const auto cents = static_cast<std::uint64_t>(std::llround(price * 100));
  const std::string rest = std::to_string(cents % 100);
  return format_count(cents / 100) + "." + (rest.size() < 2 ? "0" : "") + rest;
}

std::string fits_text(const SweepPoint& point, bool on_front) {
  if (point.invalid) return "not valid";
  return point.fits() ? (on_front ? "yes *" : "yes") : "no";
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
                   {"samples/s", Align::kRight, 0},
                   {"per rank", Align::kRight, 2},
                   {"price/h", Align::kRight, 1},
                   {"per 1e9", Align::kRight, 0},
                   {"fits", Align::kLeft, 0}});
  const auto has_group = [](const SweepPoint& point) {
    return point.sharding_group_size.has_value();
  };
  if (std::none_of(sweep.points.begin(), sweep.points.end(), has_group)) table.hide(1);
  const bool priced =
      std::any_of(sweep.points.begin(), sweep.points.end(),
                  [](const SweepPoint& point) { return point.price_per_hour.has_value(); });
  for (const std::size_t column : {8U, 9U}) {
    if (!perf) table.hide(column);
  }
  for (const std::size_t column : {10U, 11U}) {
    if (!perf || !priced) table.hide(column);
  }
  const std::vector<bool> front = pareto_front(problem, sweep);
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const SweepPoint& point = sweep.points[i];
    const std::optional<double> speed = samples_per_second(problem, point);
    const bool bounded = point.fits() && point.lower_bound;
    table.add_row({format_count(static_cast<std::uint64_t>(point.ranks)), group_text(point),
                   hbm_text(point.hbm_bytes),
                   format_count(static_cast<std::uint64_t>(point.batch_size)),
                   point.fits() ? rating_text(problem, *point.rating) : "-",
                   bounded ? rating_text(problem, *point.lower_bound) : "-",
                   bounded ? share_text(gap(*point.rating, *point.lower_bound)) : "-",
                   point.fits() ? format_bytes(Bytes(point.peak_hbm_bytes)) : "-",
                   speed ? rounded(*speed) : "-",
                   speed ? rounded(*speed / static_cast<double>(point.ranks)) : "-",
                   point.price_per_hour ? price_text(*point.price_per_hour) : "-",
                   speed && priced ? price_text(*price_per_billion(problem, point)) : "-",
                   fits_text(point, front[i])});
  }
  return table.render(width);
}

std::string front_note(const embedding::ProblemSpec& problem, const Sweep& sweep,
                       std::size_t width) {
  if (problem.perf_model != embedding::PerfModel::kPerf || !sweep.any_fits()) return "";
  const bool priced = sweep.points.front().price_per_hour.has_value();
  return wrap(std::string("* no other machine here is as fast for ") +
                  (priced ? "as low a price" : "as few ranks with as little memory") +
                  ". Samples per second are those of the embedding tables alone, at the rating" +
                  (priced ? "; per 1e9 is the price of a billion samples." : "."),
              width, 2);
}

}  // namespace

std::string sweep_report(const embedding::ProblemSpec& problem, const Sweep& sweep,
                         std::size_t width) {
  std::string text = (problem.name.empty() ? "" : printable(problem.name) + ": ") +
                     format_plural(problem.tables.size(), "table") + ", " +
                     format_plural(sweep.points.size(), "machine") + " in " +
                     format_seconds(sweep.total_s) + "\n\n";
  text += points_table(problem, sweep, width) + front_note(problem, sweep, width) +
          reasons(sweep, width) + "\nSmallest number of ranks that fits\n";
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
