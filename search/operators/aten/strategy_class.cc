#include "search/operators/aten/strategy_class.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/interner.h"
#include "core/operators/aten/held_tensors.h"

namespace shardwright::operators {
namespace {

using redistribution::AxisPlacement;
using redistribution::MeshShape;
using redistribution::Placement;

// Needed because cost matrices have an entry for each pair of strategies of two nodes.
constexpr std::size_t kMostStrategies = 20'000;

// Hashes the codes of the placements of all tensors of a strategy.
struct CodesHash {
  std::size_t operator()(const std::vector<std::uint64_t>& codes) const {
    std::uint64_t hash = codes.size();
    for (const std::uint64_t code : codes)
      hash = hash_mix(hash, code);
    return hash;
  }
};

// Makes all combinations of entries, one axis after the other. Thread safety: one thread at a time.
class Combinations {
 public:
  // `tensors`: outputs, then inputs; null if the entries have no placement for it. `by_axis`: the
  // entries to combine along each axis; no lists: all.
  Combinations(const std::vector<AxisEntry>& entries, std::vector<const AtenTensor*> tensors,
               const MeshShape& mesh, std::span<const std::vector<std::uint32_t>> by_axis)
      : entries_(entries),
        tensors_(std::move(tensors)),
        mesh_(mesh),
        by_axis_(by_axis.begin(), by_axis.end()),
        devices_(entries.size(), 1) {
    if (!by_axis_.empty()) return;
    by_axis_.assign(mesh.size(), std::vector<std::uint32_t>(entries.size()));
    for (std::vector<std::uint32_t>& all : by_axis_)
      std::iota(all.begin(), all.end(), 0U);
  }

  // Returns false if there are more than kMostStrategies combinations.
  bool run() {
    extend(0, std::vector<Placement>(tensors_.size()));
    return !too_many_;
  }
  // By strategy: a placement for each tensor.
  const std::vector<std::vector<Placement>>& found() const { return found_; }

 private:
  const MaybeAxisPlacement& on(const AxisEntry& entry, std::size_t tensor) const {
    const std::size_t outputs = entry.outputs.size();
    return tensor < outputs ? entry.outputs[tensor] : entry.inputs[tensor - outputs];
  }

  // Adds the entry's placements on an axis to the placements on earlier axes. Returns false if they
  // are incompatible or if a device gets no elements.
  bool place(const AxisEntry& entry, std::size_t axis, std::vector<Placement>& placements) const {
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      if (tensors_[t] == nullptr) continue;
      const AxisPlacement& wanted = *on(entry, t);
      Placement& placement = placements[t];
      if (wanted.is_partial()) {
        if (!placement.commutes(wanted.reduce_op)) return false;
        placement = placement.with_partial(axis, wanted.reduce_op);
      } else if (wanted.is_shard()) {
        placement = placement.with_shard(axis, wanted.dim);
        std::int64_t parts = 1;
        for (const std::uint8_t cutting : placement.axes_of(wanted.dim))
          parts *= mesh_[cutting];
        if (parts > 1 && tensors_[t]->shape[wanted.dim] < parts) return false;
      }
    }
    return true;
  }

  // Along an axis of size 1 all placements are the same, so tensors are replicated there.
  void extend(std::size_t axis, const std::vector<Placement>& placements) {
    if (axis == mesh_.size()) return keep(placements);
    if (mesh_[axis] == 1) return extend(axis + 1, placements);
    for (const std::uint32_t e : by_axis_[axis]) {
      if (too_many_) return;
      const AxisEntry& entry = entries_[e];
      const std::int64_t devices = devices_[e] * mesh_[axis];
      if (entry.divides != 0 && entry.divides % devices != 0) continue;
      std::vector<Placement> longer = placements;
      if (!place(entry, axis, longer)) continue;
      const std::int64_t before = std::exchange(devices_[e], devices);
      extend(axis + 1, longer);
      devices_[e] = before;
    }
  }

  void keep(const std::vector<Placement>& placements) {
    std::vector<std::uint64_t> codes;
    codes.reserve(placements.size());
    for (const Placement& placement : placements)
      codes.push_back(placement.code());
    if (!seen_.emplace(std::move(codes), found_.size()).second) return;
    found_.push_back(placements);
    too_many_ = found_.size() > kMostStrategies;
  }

