#include "runtime/report/embedding/sweep_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
namespace {

using Align = TextTable::Align;

std::string rating_text(double rating, bool in_bytes) {
  return in_bytes ? format_bytes(Bytes(static_cast<std::int64_t>(rating))) : format_ms(rating);
}

std::string hbm_text(const std::optional<std::int64_t>& bytes) {
  return bytes ? format_bytes(Bytes(*bytes)) : "-";
}

std::string share_text(double part) { return part <= 0 ? "0%" : format_ms(part * 100) + "%"; }

std::string reasons(const SweepAnswer& sweep, std::size_t width) {
  std::string text;
  for (const SweepAnswer::Point& point : sweep.points) {
    if (point.fits()) continue;
    text += wrap(format_plural(static_cast<std::uint64_t>(point.ranks), "rank") + ", " +
                     hbm_text(point.hbm_bytes) + ", batch " +
                     format_count(static_cast<std::uint64_t>(point.batch_size)) + ": " +
                     printable(point.why_not.value_or("")),
                 width, 2);
  }
  return text.empty() ? "" : "\nWhat does not fit, and why\n" + text;
}

std::string rounded(double number) { return format_count(static_cast<std::uint64_t>(number)); }

// The price is in the user's currency.
std::string price_text(double price) {
  const auto cents = static_cast<std::uint64_t>(std::llround(price * 100));
  const std::string rest = std::to_string(cents % 100);
  return format_count(cents / 100) + "." + (rest.size() < 2 ? "0" : "") + rest;
}

std::string fits_text(const SweepAnswer::Point& point) {
  if (point.failure && point.failure->type == "invalid_input") return "not valid";
  return point.fits() ? (point.on_front.value_or(false) ? "yes *" : "yes") : "no";
}

void add_row(const SweepAnswer::Point& point, bool in_bytes, TextTable& table) {
  const auto text = [](const std::optional<double>& number, const auto& form) {
    return number ? form(*number) : std::string("-");
  };
  const auto rating = [&](double number) { return rating_text(number, in_bytes); };
  table.add_row(
      {format_count(static_cast<std::uint64_t>(point.ranks)),
       point.sharding_group_size ? std::to_string(*point.sharding_group_size) : "",
       hbm_text(point.hbm_bytes), format_count(static_cast<std::uint64_t>(point.batch_size)),
       point.fits() ? rating(point.rating->value) : "-",
       text(point.gap ? point.lower_bound : std::nullopt, rating), text(point.gap, share_text),
       point.peak_bytes && !point.peak_bytes->empty()
           ? format_bytes(Bytes(point.peak_bytes->front()))
           : "-",
       text(point.samples_per_second, rounded), text(point.samples_per_second_per_rank, rounded),
       text(point.price_per_hour, price_text), text(point.price_per_billion, price_text),
       fits_text(point)});
}

std::string points_table(const SweepAnswer& sweep, std::size_t width) {
  const bool perf = !sweep.rates_bytes();
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
  const auto has_group = [](const SweepAnswer::Point& point) {
    return point.sharding_group_size.has_value();
  };
  if (std::none_of(sweep.points.begin(), sweep.points.end(), has_group)) table.hide(1);
  const bool priced =
      std::any_of(sweep.points.begin(), sweep.points.end(),
                  [](const SweepAnswer::Point& point) { return point.price_per_hour.has_value(); });
  for (const std::size_t column : {8U, 9U}) {
    if (!perf) table.hide(column);
  }
  for (const std::size_t column : {10U, 11U}) {
    if (!perf || !priced) table.hide(column);
  }
  for (const SweepAnswer::Point& point : sweep.points)
    add_row(point, !perf, table);
  return table.render(width);
}

std::string front_note(const SweepAnswer& sweep, std::size_t width) {
  if (sweep.rates_bytes() || !sweep.any_fits()) return "";
  const bool priced = sweep.points.front().price_per_hour.has_value();
  return wrap(std::string("* no other machine here is as fast, within its gap, for ") +
                  (priced ? "as low a price" : "as few ranks with as little memory") +
                  ". Samples per second are those of the embedding tables alone, at the rating" +
                  (priced ? "; per 1e9 is the price of a billion samples." : "."),
              width, 2);
}

}  // namespace

std::string sweep_report(const SweepAnswer& sweep, std::size_t width) {
  std::string text = (sweep.name ? printable(*sweep.name) + ": " : "") +
                     (sweep.num_tables ? format_plural(*sweep.num_tables, "table") + ", " : "") +
                     format_plural(sweep.points.size(), "machine") + " in " +
                     format_seconds(sweep.total_s) + "\n";
  if (sweep.estimate) text += wrap(printable(*sweep.estimate), width, 0);
  text += "\n";
  text += points_table(sweep, width) + front_note(sweep, width) + reasons(sweep, width) +
          "\nSmallest number of ranks that fits\n";
  TextTable smallest(
      {{"HBM", Align::kRight, 0}, {"batch", Align::kRight, 0}, {"ranks", Align::kRight, 0}});
  for (const SmallestMachine& machine : sweep.smallest) {
    smallest.add_row(
        {hbm_text(machine.hbm_bytes), format_count(static_cast<std::uint64_t>(machine.batch_size)),
         machine.ranks ? format_count(static_cast<std::uint64_t>(*machine.ranks)) : "none"});
  }
  return text + smallest.render(width);
}

}  // namespace shardwright
