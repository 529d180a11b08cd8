#include "core/operators/aten/aten_plan.h"

#include "core/operators/aten/tensor_uses.h"

namespace shardwright::operators {
namespace {

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
  const std::vector<char> is_of_parameters = depends_on_parameters(graph);
  const GradientUses for_gradients(graph);
  std::vector<double> hidden_bytes(graph.size(), 0);  // by hiding node
  std::vector<double> taken_bytes;                    // by consumer and input
  const auto add = [&](std::size_t consumer, const TensorRef& ref) {
    Hiding hiding;
    std::uint32_t node = 0;
    if (shares.parameters > 0 && is_of_parameters[ref.node] && computes(graph, consumer)) {
      hiding = {Hiding::By::kConsumer, shares.parameters, 0};
      node = static_cast<std::uint32_t>(consumer);
    } else if (shares.gradients > 0 && for_gradients.only(ref) && computes(graph, ref.node)) {
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
