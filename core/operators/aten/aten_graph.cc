#include "core/operators/aten/aten_graph.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/redistribution/placement/placement.h"

namespace shardwright::operators {
namespace {

std::string at(const std::string& list, std::size_t index) {
  return list + "/" + std::to_string(index);
}

// `name` is the node that makes the tensor.
Status check_tensor(const AtenTensor& tensor, const std::string& name, const std::string& where) {
  std::int64_t elements = 1;
  for (std::size_t dim = 0; dim < tensor.shape.size(); ++dim) {
    const std::int64_t extent = tensor.shape[dim];
    if (extent < 0) {
      return invalid_input(at(where + "/shape", dim),
                           "an extent cannot be " + std::to_string(extent) + "; dimension " +
                               std::to_string(dim) + " of " + quoted(name) +
                               " needs its size as a number: trace the model with fixed sizes");
    }
    elements *= std::max<std::int64_t>(extent, 1);
    if (elements >= AtenGraph::kMaxElements || extent >= AtenGraph::kMaxElements) {
      return invalid_input(where + "/shape", "a tensor has fewer than 2^48 elements");
    }
  }
  if (tensor.stride.size() != tensor.shape.size()) {
    return invalid_input(where + "/stride", std::to_string(tensor.stride.size()) + " strides for " +
                                                std::to_string(tensor.shape.size()) +
                                                " dimensions");
  }
  return {};
}

// Checks one node, after all earlier nodes were checked.
// Thread safety: one thread at a time.
class NodeCheck {
 public:
  NodeCheck(const AtenGraphSpec& spec, std::size_t index)
      : spec_(spec), index_(index), node_(spec.nodes[index]), where_(at("/nodes", index)) {}

  Status run() const {
    if (node_.name.empty()) return invalid_input(where_ + "/name", "must not be empty");
    if (node_.op.empty()) return invalid_input(where_ + "/op", "must not be empty");
    SHARDWRIGHT_RETURN_IF_ERROR(check_inputs());
    for (std::size_t i = 0; i < node_.outputs.size(); ++i) {
      if (!node_.outputs[i]) continue;
      SHARDWRIGHT_RETURN_IF_ERROR(
          check_tensor(*node_.outputs[i], node_.name, at(where_ + "/outputs", i)));
    }
    SHARDWRIGHT_RETURN_IF_ERROR(check_role());
    SHARDWRIGHT_RETURN_IF_ERROR(check_rule());
    return check_flops();
  }

 private:
  const AtenTensor& input(std::size_t i) const {
    return *spec_.nodes[node_.inputs[i].node].outputs[node_.inputs[i].output];
  }

  Status check_inputs() const {
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      const TensorRef& ref = node_.inputs[i];
      const std::string where = at(where_ + "/inputs", i);
      if (ref.node >= index_) {
        return invalid_input(
            where, "node " + std::to_string(ref.node) + " is not before " + quoted(node_.name));
      }
      const AtenNode& producer = spec_.nodes[ref.node];
      if (ref.output >= producer.outputs.size() || !producer.outputs[ref.output]) {
        return invalid_input(
            where, quoted(producer.name) + " has no tensor " + std::to_string(ref.output));
      }
    }
    return {};
  }

  Status check_role() const {
    if (node_.view && (node_.inputs.empty() || node_.outputs.empty() || !node_.outputs[0])) {
      return invalid_input(where_ + "/view", "a view has an input and an output");
    }
    if (!node_.is_placeholder()) return {};
    if (node_.target.empty()) return invalid_input(where_ + "/target", "must not be empty");
    if (!node_.inputs.empty() || node_.outputs.size() != 1 || !node_.outputs[0]) {
      return invalid_input(where_, "a placeholder has no input and one output");
    }
    return {};
  }

  Status check_placements(const std::vector<MaybeAxisPlacement>& placements,
                          const std::string& where, bool outputs) const {
    const std::size_t expected = outputs ? node_.outputs.size() : node_.inputs.size();
    if (placements.size() != expected) {
      return invalid_input(where, std::to_string(placements.size()) + " placements for " +
                                      quoted(node_.name) + ", which has " +
                                      std::to_string(expected));
    }
    for (std::size_t i = 0; i < placements.size(); ++i) {
      if (!placements[i]) continue;
      if (outputs && !node_.outputs[i]) {
        return invalid_input(at(where, i),
                             "that output of " + quoted(node_.name) + " is no tensor; write \"-\"");
      }
      const AtenTensor& tensor = outputs ? *node_.outputs[i] : input(i);
      if (placements[i]->is_shard() && placements[i]->dim >= tensor.shape.size()) {
        return invalid_input(at(where, i), "that tensor of " + quoted(node_.name) +
                                               " has no dimension " +
                                               std::to_string(placements[i]->dim));
      }
      if (node_.is_placeholder() && placements[i]->is_partial()) {
        return invalid_input(at(where, i), "a placeholder is never partial");
      }
    }
    return {};
  }

