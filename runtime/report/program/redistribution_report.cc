#include "runtime/report/program/redistribution_report.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <utility>
#include <variant>

#include "core/redistribution/placement/placement.h"
#include "core/redistribution/placement/placement_notation.h"
#include "core/units.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
namespace {

using namespace redistribution;
using Align = TextTable::Align;

std::string us_text(double us) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", us);
  return text.data();
}

std::string held_text(const RedistributionCase& request, const Placement& placement) {
  return format_bytes(
      Bytes(largest_box(request.shape, request.mesh, placement) * request.itemsize));
}

// Returns text such as "all_gather(0), split(1)".
std::string moves_text(const Path& path) {
  std::string text;
  for (const PathStep& step : path.steps) {
    const std::string move = to_text(step.move);
    text += (text.empty() ? "" : ", ") + move.substr(0, move.find(' '));
  }
  return text;
}

// Says which steps a sequence may have.
std::string steps_text(const RedistributionOptions& options) {
  const auto* const rings = std::get_if<RingModel>(&options.model);
  if (rings != nullptr && rings->groups) {
    return "(of collectives along one axis or several at once, permutes in which each rank sends "
           "all "
           "that it\nholds to one other, and local steps)\n";
  }
  return "(of collectives along one axis and local steps; with \"rings\" as costs, \"groups\" adds "
         "collectives\nalong several axes at once, and permutes)\n";
}

}  // namespace

std::string redistribution_text(const RedistributionCase& request,
                                const RedistributionOptions& options,
                                const PlannedRedistribution& answer, std::size_t width) {
  const Path& path = answer.path;
  const std::size_t axes = request.mesh.size();
  TextTable table(
      {{"step", Align::kLeft}, {"placement after it", Align::kLeft}, {"largest device"}, {"us"}});
  table.add_row({"", to_text(request.source, axes), held_text(request, request.source), ""});
  for (const PathStep& step : path.steps) {
    table.add_row({to_text(step.move), to_text(step.after, axes), held_text(request, step.after),
                   us_text(step.cost)});
  }
  std::string report = table.render(width) + "\n" + us_text(path.cost) + " us in " +
                       format_plural(path.steps.size(), "step") + ", " +
                       format_plural(path.num_collectives(), "collective") +
                       "; a device holds at most " + format_bytes(Bytes(answer.peak_bytes)) +
                       " during a step\n";
  report += path.is_optimal ? "no other sequence costs less\n"
                            : "the search was too long: another sequence may cost less\n";
  return report + steps_text(options);
}

std::string redistribution_front_text(const RedistributionCase& request,
                                      const RedistributionOptions& options,
                                      std::span<const PlannedRedistribution> front,
                                      std::size_t width) {
  TextTable table({{"us"}, {"a device holds"}, {"collectives"}, {"moves", Align::kLeft}});
  for (const PlannedRedistribution& answer : front) {
    table.add_row({us_text(answer.path.cost), format_bytes(Bytes(answer.peak_bytes)),
                   std::to_string(answer.path.num_collectives()), moves_text(answer.path)});
  }
  const bool proved =
      std::all_of(front.begin(), front.end(),
                  [](const PlannedRedistribution& answer) { return answer.path.is_optimal; });
  return redistribution_text(request, options, front.front(), width) + "\nTime against memory: " +
         (proved ? "no other path beats" : "no path that was found beats") +
         " one of these in both\n" + table.render(width);
}

}  // namespace shardwright
