// One node with what its checks need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/operators/graph/op_graph.h"
#include "core/text/extents.h"

namespace shardwright::operators::internal {

// One node, the nodes before it, and the errors of its checks.
struct OpSubject {
  std::span<const OpNode> nodes;
  const OpNode& node;
  std::string where;

  const OpNode& input(std::size_t i) const { return nodes[node.inputs[i]]; }
  const Extents& in(std::size_t i = 0) const { return input(i).shapes[0]; }
  const Extents& out() const { return node.shapes[0]; }
  // The weight of a linear, convolution or embedding: an own parameter of a module, else input 1.
  const Extents* weight() const {
    if (node.call != OpCall::kModule) return &in(1);
    const OpParam* param = find_param(node, "weight");
    return param == nullptr ? nullptr : &param->shape;
  }
  Error error(const std::string& part, const std::string& message) const {
    return invalid_input(where + part,
                         std::string(to_name(node.kind)) + " \"" + node.name + "\": " + message);
  }
  Error unsupported(const std::string& message) const {
    Error result = error("", message);
    result.code = ErrorCode::kUnsupported;
    return result;
  }
  Error wrong_output(const Extents& expected) const {
    return error("/shape",
                 "the output must be " + extents_text(expected) + ", is " + extents_text(out()));
  }
};

// Checks attrs.dims: there are `count` of them, or any number if `count` is 0, and each is a
// dimension of the first input.
Status check_dims(const OpSubject& s, std::size_t count);

// Returns false if a tensor of this shape has more elements than a graph allows.
bool is_countable(const Extents& shape);

}  // namespace shardwright::operators::internal
