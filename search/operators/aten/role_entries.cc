#include "search/operators/aten/role_entries.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

namespace shardwright::operators {
namespace {

using redistribution::AxisPlacement;
using redistribution::ReduceOp;

// A set of placements along one axis: bit 0 replicates, then a bit per dimension and reduction.
using PlacementSet = std::uint32_t;

constexpr std::size_t kFirstPartial = 1 + redistribution::kMaxDims;
constexpr std::size_t kNumPlacements = kFirstPartial + redistribution::kNumReduceOps;

std::size_t number_of(const AxisPlacement& placement) {
  if (placement.is_replicate()) return 0;
  return placement.is_shard() ? 1 + placement.dim
                              : kFirstPartial + static_cast<std::size_t>(placement.reduce_op);
}

AxisPlacement placement_of(std::size_t number) {
  if (number == 0) return AxisPlacement::replicate();
  return number < kFirstPartial
             ? AxisPlacement::shard(number - 1)
             : AxisPlacement::partial(static_cast<ReduceOp>(number - kFirstPartial));
}

bool contains(PlacementSet set, const AxisPlacement& placement) {
  return (set >> number_of(placement) & 1U) != 0;
}

// The entries of all variables along one axis. Thread safety: one thread at a time.
class AxisEntries {
 public:
  AxisEntries(const AtenGraph& graph, const RoleRules& rules, std::size_t axis)
      : graph_(graph), rules_(rules), axis_(axis) {
    for (std::uint32_t n = 0; n < graph.size(); ++n) {
      for (std::uint32_t i = 0; i < graph[n].inputs.size(); ++i)
        takes_.push_back({graph[n].inputs[i], {n, i}, rules.kind_of({n, i})});
    }
    for (std::uint32_t o = 0; o < graph.outputs().size(); ++o) {
      const TakenTensor taken{static_cast<std::uint32_t>(graph.size()) + o, 0};
      takes_.push_back({graph.outputs()[o].value, taken, rules.kind_of(taken)});
    }
    for (std::uint32_t n = 0; n < graph.size(); ++n)
      start(n);
    for (const AtenOutput& output : graph.outputs()) {
      std::vector<AxisEntry> entries{{{}, {AxisPlacement::replicate()}, 0}};
      for (std::size_t dim = 0; dim < graph.tensor(output.value).shape.size(); ++dim)
        entries.push_back({{}, {AxisPlacement::shard(dim)}, 0});
      left_.emplace_back(entries.size(), 1);
      of_outputs_.push_back(std::move(entries));
    }
  }

  void propagate() {
    find_reach();
    do {
      is_changed_ = false;
      for (const Take& take : takes_)
        keep_inputs(take.taken, reachable(take.kind, made(take.ref), reach_));
      for (const AtenPair& pair : graph_.pairs()) {
        const TensorRef placeholder{pair.placeholder, 0};
        const TakenTensor output{static_cast<std::uint32_t>(graph_.size()) + pair.output, 0};
        if (made(placeholder) == kAll) continue;
        keep_inputs(output, made(placeholder));
        keep_outputs(placeholder, taken(output));
      }
      for (std::size_t t = takes_.size(); t-- > 0;)
        keep_outputs(takes_[t].ref, reachable(takes_[t].kind, taken(takes_[t].taken), reaching_));
    } while (is_changed_);
  }

  // Returns the first variable that lost all entries.
  std::optional<std::uint32_t> emptied() const { return emptied_; }

  std::vector<std::uint32_t> of(std::size_t variable) const {
    std::vector<std::uint32_t> list;
    for (std::uint32_t e = 0; e < left_[variable].size(); ++e) {
      if (left_[variable][e] != 0) list.push_back(e);
    }
    return list;
  }

 private:
  // A tensor, a use of it, and RoleRules::kind_of() of the use.
  struct Take {
    TensorRef ref;
    TakenTensor taken;
    std::uint8_t kind = 0;
  };
  using Reach = std::array<std::array<PlacementSet, kNumPlacements>, RoleRules::kNumKinds>;

  static constexpr PlacementSet kAll = (PlacementSet{1} << kNumPlacements) - 1;

  void start(std::uint32_t n) {
    const AtenNode& node = graph_[n];
    std::vector<char>& left = left_.emplace_back();
    for (const AxisEntry& entry : graph_.rule_of(node).entries) {
      left.push_back(node.is_placeholder()
                         ? !entry.outputs[0] || rules_.may_hold(n, axis_, *entry.outputs[0])
                         : rules_.may_run(n, axis_, entry));
    }
  }

