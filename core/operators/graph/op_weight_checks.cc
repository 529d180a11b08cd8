#include "core/operators/graph/op_weight_checks.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

namespace shardwright::operators::internal {
namespace {

// `names` are the parameters that the module must have, each of the shape `own`.
Status check_norm(const OpSubject& s, std::span<const char* const> names, const Extents& own) {
  if (s.node.call != OpCall::kModule) return s.unsupported("only the module form is supported");
  if (s.out() != s.in()) return s.wrong_output(s.in());
  for (const char* name : names) {
    const OpParam* param = find_param(s.node, name);
    if (param == nullptr) return s.unsupported(std::string("needs the parameter ") + name);
    if (param->shape != own)
      return s.error(std::string("/params/") + name, "must be " + extents_text(own));
  }
  return {};
}

}  // namespace

Status check_linear(const OpSubject& s) {
  if (s.node.attrs.bias)
    return s.unsupported("a bias must be a node of its own that is added to the product");
  const Extents* weight = s.weight();
  if (weight == nullptr) return s.error("/params", "has no weight");
  if (s.node.call == OpCall::kModule && s.node.params.size() != 1)
    return s.error("/params", "must be `weight` alone");
  if (s.in().empty() || weight->size() != 2 || (*weight)[1] != s.in().back()) {
    return s.error("", "an input " + extents_text(s.in()) + " does not fit a weight " +
                           extents_text(*weight) + " of [outputs, inputs]");
  }
  Extents expected = s.in();
  expected.back() = (*weight)[0];
  if (s.out() != expected) return s.wrong_output(expected);
  return {};
}

Status check_convolution(const OpSubject& s) {
  const Extents* weight = s.weight();
  if (weight == nullptr) return s.error("/params", "has no weight");
  const std::int64_t groups = s.node.attrs.groups;
  if (groups < 1) return s.error("/attrs/groups", "must be at least 1");
  const std::size_t rank = convolution_dims(s.node.kind) + 2;
  if (s.in().size() != rank || weight->size() != rank || s.out().size() != rank) {
    return s.error("", "input " + extents_text(s.in()) + ", weight " + extents_text(*weight) +
                           " and output " + extents_text(s.out()) + " must have " +
                           std::to_string(rank) + " dimensions");
  }
  if (s.in()[1] % groups != 0 || (*weight)[1] != s.in()[1] / groups || s.out()[0] != s.in()[0] ||
      s.out()[1] != (*weight)[0]) {
    return s.error("", "an input " + extents_text(s.in()) + " and a weight " +
                           extents_text(*weight) + " do not make " + extents_text(s.out()));
  }
  const OpParam* bias = find_param(s.node, "bias");
  const bool module = s.node.call == OpCall::kModule;
  const bool has_bias = module ? bias != nullptr : s.node.inputs.size() == 3;
  if (s.node.attrs.bias != has_bias)
    return s.error("/attrs/bias", has_bias ? "is false, but there is a bias" : "there is no bias");
  const Extents expected{(*weight)[0]};
  if (has_bias && (module ? bias->shape : s.in(2)) != expected)
    return s.error("", "the bias must be " + extents_text(expected));
  if (module && (s.node.params[0].name != "weight" || s.node.params.size() != (has_bias ? 2U : 1U)))
    return s.error("/params", "must be `weight`, and `bias` if there is one");
  return {};
}

Status check_batch_norm(const OpSubject& s) {
  if (s.in().size() < 3 || s.in().size() > 5)
    return s.error("", "the input must have three to five dimensions");
  for (const OpParam& param : s.node.params) {
    if (param.shape.size() > 1) return s.error("/params/" + param.name, "must be a vector");
  }
  constexpr std::array<const char*, 4> kNames{"weight", "bias", "running_mean", "running_var"};
  return check_norm(s, kNames, {s.in()[1]});
}

Status check_layer_norm(const OpSubject& s) {
  const OpParam* weight = find_param(s.node, "weight");
  if (weight == nullptr) return s.unsupported("needs the parameter weight");
  const Extents& own = weight->shape;
  const bool trailing = !own.empty() && own.size() <= s.in().size() &&
                        std::equal(own.rbegin(), own.rend(), s.in().rbegin());
  if (!trailing || s.node.params[0].name != "weight" || s.node.params.size() != 2)
    return s.error("/params", "must be `weight` and `bias` over the last dimensions of the input");
  constexpr std::array<const char*, 2> kNames{"weight", "bias"};
  return check_norm(s, kNames, own);
}

Status check_embedding(const OpSubject& s) {
  const Extents* weight = s.weight();
  if (weight == nullptr || weight->size() != 2)
    return s.error("", "needs a weight of [embeddings, dimension]");
  if (s.node.call == OpCall::kModule && s.node.params.size() != 1)
    return s.error("/params", "must be `weight` alone");
  Extents expected = s.in();
  expected.push_back((*weight)[1]);
  if (s.out() != expected) return s.wrong_output(expected);
  return {};
}

}  // namespace shardwright::operators::internal