  const std::vector<AxisEntry>& entries_;
  std::vector<const AtenTensor*> tensors_;
  const MeshShape& mesh_;
  std::vector<std::vector<std::uint32_t>> by_axis_;  // indices into entries_
  std::vector<std::int64_t> devices_;  // by entry: product of the sizes of its axes
  std::vector<std::vector<Placement>> found_;
  std::unordered_map<std::vector<std::uint64_t>, std::size_t, CodesHash> seen_;
  bool too_many_ = false;
};

PlacementColumn column_of(const std::vector<std::vector<Placement>>& found, std::size_t tensor) {
  PlacementColumn column;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  for (const std::vector<Placement>& placements : found) {
    const auto [at, is_new] = numbers.emplace(placements[tensor].code(),
                                              static_cast<std::uint32_t>(column.distinct.size()));
    if (is_new) column.distinct.push_back(placements[tensor]);
    column.index.push_back(at->second);
  }
  return column;
}

Error too_many() {
  return Error{
      ErrorCode::kUnsupported,
      "more than " + std::to_string(kMostStrategies) + " strategies on this mesh; use fewer axes",
      ""};
}

std::vector<std::optional<PlacementColumn>> columns_of(
    const std::vector<std::vector<Placement>>& found, const std::vector<const AtenTensor*>& tensors,
    std::size_t begin, std::size_t end) {
  std::vector<std::optional<PlacementColumn>> columns(end - begin);
  for (std::size_t t = begin; t < end; ++t) {
    if (tensors[t] != nullptr) columns[t - begin] = column_of(found, t);
  }
  return columns;
}

std::vector<const AtenTensor*> placed_tensors(const AtenGraph& graph, const AtenNode& node) {
  const AxisEntry& entry = graph.rule_of(node).entries.front();
  std::vector<const AtenTensor*> tensors;
  for (std::size_t o = 0; o < node.outputs.size(); ++o)
    tensors.push_back(entry.outputs[o] ? &*node.outputs[o] : nullptr);
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    tensors.push_back(entry.inputs[i] ? &graph.tensor(node.inputs[i]) : nullptr);
  return tensors;
}

MaybePlacement placement_of(const std::optional<PlacementColumn>& column, std::size_t strategy) {
  return column ? MaybePlacement(column->of(strategy)) : std::nullopt;
}

}  // namespace

Result<StrategyClass> make_strategies(const AtenGraph& graph, const AtenNode& node,
                                      const MeshShape& mesh, const ComputeDevice& device,
                                      std::span<const std::vector<std::uint32_t>> entries) {
  const std::vector<const AtenTensor*> tensors = placed_tensors(graph, node);
  Combinations combinations(graph.rule_of(node).entries, tensors, mesh, entries);
  if (!combinations.run()) return too_many();
  const std::size_t outputs = node.outputs.size();
  StrategyClass result;
  result.outputs = columns_of(combinations.found(), tensors, 0, outputs);
  result.inputs = columns_of(combinations.found(), tensors, outputs, tensors.size());
  std::vector<MaybePlacement> output_placements(outputs);
  std::vector<MaybePlacement> input_placements(node.inputs.size());
  for (std::size_t s = 0; s < combinations.found().size(); ++s) {
    for (std::size_t o = 0; o < outputs; ++o)
      output_placements[o] = placement_of(result.outputs[o], s);
    for (std::size_t i = 0; i < input_placements.size(); ++i)
      input_placements[i] = placement_of(result.inputs[i], s);
    result.compute_us.push_back(
        operators::compute_us(graph, node, mesh, output_placements, input_placements, device));
  }
  return result;
}

Result<StrategyClass> make_output_strategies(const AtenTensor& tensor, const MeshShape& mesh,
                                             std::span<const std::vector<std::uint32_t>> entries) {
  std::vector<AxisEntry> all{{{}, {AxisPlacement::replicate()}, 0}};
  for (std::size_t dim = 0; dim < tensor.shape.size(); ++dim)
    all.push_back({{}, {AxisPlacement::shard(dim)}, 0});
  const std::vector<const AtenTensor*> tensors{&tensor};
  Combinations combinations(all, tensors, mesh, entries);
  if (!combinations.run()) return too_many();
  StrategyClass result;
  result.inputs = columns_of(combinations.found(), tensors, 0, 1);
  result.compute_us.assign(combinations.found().size(), 0);
  return result;
}

StrategyClass make_mover_strategies(const AtenTensor& tensor, const PlacementColumn& source,
                                    const PlacementColumn& target, const MeshShape& mesh,
                                    CollectiveBackend backend, TransitionCosts* times) {
  PlacementColumn column;
  column.distinct = target.distinct;
  StrategyClass result;
  for (std::uint32_t to = 0; to < target.distinct.size(); ++to) {
    std::set<std::pair<std::int64_t, double>> ways;
    for (const Placement& from : source.distinct) {
      const Placement& at = target.distinct[to];
      ways.emplace(moving_bytes(tensor, mesh, from, at, backend),
                   times == nullptr ? 0 : times->microseconds(tensor, from, at));
    }
    column.index.insert(column.index.end(), ways.size(), to);
    for (const auto& [bytes, us] : ways) {
      result.moving_bytes.push_back(bytes);
      if (times != nullptr) result.moving_us.push_back(us);
    }
  }
  result.compute_us.assign(column.index.size(), 0);
  result.outputs = {column};
  result.inputs = {std::move(column)};
  return result;
}

}  // namespace shardwright::operators
