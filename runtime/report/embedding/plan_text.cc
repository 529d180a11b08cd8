#include "runtime/report/embedding/plan_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "runtime/embedding/identity.h"
#include "runtime/embedding/memory_parts.h"
#include "runtime/embedding/verdict.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/report/embedding/plan_report.h"
#include "runtime/report/embedding/ranks_text.h"
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

// Returns text such as "2 hosts", or "1 host of 8, 4 ranks on none".
std::string hosts_text(const embedding::Topology& topology) {
  std::string hosts = format_plural(topology.num_hosts(), topology.pod_size() > 1 ? "pod" : "host");
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
    text += paint("rating " + rating_text(problem, *result.best_rating), TextStyle::kHeading,
                  options.colours) +
            mode_text(result.mode) + "\n" + bound_text(problem, result, options.colours);
    if (const std::string estimate = estimate_text(problem.spec()); !estimate.empty())
      text += estimate + "\n";
  } else {
    text += paint("no plan", TextStyle::kBad, options.colours) + mode_text(result.mode) + "\n";
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

// The sentences of the verdict.
std::string verdict_section(const Problem& problem, const EmbeddingPlanResult& result,
                            const TextReportOptions& options) {
  std::string text;
  for (const std::string& sentence : verdict_sentences(problem, result))
    text += wrap("- " + sentence, options.width, 2);
  return text.empty() ? "" : heading("Verdict", options.colours) + text;
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
    text += verdict_section(problem, result, options);
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
    text += paint("violation: ", TextStyle::kBad, options.colours) + printable(violation.message) +
            "\n";
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

namespace {

using embedding::PerfModel;
using embedding::Problem;
using Align = TextTable::Align;

std::vector<std::string> layout_row(const EmbeddingPlanResult& result, bool chosen) {
  const Problem& problem = *result.problem;
  const embedding::Topology& topology = problem.topology();
  // The result's bound holds for all layouts. The certificate's bound holds for the chosen layout.
  const std::optional<double> bound =
      chosen && result.certificate ? std::optional(result.certificate->bound) : result.lower_bound;
  std::string rating = "no plan";
  if (result.plan) {
    rating = rating_text(problem, *result.best_rating);
  } else if (!result.failure || !result.failure->proof) {
    rating = "none found";
  }
  return {std::to_string(topology.world_size()),
          std::to_string(topology.num_replicas()),
          std::to_string(topology.pod_size()),
          rating,
          bound && result.plan ? rating_text(problem, *bound) : "",
          chosen ? "chosen" : ""};
}

}  // namespace

std::string layouts_section(const EmbeddingPlanResult& result, const TextReportOptions& options) {
  if (result.other_layouts.empty()) return "";
  TextTable table({{"group of ranks", Align::kRight, 0},
                   {"replicas", Align::kRight, 0},
                   {"pod of hosts", Align::kRight, 0},
                   {"rating", Align::kRight, 0},
                   {"bound", Align::kRight, 0},
                   {"", Align::kLeft, 0}});
  std::vector<const EmbeddingPlanResult*> all = {&result};
  for (const EmbeddingPlanResult& other : result.other_layouts)
    all.push_back(&other);
  const auto order = [](const EmbeddingPlanResult& own) {
    const embedding::Topology& topology = own.problem->topology();
    return embedding::MachineLayout{topology.world_size(), topology.pod_size()};
  };
  std::sort(all.begin(), all.end(),
            [&](const auto* a, const auto* b) { return order(*a) < order(*b); });
  const embedding::TopologySpec& spec = result.problem->topology().spec();
  for (const std::size_t column : {std::size_t{0}, std::size_t{1}}) {
    if (!spec.groups) table.hide(column);
  }
  if (spec.pod_sizes.empty()) table.hide(2);
  for (const EmbeddingPlanResult* own : all)
    table.add_row(layout_row(*own, own == &result));
  return heading("Layouts of the machine", options.colours) + table.render(options.width);
}

std::string proof_text(const embedding::BoundCertificate& certificate) {
  const bool is_one_search = certificate.nodes.size() == 1 && certificate.nodes.front().by_search;
  if (certificate.by_search || is_one_search) return "trying all plans";
  if (certificate.nodes.size() > 1) {
    return "a tree of " + format_count((certificate.nodes.size() + 1) / 2) + " cases";
  }
  return certificate.nodes.front().shard_duals.empty() ? "what all ranks have together"
                                                       : "what single ranks can hold";
}

std::string rating_text(const Problem& problem, double rating) {
  if (problem.spec().perf_model == PerfModel::kPerf) return format_ms(rating) + " ms";
  return format_bytes(Bytes(static_cast<std::int64_t>(rating))) + " of HBM";
}

std::string mode_text(PlanMode mode) { return " (" + std::string(name_of(mode)) + " mode)"; }

std::string bound_text(const Problem& problem, const EmbeddingPlanResult& result, bool colours) {
  if (!result.lower_bound || !result.certificate) return "";
  const double to_bound = gap(*result.best_rating, *result.lower_bound);
  const std::string proof = ", by " + proof_text(*result.certificate) + "\n";
  if (to_bound <= kProvenGap) return paint("proved optimal", TextStyle::kGood, colours) + proof;
  return "no plan rates below " + rating_text(problem, *result.lower_bound) + ": at most " +
         format_ms(100 * to_bound) + " %" + " from optimal" + proof;
}

std::string improvements_section(const Problem& problem, const EmbeddingPlanResult& result,
                                 const TextReportOptions& options) {
  constexpr std::size_t kShown = 8;
  const auto& steps = result.improvements;
  if (steps.size() < 2) return "";
  TextTable table({{"million steps", Align::kRight, 0},
                   {"rating", Align::kRight, 0},
                   {"bound", Align::kRight, 0}});
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i >= kShown / 2 && i + kShown / 2 < steps.size()) continue;
    table.add_row({format_ms(static_cast<double>(steps[i].work) * 1e-6),
                   rating_text(problem, steps[i].rating),
                   steps[i].bound > 0 ? rating_text(problem, steps[i].bound) : ""});
  }
  const std::string cut = steps.size() > kShown
                              ? " (" + format_count(steps.size() - kShown) + " between left out)"
                              : "";
  return heading("Improvements" + cut, options.colours) + table.render(options.width);
}

