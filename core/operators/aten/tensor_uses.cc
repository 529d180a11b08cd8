#include "core/operators/aten/tensor_uses.h"

#include <algorithm>

namespace shardwright::operators {

std::vector<char> depends_on_parameters(const AtenGraph& graph) {
  std::vector<char> found(graph.size(), 0);
  for (std::size_t n = 0; n < graph.size(); ++n) {
    const AtenNode& node = graph[n];
    found[n] = node.is_placeholder()
                   ? node.role == AtenRole::kParameter
                   : !node.inputs.empty() &&
                         std::all_of(node.inputs.begin(), node.inputs.end(),
                                     [&](const TensorRef& ref) { return found[ref.node] != 0; });
  }
  return found;
}

namespace {

// Returns the innermost module with both.
std::string_view common_module(std::string_view a, std::string_view b) {
  std::size_t end = 0;
  for (std::size_t i = 0; i <= std::min(a.size(), b.size()); ++i) {
    const bool ends_both = (i == a.size() || a[i] == '.') && (i == b.size() || b[i] == '.');
    if (ends_both) end = i;
    if (i == a.size() || i == b.size() || a[i] != b[i]) break;
  }
  return a.substr(0, end);
}

}  // namespace

std::vector<std::string_view> modules_of(const AtenGraph& graph) {
  std::vector<std::string_view> modules;
  for (const AtenNode& node : graph.nodes()) {
    std::string_view module = node.module;
    if (module.empty() && node.backward && !node.inputs.empty()) {
      module = modules[node.inputs[0].node];
      for (const TensorRef& ref : node.inputs)
        module = common_module(module, modules[ref.node]);
    }
    modules.push_back(module);
  }
  return modules;
}

GradientUses::GradientUses(const AtenGraph& graph) {
  for (const AtenNode& node : graph.nodes())
    uses_.emplace_back(node.outputs.size(), Use::kNone);
  std::vector<char> is_gradient(graph.outputs().size(), 0);
  for (const AtenPair& pair : graph.pairs()) {
    is_gradient[pair.output] = graph[pair.placeholder].role == AtenRole::kParameter &&
                               graph.outputs()[pair.output].role == AtenOutputRole::kGradient;
  }
  for (std::size_t o = 0; o < graph.outputs().size(); ++o)
    add_use(graph.outputs()[o].value, is_gradient[o] != 0);
  for (std::size_t n = graph.size(); n-- > 0;) {
    const bool is_for_gradients = all_for_gradients(n);
    for (const TensorRef& ref : graph[n].inputs)
      add_use(ref, is_for_gradients);
  }
}

void GradientUses::add_use(const TensorRef& ref, bool is_for_gradients) {
  Use& use = uses_[ref.node][ref.output];
  if (!is_for_gradients) use = Use::kOther;
  if (use == Use::kNone) use = Use::kGradientsOnly;
}

bool GradientUses::all_for_gradients(std::size_t node) const {
  const std::vector<Use>& uses = uses_[node];
  return std::count(uses.begin(), uses.end(), Use::kGradientsOnly) > 0 &&
         std::count(uses.begin(), uses.end(), Use::kOther) == 0;
}

}  // namespace shardwright::operators