  Status check_rule() const {
    if (node_.rule >= spec_.rules.size()) {
      return invalid_input(where_ + "/rule", "there is no rule " + std::to_string(node_.rule));
    }
    const std::string rule = at("/rules", node_.rule);
    const std::vector<AxisEntry>& entries = spec_.rules[node_.rule].entries;
    if (entries.empty()) return invalid_input(rule + "/strategies", "must not be empty");
    for (std::size_t e = 0; e < entries.size(); ++e) {
      const std::string entry = at(rule + "/strategies", e);
      const auto same_gaps = [](const MaybeAxisPlacement& a, const MaybeAxisPlacement& b) {
        return a.has_value() == b.has_value();
      };
      if (!std::equal(entries[e].outputs.begin(), entries[e].outputs.end(),
                      entries[0].outputs.begin(), entries[0].outputs.end(), same_gaps) ||
          !std::equal(entries[e].inputs.begin(), entries[e].inputs.end(), entries[0].inputs.begin(),
                      entries[0].inputs.end(), same_gaps)) {
        return invalid_input(entry,
                             "a tensor has a placement in all strategies of a rule or in none");
      }
      if (entries[e].divides < 0) return invalid_input(entry + "/divides", "must be positive");
      SHARDWRIGHT_RETURN_IF_ERROR(check_placements(entries[e].outputs, entry + "/outputs", true));
      SHARDWRIGHT_RETURN_IF_ERROR(check_placements(entries[e].inputs, entry + "/inputs", false));
    }
    return {};
  }

  Status check_flops() const {
    constexpr const char* kTooMany = "2^62 or more floating-point operations";
    std::int64_t sum = 0;
    for (std::size_t t = 0; t < node_.flops.size(); ++t) {
      const FlopTerm& term = node_.flops[t];
      const std::string where = at(where_ + "/flops", t);
      if (term.factor < 0) return invalid_input(where, "the factor must not be negative");
      std::int64_t product = term.factor;
      for (const FlopTerm::Extent& extent : term.extents) {
        const std::size_t count = extent.of_output ? node_.outputs.size() : node_.inputs.size();
        if (extent.tensor >= count || (extent.of_output && !node_.outputs[extent.tensor])) {
          return invalid_input(where, quoted(node_.name) + " has no such tensor");
        }
        const AtenTensor& tensor =
            extent.of_output ? *node_.outputs[extent.tensor] : input(extent.tensor);
        if (extent.dim >= tensor.shape.size()) {
          return invalid_input(where, "the tensor has no dimension " + std::to_string(extent.dim));
        }
        const std::int64_t size = std::max<std::int64_t>(tensor.shape[extent.dim], 1);
        if (product >= AtenGraph::kMaxFlops / size) return invalid_input(where, kTooMany);
        product *= size;
      }
      if (product >= AtenGraph::kMaxFlops - sum) return invalid_input(where, kTooMany);
      sum += product;
    }
    return {};
  }

  const AtenGraphSpec& spec_;
  std::size_t index_;
  const AtenNode& node_;
  std::string where_;
};

// Pairs outputs of the graph with placeholders: gradients with parameters, outputs with tangents.
// Thread safety: one thread at a time.
class Pairing {
 public:
  explicit Pairing(const AtenGraphSpec& spec) : spec_(spec) {}

  Result<std::vector<AtenPair>> run() {
    SHARDWRIGHT_RETURN_IF_ERROR(index_placeholders());
    for (std::uint32_t o = 0; o < spec_.outputs.size(); ++o)
      SHARDWRIGHT_RETURN_IF_ERROR(add_output(o));
    if (!tangents_.empty()) {
      std::uint32_t first = ~std::uint32_t{0};
      for (const auto& [target, node] : tangents_)
        first = std::min(first, node);
      return invalid_input(at("/nodes", first) + "/target",
                           "no output has the target " + quoted(spec_.nodes[first].target));
    }
    return std::move(pairs_);
  }

 private:
  Status index_placeholders() {
    for (std::uint32_t n = 0; n < spec_.nodes.size(); ++n) {
      const AtenNode& node = spec_.nodes[n];
      if (!node.is_placeholder()) continue;
      auto& targets = node.role == AtenRole::kTangent ? tangents_ : tensors_;
      if (!targets.emplace(node.target, n).second) {
        return invalid_input(at("/nodes", n) + "/target",
                             "another placeholder has the target " + quoted(node.target));
      }
    }
    return {};
  }

