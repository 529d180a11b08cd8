#include "search/program/tensor/compat_checks.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/program/simulator/array.h"

namespace shardwright::program {
namespace {

// Returns true if the members' parts, joined along dimension 0, are what the rank wants.
bool gathers_wanted(const Shape& shape, const DistAttr& source, const DistAttr& target, Rank rank,
                    const Step& gather) {
  std::optional<Part> stack;
  for (const Rank member : gather.group) {
    const Part part = part_at(shape, source, *source.mesh.position_of(member));
    if (!stack) {
      stack = part;
      continue;
    }
    const std::optional<Join> fit = join(*stack, part);
    if (!fit || fit->dim != 0 || !fit->first_is_lower) return false;
    stack = fit->joined;
  }
  return stack == part_at(shape, target, *target.mesh.position_of(rank));
}

}  // namespace

bool gathers_correctly(const ReshardPlan& plan, const Shape& shape, const DistAttr& source,
                       const DistAttr& target) {
  std::unordered_map<Rank, const std::vector<Rank>*> groups;
  for (const auto& [rank, steps] : plan.ranks) {
    const Step& first = steps.front();
    if (is_collective(first.kind)) {
      if (first.kind == StepKind::kAllGather && !first.need_split &&
          !gathers_wanted(shape, source, target, rank, first)) {
        return false;
      }
      groups.emplace(rank, &first.group);
      continue;
    }
    const std::size_t position = *source.mesh.position_of(rank);
    const Part held = part_at(shape, source, position);
    const Part wanted = part_at(shape, target, *target.mesh.position_of(rank));
    if (first.part != relative(wanted, held)) return false;
    if (!lies_within(first.part, shape_of(held))) return false;
  }
  for (const auto& [rank, group] : groups) {
    if (std::find(group->begin(), group->end(), rank) == group->end()) return false;
    for (const Rank member : *group) {
      const auto other = groups.find(member);
      if (other == groups.end() || *other->second != *group) return false;
    }
  }
  return true;
}

bool joins_all_parts(const ReshardPlan& plan) {
  for (const auto& [rank, steps] : plan.ranks) {
    for (const Step& step : steps) {
      std::vector<Part> boxes;
      for (const Part& part : step.parts)
        absorb(boxes, part, [](std::size_t, const Join&) {});
      if (boxes.size() > 1) return false;
    }
  }
  return true;
}

}  // namespace shardwright::program