  void find_reach() {
    for (std::uint8_t kind = 0; kind < RoleRules::kNumKinds; ++kind) {
      for (std::size_t from = 0; from < kNumPlacements; ++from) {
        for (std::size_t to = 0; to < kNumPlacements; ++to) {
          if (!rules_.may_move(kind, axis_, placement_of(from), placement_of(to))) continue;
          reach_[kind][from] |= PlacementSet{1} << to;
          reaching_[kind][to] |= PlacementSet{1} << from;
        }
      }
    }
  }

  static PlacementSet reachable(std::uint8_t kind, PlacementSet from, const Reach& reach) {
    if (from == kAll) return kAll;
    PlacementSet found = 0;
    for (std::size_t p = 0; p < kNumPlacements; ++p) {
      if ((from >> p & 1U) != 0) found |= reach[kind][p];
    }
    return found;
  }

  const std::vector<AxisEntry>& entries(std::size_t variable) const {
    return variable < graph_.size() ? graph_.rule_of(graph_[variable]).entries
                                    : of_outputs_[variable - graph_.size()];
  }

  // Return the placements of a tensor under all entries left; kAll if it has no placement.
  PlacementSet made(const TensorRef& ref) const {
    return placements(ref.node, [&](const AxisEntry& entry) { return entry.outputs[ref.output]; });
  }
  PlacementSet taken(const TakenTensor& taken) const {
    return placements(taken.consumer,
                      [&](const AxisEntry& entry) { return entry.inputs[taken.input]; });
  }
  template <class Placed>
  PlacementSet placements(std::size_t variable, const Placed& placed) const {
    PlacementSet set = 0;
    const std::vector<AxisEntry>& all = entries(variable);
    for (std::size_t e = 0; e < all.size(); ++e) {
      if (left_[variable][e] == 0) continue;
      const MaybeAxisPlacement placement = placed(all[e]);
      if (!placement) return kAll;
      set |= PlacementSet{1} << number_of(*placement);
    }
    return set;
  }

  void keep_inputs(const TakenTensor& taken, PlacementSet set) {
    keep(taken.consumer, set, [&](const AxisEntry& entry) { return entry.inputs[taken.input]; });
  }
  void keep_outputs(const TensorRef& ref, PlacementSet set) {
    keep(ref.node, set, [&](const AxisEntry& entry) { return entry.outputs[ref.output]; });
  }
  template <class Placed>
  void keep(std::size_t variable, PlacementSet set, const Placed& placed) {
    if (set == kAll) return;
    const std::vector<AxisEntry>& all = entries(variable);
    for (std::size_t e = 0; e < all.size(); ++e) {
      const MaybeAxisPlacement placement = placed(all[e]);
      if (left_[variable][e] == 0 || !placement || contains(set, *placement)) continue;
      left_[variable][e] = 0;
      is_changed_ = true;
    }
    if (!emptied_ && std::none_of(left_[variable].begin(), left_[variable].end(),
                                  [](char is_left) { return is_left != 0; }))
      emptied_ = static_cast<std::uint32_t>(variable);
  }

  const AtenGraph& graph_;
  const RoleRules& rules_;
  std::size_t axis_;
  std::vector<Take> takes_;                         // by consumer and input
  std::vector<std::vector<AxisEntry>> of_outputs_;  // by output of the graph
  std::vector<std::vector<char>> left_;             // by variable and entry
  Reach reach_{};                                   // by kind and source: the targets
  Reach reaching_{};                                // by kind and target: the sources
  bool is_changed_ = false;
  std::optional<std::uint32_t> emptied_;
};

bool has_entries_by_part(const AtenGraph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const AtenNode& node) {
    const std::vector<AxisEntry>& entries = graph.rule_of(node).entries;
    return std::any_of(entries.begin(), entries.end(),
                       [](const AxisEntry& entry) { return entry.by_part; });
  });
}

}  // namespace

RoleEntries::RoleEntries(const AtenGraph& graph, const redistribution::MeshShape& mesh,
                         const RoleRules& rules) {
  const std::size_t variables = graph.size() + graph.outputs().size();
  lists_.emplace_back();
  number_.assign(variables, 0);
  if (rules.roles().empty() && !has_entries_by_part(graph)) return;
  std::vector<std::vector<std::vector<std::uint32_t>>> lists(variables);
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    AxisEntries entries(graph, rules, axis);
    if (rules.is_data(axis) && mesh[axis] > 1) entries.propagate();
    if (!emptied_) emptied_ = entries.emptied();
    for (std::size_t v = 0; v < variables; ++v)
      lists[v].push_back(entries.of(v));
  }
  std::map<std::vector<std::vector<std::uint32_t>>, std::uint32_t> numbers;
  for (std::size_t v = 0; v < variables; ++v) {
    const auto [at, is_new] =
        numbers.try_emplace(lists[v], static_cast<std::uint32_t>(lists_.size()));
    if (is_new) lists_.push_back(std::move(lists[v]));
    number_[v] = at->second;
  }
}

}  // namespace shardwright::operators