  Status add_output(std::uint32_t index) {
    const AtenOutput& output = spec_.outputs[index];
    const std::string where = at("/outputs", index);
    if (output.value.node >= spec_.nodes.size()) {
      return invalid_input(where + "/node",
                           "there is no node " + std::to_string(output.value.node));
    }
    const AtenNode& node = spec_.nodes[output.value.node];
    if (output.value.output >= node.outputs.size() || !node.outputs[output.value.output]) {
      return invalid_input(where + "/output", quoted(node.name) + " has no tensor " +
                                                  std::to_string(output.value.output));
    }
    const bool is_result = output.role == AtenOutputRole::kOutput;
    if (!targets_[static_cast<std::size_t>(output.role)].insert(output.target).second) {
      return invalid_input(where + "/target",
                           "another output has the target " + quoted(output.target));
    }
    auto& targets = is_result ? tangents_ : tensors_;
    const auto found = targets.find(output.target);
    if (found == targets.end()) {
      if (is_result) return {};
      return invalid_input(where + "/target",
                           "no parameter, buffer or input has the target " + quoted(output.target));
    }
    const std::uint32_t placeholder = found->second;
    if (spec_.nodes[placeholder].outputs[0]->shape != node.outputs[output.value.output]->shape) {
      return invalid_input(where, quoted(spec_.nodes[placeholder].name) + " has another shape");
    }
    pairs_.push_back({placeholder, index});
    if (is_result) tangents_.erase(found);
    return {};
  }

  const AtenGraphSpec& spec_;
  std::unordered_map<std::string, std::uint32_t> tensors_;   // parameters, buffers and inputs
  std::unordered_map<std::string, std::uint32_t> tangents_;  // tangents that have no output yet
  std::array<std::unordered_set<std::string>, 3> targets_;   // of outputs, by role
  std::vector<AtenPair> pairs_;
};

// Checks nodes, their tensors and rules. Errors: those of AtenGraph::make.
Status check_aten_nodes(const AtenGraphSpec& spec) {
  if (spec.nodes.empty()) return invalid_input("/nodes", "must not be empty");
  std::unordered_set<std::string> names;
  for (std::size_t n = 0; n < spec.nodes.size(); ++n) {
    SHARDWRIGHT_RETURN_IF_ERROR(NodeCheck(spec, n).run());
    if (!names.insert(spec.nodes[n].name).second) {
      return invalid_input(at("/nodes", n) + "/name",
                           "another node has the name " + quoted(spec.nodes[n].name));
    }
  }
  return {};
}

// Checks the outputs of the graph, and pairs them with placeholders.
// Precondition: check_aten_nodes(). Errors: those of AtenGraph::make.
Result<std::vector<AtenPair>> pair_aten_outputs(const AtenGraphSpec& spec) {
  return Pairing(spec).run();
}

using redistribution::MeshShape;
using redistribution::Placement;
using redistribution::Shape;

struct TypeInfo {
  std::string_view name;
  std::int64_t bytes;
};

constexpr std::array<TypeInfo, kNumAtenTypes> kTypes{{
    {"float64", 8},
    {"float32", 4},
    {"float16", 2},
    {"bfloat16", 2},
    {"float8_e4m3fn", 1},
    {"float8_e5m2", 1},
    {"int64", 8},
    {"int32", 4},
    {"int16", 2},
    {"int8", 1},
    {"uint8", 1},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"bool", 1},
    {"complex64", 8},
    {"complex128", 16},
}};

constexpr std::array<std::string_view, kNumAtenTypes> names() {
  std::array<std::string_view, kNumAtenTypes> names{};
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = kTypes[i].name;
  return names;
}
constexpr std::array<std::string_view, kNumAtenTypes> kNames = names();

}  // namespace

std::span<const std::string_view> names_of(AtenType) { return kNames; }

std::int64_t bytes_of(AtenType type) { return kTypes[static_cast<std::size_t>(type)].bytes; }

Shape local_shape(const AtenTensor& tensor, const MeshShape& mesh, const Placement& placement) {
  return redistribution::shape_of(
      redistribution::box_of(tensor.shape, mesh, placement, 0, redistribution::Rounding::kCeil));
}

std::int64_t local_bytes(const AtenTensor& tensor, const MeshShape& mesh,
                         const Placement& placement) {
  return redistribution::num_elements(local_shape(tensor, mesh, placement)) * bytes_of(tensor.type);
}

Result<AtenGraph> AtenGraph::make(AtenGraphSpec spec) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_aten_nodes(spec));
  SHARDWRIGHT_ASSIGN_OR_RETURN(std::vector<AtenPair> pairs, pair_aten_outputs(spec));
  return AtenGraph(std::move(spec), std::move(pairs));
}

}  // namespace shardwright::operators
