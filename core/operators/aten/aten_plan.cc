#include "core/operators/aten/aten_plan.h"

namespace shardwright::operators {
namespace {

// Returns, by node, whether its outputs depend on parameters alone.
std::vector<char> of_parameters(const AtenGraph& graph) {
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

// Tells, by node and output, whether the output is used only to compute gradients of parameters.
class ForGradients {
 public:
  explicit ForGradients(const AtenGraph& graph) {
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

  bool of(const TensorRef& ref) const { return uses_[ref.node][ref.output] == Use::kGradientsOnly; }

 private:
  enum class Use : std::uint8_t { kNone, kGradientsOnly, kOther };

  void add_use(const TensorRef& ref, bool is_for_gradients) {
    Use& use = uses_[ref.node][ref.output];
    if (!is_for_gradients) use = Use::kOther;
    if (use == Use::kNone) use = Use::kGradientsOnly;
  }

  // Ignores unused outputs. Returns false if no output is used.
  bool all_for_gradients(std::size_t node) const {
    const std::vector<Use>& uses = uses_[node];
    return std::count(uses.begin(), uses.end(), Use::kGradientsOnly) > 0 &&
           std::count(uses.begin(), uses.end(), Use::kOther) == 0;
  }

  std::vector<std::vector<Use>> uses_;
};

bool computes(const AtenGraph& graph, std::size_t consumer) {
  return consumer < graph.size() && !graph[consumer].is_placeholder() && !graph[consumer].view;
}

double bytes(const AtenTensor& tensor) {
  return static_cast<double>(redistribution::num_elements(tensor.shape)) *
         static_cast<double>(bytes_of(tensor.type));
}

}  // namespace

Overlap::Overlap(const AtenGraph& graph, const OverlapShares& shares) : shares_(shares) {
  if (!shares.any()) return;
  const std::vector<char> is_of_parameters = of_parameters(graph);
  const ForGradients for_gradients(graph);
  std::vector<double> hidden_bytes(graph.size(), 0);  // by hiding node
  std::vector<double> taken_bytes;                    // by consumer and input
  const auto add = [&](std::size_t consumer, const TensorRef& ref) {
    Hiding hiding;
    std::uint32_t node = 0;
    if (shares.parameters > 0 && is_of_parameters[ref.node] && computes(graph, consumer)) {
      hiding = {Hiding::By::kConsumer, shares.parameters, 0};
      node = static_cast<std::uint32_t>(consumer);
    } else if (shares.gradients > 0 && for_gradients.of(ref) && computes(graph, ref.node)) {
      hiding = {Hiding::By::kProducer, shares.gradients, 0};
      node = ref.node;
    }
    hiding_.push_back(hiding);
    nodes_.push_back(node);
    taken_bytes.push_back(hiding.by == Hiding::By::kNothing ? 0 : bytes(graph.tensor(ref)));
    hidden_bytes[node] += taken_bytes.back();
  };
  for (std::size_t n = 0; n < graph.size(); ++n) {
    first_.push_back(static_cast<std::uint32_t>(hiding_.size()));
    for (const TensorRef& ref : graph[n].inputs)
      add(n, ref);
  }
  for (std::size_t o = 0; o < graph.outputs().size(); ++o) {
    first_.push_back(static_cast<std::uint32_t>(hiding_.size()));
    add(graph.size() + o, graph.outputs()[o].value);
  }
  for (std::size_t t = 0; t < hiding_.size(); ++t) {
    if (taken_bytes[t] > 0)
      hiding_[t].part = taken_bytes[t] / hidden_bytes[nodes_[t]];
    else
      hiding_[t] = {};
  }
}

std::vector<double> TransitionCosts::table(const AtenTensor& tensor,
                                           std::span<const redistribution::Placement> sources,
                                           std::span<const redistribution::Placement> targets) {
  std::vector<double> costs;
  costs.reserve(sources.size() * targets.size());
  for (const redistribution::Placement& source : sources) {
    for (const redistribution::Placement& target : targets)
      costs.push_back(microseconds(tensor, source, target));
  }
  return costs;
}

}  // namespace shardwright::operators
