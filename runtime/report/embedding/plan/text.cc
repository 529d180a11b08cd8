#include "runtime/report/embedding/plan/text.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/text/printable.h"
#include "runtime/embedding/identity/identity.h"
#include "runtime/io/embedding/problem/problem_json.h"
#include "runtime/report/embedding/plan/best_text.h"
#include "runtime/report/embedding/plan/memory_text.h"
#include "runtime/report/embedding/plan/needs_text.h"
#include "runtime/report/embedding/plan/ranks_text.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/style.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
namespace {

using embedding::Assignment;
using embedding::Problem;
using embedding::Rank;
using embedding::SearchSpace;
using embedding::ShardingOption;
using embedding::Storage;
using embedding::Table;
using embedding::to_name;
using Align = TextTable::Align;

constexpr std::size_t kTableRanksWidth = 24;

// "2 hosts", or "1 host of 8, 4 ranks on none".
std::string hosts_text(const embedding::Topology& topology) {
  std::string hosts =
      format_plural(topology.num_hosts(), topology.pod_size() > 1 ? "pod" : "host");
  if (!topology.has_uneven_hosts()) return hosts;
  return hosts + " of " + std::to_string(topology.local_world_size()) + ", " +
         format_plural(topology.world_size() - topology.num_hosted_ranks(), "rank") + " on none";
}

std::string problem_line(const Problem& problem) {
  const embedding::Topology& topology = problem.topology();
  const bool replicated = topology.num_replicas() > 1;
  return format_plural(problem.tables().size(), "table") + " on " +
         (replicated ? "sharding groups of " : "") + format_plural(topology.world_size(), "rank") +
         " (" + hosts_text(topology) + ", " + std::string(to_name(topology.compute_device())) +
         (replicated ? "; " + format_count(topology.num_replicas()) + " replicas" : "") +
         "), batch " + format_count(static_cast<std::uint64_t>(problem.batch_size())) + " per rank";
}

std::string title(const Problem& problem) {
  return problem.name().empty() ? "" : printable(problem.name()) + ": ";
}

std::string shard_sizes(const ShardingOption& option) {
  const auto size = [](std::int64_t rows, std::int64_t columns) {
    return std::to_string(rows) + "x" + std::to_string(columns);
  };
  const auto& extents = option.layout->extents;
  std::string first = size(extents[0].rows, extents[0].columns);
  const bool even = std::all_of(extents.begin(), extents.end(), [&](const auto& extent) {
    return extent.rows == extents[0].rows && extent.columns == extents[0].columns;
  });
  if (option.num_shards() == 1) return first;
  return std::to_string(option.num_shards()) + " x " + (even ? "" : "at most ") + first;
}

std::vector<Rank> ranks_of(const Assignment& assignment) {
  std::vector<Rank> ranks;
  for (std::uint32_t i = 0; i < assignment.option->num_shards(); ++i) {
    ranks.push_back(assignment.rank(i));
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

std::string tables_section(const Problem& problem, const EmbeddingPlanResult& result,
                           const TextReportOptions& options) {
  const embedding::Plan& plan = *result.plan;
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    order.emplace_back(plan[i].option->total_perf().value(), i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const std::size_t shown = std::min(order.size(), options.max_tables);
  TextTable table({{"table", Align::kLeft, 0},
                   {"sharding", Align::kLeft, 0},
                   {"kernel", Align::kLeft, 2},
                   {"ranks", Align::kLeft, 1},
                   {"shards", Align::kLeft, 4},
                   {"HBM", Align::kRight, 3},
                   {"DDR", Align::kRight, 5},
                   {"SSD", Align::kRight, 5},
                   {"total ms", Align::kRight, 0}});
  Storage all;
  for (std::size_t i = 0; i < plan.size(); ++i)
    all += plan[i].option->total_storage();
  if (all.hbm.value() == 0) table.hide(5);
  if (all.ddr.value() == 0) table.hide(6);
  if (all.ssd.value() == 0) table.hide(7);
  for (std::size_t i = 0; i < shown; ++i) {
    const Assignment& assignment = plan[order[i].second];
    const ShardingOption& option = *assignment.option;
    const Storage total = option.total_storage();
    std::string kernel(to_name(option.compute_kernel));
    if (option.load_factor) kernel += " " + format_share(*option.load_factor, 1);
    table.add_row({problem.table(option.table).name, std::string(to_name(option.sharding_type)),
                   std::move(kernel), format_ranges(ranks_of(assignment), kTableRanksWidth),
                   shard_sizes(option), format_bytes(total.hbm), format_bytes(total.ddr),
                   format_bytes(total.ssd), format_ms(order[i].first)});
  }
  std::string text =
      heading("Tables, the most expensive first (times summed over shards)", options.colours) +
      table.render(options.width);
  if (shown < order.size()) {
    text += "  … and " + format_plural(order.size() - shown, "cheaper table") + "\n";
  }
  return text;
}

std::string totals_section(const EmbeddingPlanResult& result, const TextReportOptions& options) {
  struct Totals {
    std::uint64_t tables = 0, shards = 0;
    Storage storage;
    double time = 0;
  };
  std::map<std::pair<embedding::ShardingType, embedding::ComputeKernel>, Totals> by_kind;
  for (std::size_t i = 0; i < result.plan->size(); ++i) {
    const ShardingOption& option = *(*result.plan)[i].option;
    Totals& totals = by_kind[{option.sharding_type, option.compute_kernel}];
    ++totals.tables;
    totals.shards += option.num_shards();
    totals.storage += option.total_storage();
    totals.time += option.total_perf().value();
  }
  TextTable table({{"sharding", Align::kLeft, 0},
                   {"kernel", Align::kLeft, 0},
                   {"tables", Align::kRight, 0},
                   {"shards", Align::kRight, 1},
                   {"HBM", Align::kRight, 2},
                   {"DDR", Align::kRight, 3},
                   {"SSD", Align::kRight, 3},
                   {"total ms", Align::kRight, 0}});
  Bytes ssd;
  for (const auto& [kind, totals] : by_kind) {
    ssd += totals.storage.ssd;
    table.add_row({std::string(to_name(kind.first)), std::string(to_name(kind.second)),
                   format_count(totals.tables), format_count(totals.shards),
                   format_bytes(totals.storage.hbm), format_bytes(totals.storage.ddr),
                   format_bytes(totals.storage.ssd), format_ms(totals.time)});
  }
  if (ssd.value() == 0) table.hide(6);
  return heading("By kind of sharding", options.colours) + table.render(options.width);
}

std::string header(const Problem& problem, const EmbeddingPlanResult& result,
                   const TextReportOptions& options) {
  std::string text = title(problem) + problem_line(problem) + "\n";
  if (result.plan && result.best_rating) {
    text += paint("rating " + rating_text(problem, *result.best_rating), Ink::kHeading,
                  options.colours) +
            mode_text(result.mode) + "\n" + bound_text(problem, result, options.colours);
  } else {
    text += paint("no plan", Ink::kBad, options.colours) + mode_text(result.mode) + "\n";
  }
  if (result.reused) {
    text += "reused from a plan file, which was verified; nothing was searched";
  } else {
    text += format_plural(result.num_proposals, "proposal") + ", of which " +
            format_count(result.num_plans) + " fit";
  }
  if (result.search_space) {
    text += "; " + format_plural(result.search_space->size(), "sharding option");
  }
  text += "; " + format_seconds(options.read_s + result.timing.total_s) + " on " +
          format_plural(static_cast<std::uint64_t>(std::max(result.threads, 1)), "thread") + "\n";
  if (result.stopped_by != StopReason::kFinished && result.mode == PlanMode::kCompat) {
    text += "stopped early by the " + std::string(name_of(result.stopped_by)) +
            ": a longer search may find more\n";
  }
  text += identify(problem, result.given_search_space ? result.search_space.get() : nullptr).hash;
  text += result.plan ? ", " + plan_hash(problem, *result.plan) + "\n" : "\n";
  return wrap(text, options.width, 0);
}

std::string reservation_text(const Problem& problem, const EmbeddingPlanResult& result,
                             const TextReportOptions& options) {
  using embedding::ReservationSpec;
  const ReservationSpec& spec = problem.spec().reservation;
  const embedding::Reservation& reservation = *result.reservation;
  const bool has_hbm = problem.topology().has_hbm();
  const auto bytes = [&](const Storage& s) { return format_bytes(has_hbm ? s.hbm : s.ddr); };
  std::string text =
      "reservation: " + std::string(kReservationTypeNames[static_cast<std::size_t>(spec.type)]);
  if (spec.takes_percentage()) {
    text += ", " + format_share(spec.percentage, 1) + " of the capacity";
  }
  if (reservation.dense_storage) text += ", dense modules " + bytes(*reservation.dense_storage);
  if (reservation.kjt_storage) text += ", inputs " + bytes(*reservation.kjt_storage);
  return wrap(text, options.width, 2);
}

}  // namespace

std::string text_report(const Problem& problem, const EmbeddingPlanResult& result,
                        const TextReportOptions& options) {
  std::string text = header(problem, result, options);
  if (result.failure) {
    const PlanFailure& failure = *result.failure;
    text += heading("Why there is no plan (" + std::string(name_of(failure.type)) + ", " +
                        std::string(name_of(failure.reason)) + ")",
                    options.colours) +
            wrap(printable(failure.message), options.width, 2);
  }
  if (result.plan && result.reservation) {
    text += layouts_section(result, options) + ranks_section(problem, result, options);
    text += memory_section(problem, result, options) + reservation_text(problem, result, options);
    text += totals_section(result, options) + tables_section(problem, result, options);
    text += improvements_section(problem, result, options);
  } else if (result.failure) {
    const embedding::Reservation* left = result.reservation ? &*result.reservation : nullptr;
    text += needs_section(problem, memory_needs(problem, result.search_space.get(), left), options);
    if (left != nullptr) text += reservation_text(problem, result, options);
  }
  text += constraints_section(problem, options);
  for (const embedding::Violation& violation : result.evaluation.violations) {
    text += paint("violation: ", Ink::kBad, options.colours) + printable(violation.message) + "\n";
  }
  return text;
}

std::string text_report(const SearchSpace& space, const TextReportOptions& options) {
  const Problem& problem = space.problem();
  std::vector<std::vector<const ShardingOption*>> by_table(problem.tables().size());
  for (const ShardingOption& option : space.options()) {
    by_table[option.table.index()].push_back(&option);
  }
  TextTable table({{"table", Align::kLeft, 0},
                   {"rows", Align::kRight, 2},
                   {"columns", Align::kRight, 2},
                   {"options", Align::kRight, 0},
                   {"fastest", Align::kLeft, 0},
                   {"total ms", Align::kRight, 0},
                   {"HBM", Align::kRight, 1}});
  const std::size_t shown = std::min(by_table.size(), options.max_tables);
  for (std::size_t i = 0; i < shown; ++i) {
    const Table& of = problem.tables()[i];
    const auto fastest = std::min_element(
        by_table[i].begin(), by_table[i].end(),
        [](const auto* a, const auto* b) { return a->total_perf() < b->total_perf(); });
    const bool any = fastest != by_table[i].end();
    table.add_row({of.name, format_count(static_cast<std::uint64_t>(of.num_embeddings)),
                   std::to_string(of.embedding_dim), std::to_string(by_table[i].size()),
                   any ? std::string(to_name((*fastest)->sharding_type)) + "." +
                             std::string(to_name((*fastest)->compute_kernel))
                       : "-",
                   any ? format_ms((*fastest)->total_perf().value()) : "-",
                   any ? format_bytes((*fastest)->total_storage().hbm) : "-"});
  }
  std::string text = wrap(title(problem) + problem_line(problem), options.width, 0) +
                     format_plural(space.size(), "sharding option") + "\n\n" +
                     table.render(options.width);
  if (shown < by_table.size()) {
    text += "  … and " + format_plural(by_table.size() - shown, "further table") + "\n";
  }
  return text;
}

std::string summary_text(const Problem& problem, const EmbeddingPlanResult& result) {
  std::string text = "no plan";
  if (result.plan && result.best_rating) {
    text = rating_text(problem, *result.best_rating);
    std::string bound = bound_text(problem, result);
    if (!bound.empty()) bound.pop_back();  // the line break
    if (!bound.empty()) text += "; " + bound;
  }
  const bool early =
      result.stopped_by == StopReason::kTimeLimit || result.stopped_by == StopReason::kCancelled;
  return early ? text + "; stopped by " + std::string(text_of(result.stopped_by)) : text;
}

}  // namespace shardwright
