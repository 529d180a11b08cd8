#include "runtime/report/embedding/plan/best_text.h"

#include "runtime/report/text/format.h"
#include "runtime/report/text/style.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
namespace {

using embedding::PerfModel;
using embedding::Problem;
using Align = TextTable::Align;

}  // namespace

std::string proof_text(const embedding::BoundCertificate& certificate) {
  if (certificate.by_search) return "trying all plans";
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
