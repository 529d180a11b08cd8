#include "runtime/report/embedding/audit_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "runtime/embedding/plan_result.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
namespace {

using Align = TextTable::Align;
using Best = AuditAnswer::Best;

constexpr std::size_t kRatingBarWidth = 40;
constexpr std::size_t kMostChanges = 40;  // in the text; the JSON has all

// Claims have three decimals, as the log has.
std::string ms(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

std::string percent_of_one(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%", 100 * part);
  return text;
}

std::string best_line(const char* name, const std::optional<Best>& best, double now) {
  if (!best) return "";
  std::string text = std::string("  ") + name + format_bar(best->rating, now, kRatingBarWidth) +
                     " " + ms(best->rating) + " ms" +
                     (now > 0 ? ", " + percent_of_one(1 - best->rating / now) + " less" : "");
  if (best->lower_bound && gap(best->rating, *best->lower_bound) <= kProvenGap) {
    text += ", optimal";
  } else if (best->lower_bound) {
    text += ", at most " + percent_of_one(gap(best->rating, *best->lower_bound)) + " from optimal";
  }
  return text + "; " + format_plural(best->num_moved_shards, "shard") + " of " +
         format_plural(best->num_moved_tables, "table") + " move\n";
}

std::string as_run_text(const AuditAnswer::AsRun& run, std::size_t width) {
  const std::int64_t fullest =
      run.hbm_by_rank.empty() ? 0
                              : *std::max_element(run.hbm_by_rank.begin(), run.hbm_by_rank.end());
  std::string text = format_plural(run.num_tables, "table") + " in " +
                     format_plural(run.num_shards, "shard") + " on " +
                     format_plural(run.perf_by_rank.size(), "rank") + ". Rank " +
                     std::to_string(run.slowest_rank) + " is the slowest with " + ms(run.rating) +
                     " ms, " + percent_of_one(run.mean > 0 ? run.rating / run.mean - 1 : 0) +
                     " above the mean of " + ms(run.mean) + " ms.";
  if (fullest > 0) {
    text += " The fullest rank holds " + format_bytes(Bytes(fullest));
    if (run.hbm_capacity > 0) text += " of " + format_bytes(Bytes(run.hbm_capacity));
    text += " HBM, of which " + format_bytes(Bytes(run.dense_hbm)) + " are dense modules and " +
            format_bytes(Bytes(run.input_hbm)) + " inputs.";
  }
  text = wrap(text, width, 0);
  text += wrap(run.differences.empty()
                   ? "The times of all ranks follow from those of the tables, within " +
                         format_ms(run.largest_difference) + " ms."
                   : format_plural(run.differences.size(), "rank") +
                         " of the log have other times than their tables add up to, first rank " +
                         std::to_string(run.differences.front().rank) + ": printed " +
                         ms(run.differences.front().printed) + ", recomputed " +
                         ms(run.differences.front().recomputed) + " ms.",
               width, 0);
  TextTable table({{"slowest on rank " + std::to_string(run.slowest_rank), Align::kLeft, 0},
                   {"ms", Align::kRight, 0},
                   {"share", Align::kRight, 0},
                   {"module", Align::kLeft, 1}});
  for (const AuditAnswer::TableTime& row : run.slowest_tables)
    table.add_row({row.table, ms(row.ms), percent_of_one(row.share), row.module});
  return text + table.render(width);
}

std::string changes_text(const AuditAnswer& audit, std::size_t width) {
  if (audit.changes.empty()) {
    return audit.reaches ? "\nThe plan is within " + percent_of_one(audit.within) +
                               " of the best: change nothing.\n"
                         : "";
  }
  std::int64_t bytes = 0;
  for (const AuditAnswer::Change& change : audit.changes)
    bytes += change.moved_bytes;
  std::string text = "\n" + format_plural(audit.changes.size(), "change") +
                     (audit.reaches ? " reach" : " come") +
                     (audit.changes.size() == 1 ? audit.reaches ? "es" : "s" : "") +
                     (audit.reaches ? "" : " nearest to") + " the best but for " +
                     percent_of_one(audit.within) + ": " + ms(audit.changes.back().rating_after) +
                     " ms, moving " + format_bytes(Bytes(bytes)) + "\n";
  // A row has the changes until the rating is below that of all before: the others make room.
  TextTable table({{"table", Align::kLeft, 0},
                   {"from", Align::kLeft, 1},
                   {"to", Align::kLeft, 0},
                   {"moves", Align::kRight, 0},
                   {"gain ms", Align::kRight, 0},
                   {"rating then", Align::kRight, 0}});
  std::size_t rows = 0, others = 0, shown = 0;
  bytes = 0;
  double best = audit.rating_now();
  for (std::size_t i = 0; i < audit.changes.size() && rows < kMostChanges; ++i) {
    const AuditAnswer::Change& change = audit.changes[i];
    bytes += change.moved_bytes;
    if (change.rating_after >= best) {
      ++others;
      continue;
    }
    table.add_row({change.table + (others == 0 ? "" : " and " + format_plural(others, "other")),
                   change.from, change.to, format_bytes(Bytes(bytes)),
                   ms(best - change.rating_after), ms(change.rating_after)});
    best = change.rating_after;
    ++rows;
    others = 0;
    bytes = 0;
    shown = i + 1;
  }
  text += table.render(width);
  if (shown < audit.changes.size())
    text += "  … and " + format_plural(audit.changes.size() - shown, "later change") + "\n";
  return text;
}

std::string deviation(const std::optional<double>& part) {
  return part ? percent_of_one(*part) : "-";
}

std::string fit_text(const AuditAnswer& audit, std::size_t width) {
  const AuditAnswer::Constants& c = audit.inferred;
  TextTable constants({{"costs are inferred with", Align::kLeft, 0},
                       {"value", Align::kLeft, 0},
                       {"from", Align::kLeft, 0}});
  const auto add = [&](const char* name, const std::string& value, InferredFrom from) {
    constants.add_row({name, value, std::string(to_name(from))});
  };
  const auto add_bandwidth = [&](const char* name, const Inferred<double>& bandwidth) {
    add(name, format_bytes(Bytes(static_cast<std::int64_t>(bandwidth.value * 1000))) + "/s",
        bandwidth.from);
  };
  add("weights", std::string(to_name(c.weights.value)), c.weights.from);
  add("communication",
      std::string(to_name(c.communication.value)) + ", backward " +
          std::string(to_name(c.backward_communication.value)),
      c.communication.from);
  add("reduction", std::string(to_name(c.reduction.value)), c.reduction.from);
  add_bandwidth("between hosts", c.inter_host_bw);
  add_bandwidth("within a host", c.intra_host_bw);
  if (c.hbm_mem_bw) add_bandwidth("HBM", *c.hbm_mem_bw);
  if (c.ddr_mem_bw) add_bandwidth("DDR", *c.ddr_mem_bw);
  add("ranks per host", std::to_string(c.ranks_per_host.value), c.ranks_per_host.from);
  TextTable fit({{"deviation of formulas", Align::kLeft, 0},
                 {"median", Align::kRight, 0},
                 {"worst", Align::kRight, 0},
                 {"tables that do not follow", Align::kRight, 0}});
  const auto add_column = [&](const char* name, const AuditAnswer::Column& column) {
    fit.add_row({name, deviation(column.median), deviation(column.worst),
                 std::to_string(column.not_followed.size())});
  };
  add_column("compute", audit.fit.compute);
  add_column("communication", audit.fit.communication);
  add_column("total", audit.fit.total);
  add_column("memory", audit.fit.memory);
  return "\n" + constants.render(width) + "\n" + fit.render(width);
}

}  // namespace

std::string audit_report(const AuditAnswer& audit, std::size_t width) {
  const double now = audit.rating_now();
  std::string text = as_run_text(audit.as_run, width);
  if (audit.measured) {
    text += "\nAt the measured costs of " + printable(audit.measured->machine) + "\n";
    for (const std::string& sentence : audit.measured->not_measured)
      text += wrap("- " + printable(sentence), width, 2);
  }
  text += "\n  now           " + format_bar(1, 1, kRatingBarWidth) + " " + ms(now) + " ms\n" +
          best_line("same options  ", audit.same_options, now) +
          best_line("all options   ", audit.all_options, now);
  if (audit.all_options && audit.all_options->lower_bound) {
    text += "  bound         " + format_bar(*audit.all_options->lower_bound, now, kRatingBarWidth) +
            " " + ms(*audit.all_options->lower_bound) + " ms\n";
  }
  if (audit.why) text += wrap(printable(*audit.why), width, 2);
  text += changes_text(audit, width) + fit_text(audit, width) + "\nThe log does not tell\n";
  for (const std::string& sentence : audit.unknown)
    text += wrap("- " + printable(sentence), width, 2);
  return text;
}

std::string failed_report(const FailedAnswer& answer, std::size_t width) {
  std::string text = wrap("The planner gave up: " + answer.reason + ".", width, 0);
  if (!answer.failed.last_error.empty())
    text += wrap("Its last error: " + printable(answer.failed.last_error), width, 0);
  if (!answer.remedies.empty()) text += "\nEach of these would do, by the sums of memory\n";
  for (const std::string& remedy : answer.remedies)
    text += wrap("- " + printable(remedy), width, 2);
  return text;
}

std::string audit_summary(const AuditAnswer& audit) {
  std::string text = ms(audit.rating_now()) + " ms in use";
  if (audit.same_options) text += ", " + ms(audit.same_options->rating) + " with the same options";
  if (audit.all_options) text += ", " + ms(audit.all_options->rating) + " with all";
  if (!audit.changes.empty()) text += "; " + format_plural(audit.changes.size(), "change");
  return text;
}

}  // namespace shardwright
