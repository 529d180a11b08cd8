#include "search/operators/strategies/generate.h"

#include <optional>
#include <string>
#include <utility>

#include "core/check.h"
#include "search/operators/strategies/writer.h"

namespace shardwright::operators {
namespace {

using namespace generators;

Status run_generator(const GeneratorInput& input, StrategyWriter& writer) {
  const OpKind kind = input.node.kind;
  if (kind == OpKind::kPlaceholder) return generate_placeholder(input, writer);
  if (kind == OpKind::kOutput) return generate_output(input, writer);
  if (follows_input(kind)) {
    generate_follow(input, writer);
  } else if (is_binary_elementwise(kind)) {
    generate_binary_elementwise(input, writer);
  } else {
    switch (kind) {
      case OpKind::kGetAttr:
        generate_get_attr(input, writer);
        break;
      case OpKind::kConv1d:
      case OpKind::kConv2d:
      case OpKind::kConv3d:
        generate_convolution(input, writer);
        break;
      case OpKind::kLinear:
        generate_linear(input, writer);
        break;
      case OpKind::kBatchNorm:
        generate_batch_norm(input, writer);
        break;
      case OpKind::kLayerNorm:
        generate_layer_norm(input, writer);
        break;
      case OpKind::kEmbedding:
        generate_embedding(input, writer);
        break;
      case OpKind::kMaxPool1d:
      case OpKind::kMaxPool2d:
      case OpKind::kMaxPool3d:
      case OpKind::kAvgPool1d:
      case OpKind::kAvgPool2d:
      case OpKind::kAvgPool3d:
        generate_pooling(input, writer);
        break;
      case OpKind::kWhere:
        generate_where(input, writer);
        break;
      case OpKind::kMatmul:
        generate_matmul(input, writer);
        break;
      case OpKind::kBmm:
        generate_batched_matmul(input, writer);
        break;
      case OpKind::kTensorConstructor:
        generate_tensor_constructor(input, writer);
        break;
      default:
        SHARDWRIGHT_CHECK(false);
    }
  }
  return {};
}

// Divides the nodes into rounds. A node follows only nodes of earlier rounds.
std::vector<std::vector<std::uint32_t>> rounds_of(const OpGraph& graph) {
  std::vector<std::vector<std::uint32_t>> rounds(1);
  std::vector<std::size_t> round(graph.size(), 0);
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    if (follows_input(graph[i].kind)) round[i] = round[graph[i].inputs[0]] + 1;
    if (round[i] == rounds.size()) rounds.emplace_back();
    rounds[round[i]].push_back(i);
  }
  return rounds;
}

Status check_mesh(const DeviceMesh& mesh) {
  if (mesh.num_axes() <= 2) return {};
  return Error{ErrorCode::kUnsupported,
               "strategies are defined for meshes of one or two axes, this one has " +
                   std::to_string(mesh.num_axes()),
               "/mesh"};
}

}  // namespace

Result<NodeStrategies> generate_strategies(const OpGraph& graph, std::uint32_t node,
                                           const NodeStrategies* producer,
                                           const StrategyOptions& options, SpecTable& table,
                                           ReshardPlanner& planner) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_mesh(table.mesh()));
  const OpKind kind = graph[node].kind;
  SHARDWRIGHT_CHECK(producer != nullptr || !follows_input(kind));
  // Placeholders and outputs ignore the shard option; their placements follow from the options
  // distributed_placeholder and distributed_output.
  const bool boundary = kind == OpKind::kPlaceholder || kind == OpKind::kOutput;
  NodeStrategies strategies(graph, node, table);
  StrategyWriter writer(strategies, table,
                        boundary ? ShardOption::kStandard : options.shard_option);
  const GeneratorInput input{graph, node, graph[node], producer, options, table, planner};
  SHARDWRIGHT_RETURN_IF_ERROR(run_generator(input, writer));
  writer.close();
  return strategies;
}

Result<NodeStrategies> generate_chain(const OpGraph& graph, std::span<const std::uint32_t> chain,
                                      const StrategyOptions& options, SpecTable& table,
                                      ReshardPlanner& planner) {
  StrategyOptions producer_options = options;
  producer_options.shard_option = ShardOption::kStandard;
  producer_options.solver_preference = SolverPreference::kStandard;
  NodeStrategies made;
  for (const std::uint32_t node : chain.first(chain.size() - 1)) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        NodeStrategies next,
        generate_strategies(graph, node, &made, producer_options, table, planner));
    made = std::move(next);
  }
  return generate_strategies(graph, chain.back(), &made, options, table, planner);
}

Result<std::vector<NodeStrategies>> generate_strategies(const OpGraph& graph, SpecTable& table,
                                                        ReshardPlanner& planner,
                                                        Executor& executor) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_mesh(table.mesh()));
  const StrategyOptions options = StrategyOptions::of(graph.options());
  std::vector<NodeStrategies> all(graph.size());
  std::vector<std::optional<Error>> errors(graph.size());
  for (const std::vector<std::uint32_t>& round : rounds_of(graph)) {
    executor.parallel_for(round.size(), 4, [&](unsigned, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint32_t node = round[i];
        const NodeStrategies* producer =
            follows_input(graph[node].kind) ? &all[graph[node].inputs[0]] : nullptr;
        Result<NodeStrategies> made =
            generate_strategies(graph, node, producer, options, table, planner);
        if (made.ok()) {
          all[node] = std::move(made).value();
        } else {
          errors[node] = made.error();
        }
      }
    });
  }
  for (const std::optional<Error>& error : errors) {
    if (error) return *error;
  }
  return all;
}

}  // namespace shardwright::operators
