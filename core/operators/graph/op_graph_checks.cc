#include "core/operators/graph/op_graph_checks.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/operators/graph/op_layout_checks.h"
#include "core/operators/graph/op_subject.h"
#include "core/operators/graph/op_weight_checks.h"

namespace shardwright::operators::internal {
namespace {

Status check_input_count(const OpSubject& s) {
  std::size_t least = 1;
  std::size_t most = 1;
  switch (s.node.kind) {
    case OpKind::kPlaceholder:
    case OpKind::kGetAttr:
    case OpKind::kTensorConstructor:
      least = most = 0;
      break;
    case OpKind::kOutput:
      most = s.nodes.size();
      break;
    case OpKind::kWhere:
      least = most = 3;
      break;
    case OpKind::kMatmul:
    case OpKind::kBmm:
      least = most = 2;
      break;
    case OpKind::kConv1d:
    case OpKind::kConv2d:
    case OpKind::kConv3d:
      least = s.node.call == OpCall::kModule ? 1 : 2;
      most = least + (s.node.call != OpCall::kModule && s.node.attrs.bias ? 1 : 0);
      break;
    case OpKind::kLinear:
    case OpKind::kEmbedding:
      least = most = s.node.call == OpCall::kModule ? 1 : 2;
      break;
    default:
      if (is_binary_elementwise(s.node.kind)) least = most = s.node.attrs.scalar ? 1 : 2;
  }
  const std::size_t count = s.node.inputs.size();
  if (count >= least && count <= most) return {};
  return s.error("/inputs", "takes " + std::to_string(least) +
                                (most > least ? " or more inputs" : " inputs") + ", has " +
                                std::to_string(count));
}

Status check_tuples(const OpSubject& s) {
  const OpKind kind = s.node.kind;
  for (std::size_t i = 0; i < s.node.inputs.size(); ++i) {
    if (s.input(i).tuple && kind != OpKind::kGetitem && kind != OpKind::kOutput)
      return s.error("/inputs/" + std::to_string(i), "takes tensors, not a tuple of tensors");
  }
  const bool may_be_tuple =
      kind == OpKind::kSplit || kind == OpKind::kOutput || kind == OpKind::kDefaultReshape;
  if (s.node.tuple && !may_be_tuple) return s.error("/shape", "makes one tensor, not a tuple");
  if (kind == OpKind::kSplit && !s.node.tuple) return s.error("/shape", "makes a tuple of tensors");
  return {};
}

Status check_pooling(const OpSubject& s) {
  const std::size_t dims = pooling_dims(s.node.kind);  // 0 = adaptive: any
  const std::size_t rank = s.in().size();
  if (dims == 0 ? rank < 3 || rank > 5 : rank != dims + 2)
    return s.error("", "an input " + extents_text(s.in()) + " has the wrong number of dimensions");
  if (s.out().size() != rank || s.out()[0] != s.in()[0] || s.out()[1] != s.in()[1])
    return s.error("/shape", "must keep the batch and channels of " + extents_text(s.in()));
  if (!is_average_pooling(s.node.kind)) return {};
  // The cost depends on the window.
  const std::vector<std::int64_t>& window = s.node.attrs.kernel_size;
  if (window.size() != dims || !is_countable(window) ||
      *std::min_element(window.begin(), window.end()) < 1)
    return s.error("/attrs/kernel_size",
                   "must be " + std::to_string(dims) + " extents of at least 1");
  return {};
}

Status check_matmul(const OpSubject& s) {
  if (s.in(0).empty() || s.in(1).empty()) return s.error("", "does not take scalars");
  if (s.node.kind == OpKind::kBmm && (s.in(0).size() != 3 || s.in(1).size() != 3))
    return s.error("", "takes tensors of three dimensions");
  Extents a = s.in(0);
  Extents b = s.in(1);
  const bool row = a.size() == 1;
  const bool column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  const auto batch = broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (a.back() != b[b.size() - 2] || !batch)
    return s.error("", "cannot multiply " + extents_text(s.in(0)) + " by " + extents_text(s.in(1)));
  // Both are priced as repeated to the whole batch.
  for (Extents matrix : {a, b}) {
    matrix.erase(matrix.begin(), matrix.end() - 2);
    matrix.insert(matrix.begin(), batch->begin(), batch->end());
    if (!is_countable(matrix)) return s.error("", "operands are too large when broadcast");
  }
  Extents expected = *batch;
  if (!row) expected.push_back(a[a.size() - 2]);
  if (!column) expected.push_back(b.back());
  if (s.out() != expected) return s.wrong_output(expected);
  return {};
}

Status check_broadcast(const OpSubject& s) {
  Extents expected = s.in();
  for (std::size_t i = 1; i < s.node.inputs.size(); ++i) {
    const auto both = broadcast(expected, s.in(i));
    if (!both) {
      return s.error("/inputs/" + std::to_string(i),
                     extents_text(s.in(i)) + " does not broadcast with " + extents_text(expected));
    }
    expected = *both;
  }
  if (s.out() != expected) return s.wrong_output(expected);
  return {};
}

// Only these modules own parameters and buffers; their own checks say which.
Status check_params(const OpSubject& s) {
  const OpKind kind = s.node.kind;
  const bool owner = kind == OpKind::kLinear || kind == OpKind::kBatchNorm ||
                     kind == OpKind::kLayerNorm || kind == OpKind::kEmbedding ||
                     convolution_dims(kind) > 0;
  if (s.node.params.empty() || (owner && s.node.call == OpCall::kModule)) return {};
  return s.error("/params", "must be empty: only modules with weights have parameters");
}

Status check_output(const OpSubject& s) {
  std::vector<Extents> expected;
  for (std::size_t i = 0; i < s.node.inputs.size(); ++i) {
    const OpNode& input = s.input(i);
    expected.insert(expected.end(), input.shapes.begin(), input.shapes.end());
  }
  if (s.node.shapes != expected) return s.error("/shape", "must be the shapes of the inputs");
  return {};
}

}  // namespace

Status check_operands(std::span<const OpNode> nodes, std::uint32_t index) {
  const OpSubject s{nodes, nodes[index], "/nodes/" + std::to_string(index)};
  SHARDWRIGHT_RETURN_IF_ERROR(check_input_count(s));
  SHARDWRIGHT_RETURN_IF_ERROR(check_tuples(s));
  SHARDWRIGHT_RETURN_IF_ERROR(check_params(s));
  switch (s.node.kind) {
    case OpKind::kPlaceholder:
    case OpKind::kGetAttr:
    case OpKind::kTensorConstructor:
      return {};
    case OpKind::kOutput:
      return check_output(s);
    case OpKind::kConv1d:
    case OpKind::kConv2d:
    case OpKind::kConv3d:
      return check_convolution(s);
    case OpKind::kLinear:
      return check_linear(s);
    case OpKind::kBatchNorm:
      return check_batch_norm(s);
    case OpKind::kLayerNorm:
      return check_layer_norm(s);
    case OpKind::kEmbedding:
      return check_embedding(s);
    case OpKind::kMaxPool1d:
    case OpKind::kMaxPool2d:
    case OpKind::kMaxPool3d:
    case OpKind::kAvgPool1d:
    case OpKind::kAvgPool2d:
    case OpKind::kAvgPool3d:
    case OpKind::kAdaptiveAvgPool2d:
      return check_pooling(s);
    case OpKind::kFlatten:
    case OpKind::kDefaultReshape:
    case OpKind::kUnsqueeze:
    case OpKind::kView:
    case OpKind::kReshape:
    case OpKind::kTranspose:
    case OpKind::kPermute:
    case OpKind::kSplit:
    case OpKind::kGetitem:
    case OpKind::kSum:
      return check_layout(s);
    case OpKind::kSoftmax:
      SHARDWRIGHT_RETURN_IF_ERROR(check_dims(s, 1));
      return s.out() == s.in() ? Status() : Status(s.wrong_output(s.in()));
    case OpKind::kMatmul:
    case OpKind::kBmm:
      return check_matmul(s);
    default:
      return check_broadcast(s);  // of one tensor: itself
  }
}

}  // namespace shardwright::operators::internal
