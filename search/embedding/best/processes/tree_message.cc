#include "search/embedding/best/processes/tree_message.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "search/embedding/best/processes/allocation_message.h"

namespace shardwright::embedding {
namespace {

void put(MessageWriter& to, const std::vector<CapacityMultipliers>& multipliers) {
  to.put_each(multipliers, [&](const CapacityMultipliers& own) {
    to.put(own.load);
    for (const MemoryTier tier : kMemoryTiers)
      to.put(own[tier]);
  });
}

std::vector<CapacityMultipliers> get_multipliers(MessageReader& from) {
  return from.get_each<CapacityMultipliers>([&] {
    CapacityMultipliers own;
    own.load = from.get<double>();
    for (const MemoryTier tier : kMemoryTiers)
      own[tier] = from.get<double>();
    return own;
  });
}

void put(MessageWriter& to, const MultiplierList& list) {
  to.put_each(list, [&](const std::vector<CapacityMultipliers>& own) { put(to, own); });
}

MultiplierList get_list(MessageReader& from) {
  return from.get_each<std::vector<CapacityMultipliers>>([&] { return get_multipliers(from); });
}

void put(MessageWriter& to, const Branch& branch) {
  to.put_all(branch.tables);
  to.put(branch.count);
  to.put_each(branch.first_child, [&](const auto& choice) {
    to.put(choice.first);
    to.put(choice.second);
  });
}

Branch get_branch(MessageReader& from) {
  Branch branch;
  branch.tables = from.get_all<std::uint32_t>();
  branch.count = from.get<std::uint32_t>();
  branch.first_child = from.get_each<std::pair<std::uint32_t, ClassSet>>([&] {
    const auto choice = from.get<std::uint32_t>();
    return std::pair(choice, from.get<ClassSet>());
  });
  return branch;
}

void put(MessageWriter& to, const NodeLimits& limits) {
  to.put(limits.column_work);
  to.put(limits.root_search_steps);
  to.put_flag(limits.may_divide);
}

NodeLimits get_limits(MessageReader& from) {
  NodeLimits limits;
  limits.column_work = from.get<std::uint64_t>();
  limits.root_search_steps = from.get<std::uint64_t>();
  limits.may_divide = from.get_flag();
  return limits;
}

void put(MessageWriter& to, const PricingKnowledge& known) {
  to.put(known.patterns.question);
  to.put_each(known.patterns.patterns, [&](const KnownPatterns::Pattern& own) {
    to.put(own.last_used);
    to.put(own.pattern.rank_class);
    to.put(own.pattern.load);
    to.put_each(own.pattern.shards, [&](const auto& shards) {
      to.put(shards.first);
      to.put(shards.second);
    });
  });
  to.put_all(known.center.shards);
  to.put_all(known.center.ranks);
  to.put_all(known.was_easy);
}

PricingKnowledge get_knowledge(MessageReader& from) {
  PricingKnowledge known;
  known.patterns.question = from.get<std::uint64_t>();
  known.patterns.patterns = from.get_each<KnownPatterns::Pattern>([&] {
    KnownPatterns::Pattern own;
    own.last_used = from.get<std::uint64_t>();
    own.pattern.rank_class = from.get<std::uint32_t>();
    own.pattern.load = from.get<double>();
    own.pattern.shards = from.get_each<std::pair<std::uint32_t, std::uint32_t>>([&] {
      const auto row = from.get<std::uint32_t>();
      return std::pair(row, from.get<std::uint32_t>());
    });
    return own;
  });
  known.center.shards = from.get_all<double>();
  known.center.ranks = from.get_all<double>();
  known.was_easy = from.get_all<std::uint8_t>();
  return known;
}

void put(MessageWriter& to, const LaneReport::Answered& own) {
  to.put(own.node);
  const bool is_divided = own.answer.kind == NodeAnswer::Kind::kDivided;
  to.put_flag(is_divided);
  if (is_divided) {
    put(to, own.answer.branch);
    put(to, own.answer.proof.fixing);
  } else {
    put_leaf(to, own.answer.proof);
    to.put(own.answer.search_steps);
  }
}

LaneReport::Answered get_answered(MessageReader& from) {
  LaneReport::Answered own{from.get<BoundTree::NodeId>(), {}};
  if (from.get_flag()) {
    own.answer.kind = NodeAnswer::Kind::kDivided;
    own.answer.branch = get_branch(from);
    own.answer.proof.fixing = get_list(from);
  } else {
    own.answer.kind = NodeAnswer::Kind::kExcluded;
    own.answer.proof = get_leaf(from);
    own.answer.search_steps = from.get<std::uint64_t>();
  }
  return own;
}

}  // namespace

void put_leaf(MessageWriter& to, const BoundNode& leaf) {
  put(to, leaf.fixing);
  put(to, leaf.multipliers);
  to.put_each(leaf.shard_duals, [&](const ShardDual& dual) {
    to.put(dual.option.value());
    to.put(dual.run);
    to.put(dual.value);
  });
  to.put_all(leaf.max_pattern_values);
  to.put_flag(leaf.by_search);
}

BoundNode get_leaf(MessageReader& from) {
  BoundNode leaf;
  leaf.fixing = get_list(from);
  leaf.multipliers = get_multipliers(from);
  leaf.shard_duals = from.get_each<ShardDual>([&] {
    ShardDual dual;
    dual.option = OptionId(from.get<OptionId::Rep>());
    dual.run = from.get<std::uint32_t>();
    dual.value = from.get<double>();
    return dual;
  });
  leaf.max_pattern_values = from.get_all<double>();
  leaf.by_search = from.get_flag();
  return leaf;
}

void put(MessageWriter& to, const Pins& pins) {
  to.put_each(pins.steps, [&](const Pins::Step& step) {
    put(to, step.fixing);
    to.put_all(step.tables);
  });
  to.put_all(pins.tables);
  to.put_all(pins.sizes);
  to.put(pins.gain);
}

Pins get_pins(MessageReader& from) {
  Pins pins;
  pins.steps = from.get_each<Pins::Step>([&] {
    Pins::Step step;
    step.fixing = get_list(from);
    step.tables = from.get_all<std::uint32_t>();
    return step;
  });
  pins.tables = from.get_all<std::uint32_t>();
  pins.sizes = from.get_all<std::uint32_t>();
  pins.gain = from.get<double>();
  return pins;
}

void put(MessageWriter& to, const TreePart& part) {
  to.put(static_cast<std::uint64_t>(part.tree_size));
  to.put_each(part.nodes, [&](const TreePart::Node& node) {
    to.put(node.id);
    to.put(node.first_child);
    if (node.first_child == BoundTree::kNone) return;
    put(to, node.branch);
    put(to, node.fixing);
    to.put(node.divided);
  });
}

std::optional<TreePart> get_part(MessageReader& from, const ChoiceModel& model) {
  TreePart part;
  part.tree_size = static_cast<std::size_t>(from.get<std::uint64_t>());
  bool good = true;
  part.nodes = from.get_each<TreePart::Node>([&] {
    TreePart::Node node;
    node.id = from.get<std::uint32_t>();
    node.first_child = from.get<std::uint32_t>();
    good &= node.id < part.tree_size;
    if (node.first_child == BoundTree::kNone) return node;
    good &= std::size_t{node.first_child} + 1 < part.tree_size;
    node.branch = get_branch(from);
    node.fixing = get_list(from);
    node.divided = from.get<double>();
    good &= fits(node.branch, model);
    return node;
  });
  return good ? std::optional(std::move(part)) : std::nullopt;
}

void put(MessageWriter& to, const LaneReport& report, const ChoiceModel& model) {
  to.put_each(report.answered, [&](const LaneReport::Answered& own) { put(to, own); });
  to.put_all(report.open);
  to.put_flag(report.is_busy);
  to.put_flag(report.is_stuck);
  to.put_flag(report.was_cut_short);
  to.put_flag(report.stuck_start.has_value());
  if (report.stuck_start) put_start(to, *report.stuck_start);
  const std::optional<Allocation> found =
      report.found ? to_allocation(model, *report.found) : std::nullopt;
  to.put_flag(found.has_value());
  if (found) put(to, *found, nullptr);
  to.put(report.work);
}

std::optional<LaneReport> get_lane_report(MessageReader& from, const ChoiceModel& model) {
  LaneReport report;
  report.answered = from.get_each<LaneReport::Answered>([&] { return get_answered(from); });
  for (const LaneReport::Answered& own : report.answered) {
    const bool is_divided = own.answer.kind == NodeAnswer::Kind::kDivided;
    if (is_divided && !fits(own.answer.branch, model)) return std::nullopt;
  }
  report.open = from.get_all<BoundTree::NodeId>();
  report.is_busy = from.get_flag();
  report.is_stuck = from.get_flag();
  report.was_cut_short = from.get_flag();
  if (from.get_flag()) {
    report.stuck_start = get_start(from, model);
    if (!report.stuck_start) return std::nullopt;
  }
  if (from.get_flag()) {
    const std::optional<Allocation> found = get_allocation(from, model, nullptr);
    if (!found) return std::nullopt;
    PlanCopies copies;
    report.found = to_plan(model, *found, copies);
  }
  report.work = from.get<std::uint64_t>();
  return report;
}

void put(MessageWriter& to, const TreeStart& start, const ChoiceModel& model) {
  to.put(static_cast<std::uint8_t>(start.view));
  if (start.view == RankView::kPinned) put(to, *start.pins);
  to.put(start.target);
  put(to, start.limits);
  put(to, start.part);
  put(to, start.first_lane, model);
  put(to, start.known);
}

std::optional<TreeStart> get_tree_start(MessageReader& from, const ChoiceModel& model) {
  TreeStart start;
  const auto view = from.get<std::uint8_t>();
  if (view > static_cast<std::uint8_t>(RankView::kSeparate)) return std::nullopt;
  start.view = static_cast<RankView>(view);
  if (start.view == RankView::kPinned) start.pins = get_pins(from);
  start.target = from.get<double>();
  start.limits = get_limits(from);
  std::optional<TreePart> part = get_part(from, model);
  if (!part) return std::nullopt;
  start.part = *std::move(part);
  std::optional<LaneReport> first = get_lane_report(from, model);
  if (!first) return std::nullopt;
  start.first_lane = *std::move(first);
  start.known = get_knowledge(from);
  return start;
}

}  // namespace shardwright::embedding
