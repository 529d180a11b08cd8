#include "runtime/report/embedding/plan/best_text.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "runtime/report/text/format.h"
#include "runtime/report/text/style.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
namespace {

using embedding::PerfModel;
using embedding::Problem;
using Align = TextTable::Align;

std::vector<std::string> layout_row(const EmbeddingPlanResult& result, bool chosen) {
  const Problem& problem = *result.problem;
  const embedding::Topology& topology = problem.topology();
  // The bound of the result is one for all layouts, that of the certificate one for the chosen one.
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
  if (to_bound <= kProvenGap) return paint("proved optimal", Ink::kGood, colours) + proof;
  return "no plan rates below " + rating_text(problem, *result.lower_bound) + ": at most " +
         format_ms(100 * to_bound) + " %" + " from optimal" + proof;
}

// Rows for the first and the last improvements.
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

}  // namespace shardwright
