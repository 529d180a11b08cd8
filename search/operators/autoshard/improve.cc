#include "search/operators/autoshard/improve.h"

#include <string_view>
#include <utility>

namespace shardwright::operators::autoshard {
namespace {

std::string shard_line(std::string_view module, std::string_view parameter, CostModel model,
                       int dimension) {
  const std::string_view keyword = model == CostModel::kV1 ? "dim" : "axis";
  return "sch[\"" + std::string(module) + "\"].shard(\"" + std::string(parameter) + "\", " +
         std::string(keyword) + "=" + std::to_string(dimension) + ")";
}

std::string sync_line(std::string_view target, std::string_view mode, std::string_view operation) {
  return "sch[\"" + std::string(target) + "\"].sync(mode=\"" + std::string(mode) +
         "\", sync_op_or_fn=\"" + std::string(operation) + "\")";
}

std::string transition(Spec from, Spec to) {
  return std::string(name_of(from)) + "->" + std::string(name_of(to));
}

void add_parameters(const Op& op, const OpSpecs& specs, CostModel model,
                    std::vector<std::string>& lines) {
  if (op.kind != OpKind::kMatmul || !op.module) return;
  if (specs.specs[1] == Spec::kRS) {
    // The weight is stored transposed.
    lines.push_back(shard_line(*op.module, "weight", model, 0));
    lines.push_back(shard_line(*op.module, "bias", model, 0));
  } else if (specs.specs[1] == Spec::kSR) {
    lines.push_back(shard_line(*op.module, "weight", model, 1));
    lines.push_back(sync_line(*op.module, "fwd_post", "all_reduce"));
  }
}

}  // namespace

Result<ImproveResult> improve(const Request& request, const Oracle& oracle,
                              const std::function<void(const Iteration&)>& on_iteration) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_request(*request.graph, request.devices));
  ImproveResult result;
  std::int64_t bound = kFirstBound * request.devices;
  for (std::size_t index = 0; index < kMaxIterations; ++index) {
    std::optional<Assignment> found = oracle(bound);
    if (!found) {
      result.exhausted = true;
      break;
    }
    SHARDWRIGHT_ASSIGN_OR_RETURN(Evaluation evaluation,
                                 evaluate(*request.graph, *found, request.devices, request.model));
    if (evaluation.scaled_total >= bound) {
      return Error{ErrorCode::kVerificationFailed,
                   "the oracle's assignment does not cost less than the bound",
                   "/iterations/" + std::to_string(index)};
    }
    bound = evaluation.scaled_total;
    result.last = Iteration{index, *std::move(found), std::move(evaluation)};
    result.iterations = index + 1;
    on_iteration(*result.last);
  }
  return result;
}

std::vector<std::string> schedule(const Graph& graph, const Assignment& assignment,
                                  CostModel model) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    add_parameters(graph.op(i), assignment[i], model, lines);
  }
  const std::vector<Spec> outputs = output_specs(graph, assignment, model);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const std::string& name = graph.op(i).name;
    const auto args = graph.args(i, model);
    for (std::size_t k = 0; k < args.size() && k < assignment[i].count; ++k) {
      const Spec required = assignment[i].specs[k];
      if (outputs[args[k]] == required) continue;
      lines.push_back(sync_line(name, "fwd_pre", transition(outputs[args[k]], required)));
    }
    if (graph.is_output(i, model) && outputs[i] != Spec::kRR) {
      lines.push_back(sync_line(name, "fwd_post", transition(outputs[i], Spec::kRR)));
    }
  }
  return lines;
}

}  // namespace shardwright::operators::autoshard
