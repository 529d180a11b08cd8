#include "runtime/cli/program/redistribute_report.h"

#include <array>
#include <cstdint>
#include <cstdio>

#include "core/redistribution/placement/placement_notation.h"
#include "core/redistribution/placement/shard_boxes.h"
#include "core/units.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright::cli {
namespace {

using namespace redistribution;

std::string us_text(double us) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", us);
  return text.data();
}

std::string held_text(const RedistributionCase& request, const Placement& placement) {
  return format_bytes(Bytes(largest_box(request.shape, request.mesh, placement) * request.itemsize));
}

}  // namespace

std::string redistribute_report(const RedistributionDocument& document,
                                const PlannedRedistribution& answer, std::size_t width) {
  const RedistributionCase& request = document.request;
  const Path& path = answer.path;
  const std::size_t axes = request.mesh.size();
  TextTable table({{"step", TextTable::Align::kLeft},
                   {"placement after it", TextTable::Align::kLeft},
                   {"largest device"},
                   {"us"}});
  table.add_row({"", to_text(request.source, axes), held_text(request, request.source), ""});
  for (const PathStep& step : path.steps) {
    table.add_row({to_text(step.move), to_text(step.after, axes), held_text(request, step.after),
                   us_text(step.cost)});
  }
  std::string report = table.render(width) + "\n" + us_text(path.cost) + " us in " +
                       format_plural(path.steps.size(), "step") + ", " +
                       format_plural(path.num_collectives(), "collective") + "; a device holds at most " +
                       format_bytes(Bytes(answer.peak_bytes)) + " during a step\n";
  report += path.is_optimal ? "no other sequence costs less\n"
                            : "the search was too long: another sequence may cost less\n";
  return report;
}

}  // namespace shardwright::cli