namespace {

using embedding::Problem;
using embedding::Rank;
using embedding::Storage;
using Align = TextTable::Align;

constexpr std::size_t kMemoryRanksWidth = 24;

// Formats the range of several sizes as "least to most".
// Thread safety: one thread at a time.
class MemoryRange {
 public:
  void add(Bytes bytes) {
    least_ = seen_ ? std::min(least_, bytes) : bytes;
    most_ = seen_ ? std::max(most_, bytes) : bytes;
    seen_ = true;
  }
  std::string text() const {
    const std::string low = format_bytes(least_), high = format_bytes(most_);
    return low == high ? low : low + " to " + high;
  }

 private:
  bool seen_ = false;
  Bytes least_, most_;
};

// Bytes of capacity, reservation, reserved memory and margin.
using SetAside = std::array<Bytes, 4>;

struct Group {
  std::vector<Rank> ranks;
  MemoryRange tables, free;
};

}  // namespace

std::string memory_section(const Problem& problem, const EmbeddingPlanResult& result,
                           const TextReportOptions& options) {
  const bool has_hbm = problem.topology().has_hbm();
  const auto tier = [&](const Storage& s) { return has_hbm ? s.hbm : s.ddr; };
  std::map<SetAside, Group> groups;
  const auto by_rank = memory_parts(problem, *result.reservation, result.evaluation);
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    const MemoryParts& parts = by_rank[rank];
    Group& group = groups[{tier(parts.capacity), tier(parts.reservation), tier(parts.reserved),
                           tier(parts.margin)}];
    group.ranks.push_back(static_cast<Rank>(rank));
    group.tables.add(tier(parts.tables));
    group.free.add(tier(parts.free));
  }
  TextTable table({{"rank", Align::kLeft, 0},
                   {"capacity", Align::kRight, 1},
                   {"reservation", Align::kRight, 2},
                   {"reserved", Align::kRight, 4},
                   {"margin", Align::kRight, 3},
                   {"tables", Align::kRight, 0},
                   {"free", Align::kRight, 0}});
  if (!problem.spec().memory.any_reserved()) table.hide(3);
  if (!problem.spec().memory.any_margin()) table.hide(4);
  std::vector<std::pair<const SetAside*, const Group*>> order;
  order.reserve(groups.size());
  for (const auto& [sizes, group] : groups)
    order.emplace_back(&sizes, &group);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second->ranks.front() < b.second->ranks.front();
  });
  for (std::size_t i = 0; i < order.size() && i < options.max_ranks; ++i) {
    const auto& [sizes, group] = order[i];
    table.add_row({format_ranges(group->ranks, kMemoryRanksWidth), format_bytes((*sizes)[0]),
                   format_bytes((*sizes)[1]), format_bytes((*sizes)[2]), format_bytes((*sizes)[3]),
                   group->tables.text(), group->free.text()});
  }
  std::string text = heading(
      "What takes the " + std::string(has_hbm ? "HBM" : "memory") + " of a rank at its peak",
      options.colours);
  text += table.render(options.width);
  if (order.size() > options.max_ranks) {
    text += "  … and " + format_plural(order.size() - options.max_ranks, "group") + " of ranks\n";
  }
  return text;
}

namespace {

using embedding::Problem;
using Align = TextTable::Align;

constexpr std::size_t kMostTables = 10;
constexpr std::size_t kMostNames = 6;
constexpr std::size_t kMostConstraints = 20;

std::string totals_table(const embedding::Topology& topology, const MemoryNeeds& needs,
                         const TextReportOptions& options) {
  const bool has_hbm = topology.has_hbm();
  TextTable table({{"", Align::kLeft, 0},
                   {"tables need at least", Align::kRight, 0},
                   {"left for tables", Align::kRight, 0},
                   {"capacity", Align::kRight, 1}});
  if (needs.tables.empty()) table.hide(1);
  const auto add = [&](const char* tier, Bytes need, Bytes available, Bytes capacity) {
    const TextStyle style = need > available ? TextStyle::kBad : TextStyle::kPlain;
    table.add_row({tier, paint(format_bytes(need), style, options.colours), format_bytes(available),
                   format_bytes(capacity)});
  };
  if (has_hbm) add("HBM", needs.hbm, needs.available.hbm, needs.capacity.hbm);
  const char* const all = topology.counts_ssd() ? "all memory" : has_hbm ? "HBM and DDR" : "memory";
  add(all, needs.total, needs.available.sum(), needs.capacity.sum());
  return table.render(options.width);
}

// Sorts tables that fit on no rank to the front.
std::string largest_table(const Problem& problem, const MemoryNeeds& needs,
                          const TextReportOptions& options) {
  std::vector<std::size_t> order(needs.tables.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const TableNeed &x = needs.tables[a], &y = needs.tables[b];
    return x.fits != y.fits ? y.fits : x.total > y.total;
  });
  TextTable table({{"table", Align::kLeft, 0},
                   {"HBM at least", Align::kRight, 1},
                   {"memory at least", Align::kRight, 0},
                   {"", Align::kLeft, 0}});
  if (!problem.topology().has_hbm()) table.hide(1);
  const std::size_t shown = std::min({order.size(), kMostTables, options.max_tables});
  for (std::size_t i = 0; i < shown; ++i) {
    const TableNeed& need = needs.tables[order[i]];
    const bool nowhere = need.has_options && !need.fits;
    table.add_row({problem.tables()[order[i]].name, format_bytes(need.hbm),
                   format_bytes(need.total),
                   nowhere ? paint("fits on no rank", TextStyle::kBad, options.colours) : ""});
  }
  std::string text = "\n" + table.render(options.width);
  if (shown < order.size()) {
    text += "  … and " + format_plural(order.size() - shown, "table") + " more\n";
  }
  return text;
}

}  // namespace

std::string needs_section(const Problem& problem, const MemoryNeeds& needs,
                          const TextReportOptions& options) {
  const std::string text = heading("What tables need, and what all ranks have", options.colours) +
                           totals_table(problem.topology(), needs, options);
  return needs.tables.empty() ? text : text + largest_table(problem, needs, options);
}

std::string constraints_section(const Problem& problem, const TextReportOptions& options) {
  const std::vector<Constraint> list = constraint_list(problem);
  if (list.empty()) return "";
  std::string text = heading("Constraints", options.colours);
  const std::size_t shown = std::min(list.size(), kMostConstraints);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& tables = list[i].tables;
    std::string line = printable(list[i].text);
    for (std::size_t k = 0; k < std::min(tables.size(), kMostNames); ++k)
      line += (k == 0 ? ": " : ", ") + printable(problem.table(tables[k]).name);
    if (tables.size() > kMostNames) {
      line += ", … (" + format_plural(tables.size(), "table") + ")";
    }
    text += wrap(line, options.width, 2);
  }
  if (shown < list.size()) {
    text += "  … and " + format_plural(list.size() - shown, "constraint") + " more\n";
  }
  return text;
}

}  // namespace shardwright
