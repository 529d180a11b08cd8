#include "core/operators/autoshard/autoshard_evaluate.h"

#include <utility>

namespace shardwright::operators::autoshard {
namespace {

std::string input_text(const OpSpecs& specs) {
  std::string text(name_of(specs.specs[0]));
  if (specs.count == 2) text += "x" + std::string(name_of(specs.specs[1]));
  return text;
}

// The JSON pointer of an op in an assignment, escaped as in RFC 6901.
std::string assignment_place(std::string_view op) {
  std::string place = "/assignment/";
  for (const char c : op) {
    if (c == '~') {
      place += "~0";
    } else if (c == '/') {
      place += "~1";
    } else {
      place += c;
    }
  }
  return place;
}

Status check_assignment(const Graph& graph, const Assignment& assignment, CostModel model) {
  if (assignment.size() != graph.size()) {
    return invalid_input("/assignment", "the assignment is for " +
                                            std::to_string(assignment.size()) +
                                            " ops, the graph has " + std::to_string(graph.size()));
  }
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const OpSpecs& given = assignment[i];
    // RR is allowed everywhere.
    const std::uint8_t count = specs_from_first(graph, i, Spec::kRR, model)->count;
    if (given.count != count) {
      return invalid_input(
          assignment_place(graph.op(i).name),
          "the op has " + std::to_string(count) + " variables, not " + std::to_string(given.count));
    }
    const std::optional<OpSpecs> allowed = specs_from_first(graph, i, given.specs[0], model);
    if (count > 0 && (!allowed || (count == 2 && given.specs[1] != allowed->specs[1]))) {
      return invalid_input(assignment_place(graph.op(i).name),
                           "an op of kind " + std::string(name_of(graph.op(i).kind)) +
                               " cannot take " + input_text(given));
    }
  }
  return {};
}

// Collects rows and their sum.
// Thread safety: one thread at a time.
class Rows {
 public:
  explicit Rows(std::int64_t devices) : devices_(devices) {}

  void add(std::string name, std::string in, Spec out, std::int64_t scaled_cost) {
    result_.rows.push_back({std::move(name), std::move(in), std::string(name_of(out)), scaled_cost,
                            unscaled(scaled_cost, devices_)});
    result_.scaled_total += scaled_cost;
  }

  Evaluation take() && {
    result_.total = unscaled(result_.scaled_total, devices_);
    return std::move(result_);
  }

 private:
  std::int64_t devices_;
  Evaluation result_;
};

}  // namespace

double unscaled(std::int64_t scaled_cost, std::int64_t devices) {
  const std::int64_t whole = scaled_cost / devices;
  const std::int64_t rest = scaled_cost % devices;
  if (rest == 0) return static_cast<double>(whole);
  return static_cast<double>(scaled_cost) / static_cast<double>(devices);
}

Status check_request(const Graph& graph, std::int64_t devices) {
  if (devices < 1 || devices > kMaxDevices) {
    return invalid_input("/p", "the number of devices must be 1 to " + std::to_string(kMaxDevices));
  }
  double most = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    // The op itself, its output, and every time that it is read.
    most += 2 * static_cast<double>(graph.elements(i, CostModel::kV2));
    for (const std::uint32_t arg : graph.op(i).args) {
      most += static_cast<double>(graph.elements(arg, CostModel::kV2));
    }
  }
  if (most * static_cast<double>(devices) < 0x1p62) return {};
  return Error{ErrorCode::kUnsupported,
               "tensors this large on so many devices exceed the range of exact costs", "/graph"};
}

std::int64_t reshard_cost(Spec from, Spec to, std::int64_t elements, std::int64_t devices,
                          CostModel model) {
  if (from == to) return 0;
  if (from == Spec::kRR) return model == CostModel::kV2 ? 1 : 0;
  const double each = 1.0 / static_cast<double>(devices);
  const double coefficient =
      to == Spec::kRR ? each : each - 1.0 / static_cast<double>(devices * devices);
  return static_cast<std::int64_t>(coefficient * static_cast<double>(elements));
}

std::int64_t scaled_own_cost(const Graph& graph, std::size_t op, Spec input, Spec required,
                             std::int64_t devices, CostModel model) {
  const OpKind kind = graph.op(op).kind;
  const std::int64_t elements = graph.elements(op, model);
  // The all-reduce counts the whole output, whatever the number of devices.
  if (kind == OpKind::kMatmul && required == Spec::kRS) return elements * devices;
  // elements / devices, not truncated.
  if (kind == OpKind::kView && model == CostModel::kV2 && input == Spec::kRS &&
      required != Spec::kSR) {
    return elements;
  }
  return 0;
}

std::optional<OpSpecs> specs_from_first(const Graph& graph, std::size_t op, Spec first,
                                        CostModel model) {
  constexpr std::array<Spec, 3> kMatmulSecond{Spec::kRS, Spec::kSR, Spec::kRR};
  switch (graph.kind(op, model)) {
    case OpKind::kBinary:
      return OpSpecs{2, {first, first}};
    case OpKind::kMatmul:
      return OpSpecs{2, {first, kMatmulSecond[index_of(first)]}};
    case OpKind::kLayerNorm:
    case OpKind::kSoftmax:  // both reduce over the last dimension
      if (first == Spec::kRS) return std::nullopt;
      return OpSpecs{1, {first, Spec::kRR}};
    case OpKind::kView:
      return OpSpecs{1, {first, Spec::kRR}};
    default:
      return OpSpecs{};
  }
}

Spec output_spec(const Graph& graph, std::size_t op, const OpSpecs& specs, Spec input,
                 CostModel model) {
  constexpr std::array<Spec, 3> kMatmul{Spec::kRS, Spec::kRR, Spec::kSR};
  constexpr std::array<Spec, 3> kTranspose{Spec::kRR, Spec::kSR, Spec::kRS};
  constexpr std::array<Spec, 3> kPermuteV1{Spec::kRR, Spec::kRS, Spec::kRR};
  switch (graph.kind(op, model)) {
    case OpKind::kPlaceholder:
      return Spec::kRR;
    case OpKind::kElementwise:
      return input;
    case OpKind::kTranspose:
      return kTranspose[index_of(input)];
    case OpKind::kPermute:
      return model == CostModel::kV1 ? kPermuteV1[index_of(input)] : input;
    case OpKind::kMatmul:
      return kMatmul[index_of(specs.specs[0])];
    default:
      return specs.specs[0];
  }
}

std::vector<Spec> output_specs(const Graph& graph, const Assignment& assignment, CostModel model) {
  std::vector<Spec> outputs(graph.size(), Spec::kRR);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const std::vector<std::uint32_t>& args = graph.op(i).args;
    const Spec input = args.empty() ? Spec::kRR : outputs[args.front()];
    outputs[i] = output_spec(graph, i, assignment[i], input, model);
  }
  return outputs;
}

Result<Evaluation> evaluate(const Graph& graph, const Assignment& assignment, std::int64_t devices,
                            CostModel model) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_request(graph, devices));
  SHARDWRIGHT_RETURN_IF_ERROR(check_assignment(graph, assignment, model));
  const std::vector<Spec> outputs = output_specs(graph, assignment, model);
  Rows rows(devices);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const OpSpecs& specs = assignment[i];
    const std::vector<std::uint32_t>& all_args = graph.op(i).args;
    if (specs.count > 0) {
      const Spec input = all_args.empty() ? Spec::kRR : outputs[all_args.front()];
      rows.add(graph.op(i).name, input_text(specs), outputs[i],
               scaled_own_cost(graph, i, input, specs.specs[0], devices, model));
    }
    const auto args = graph.args(i, model);
    for (std::size_t k = 0; k < args.size() && k < specs.count; ++k) {
      const Spec from = outputs[args[k]];
      const std::int64_t elements = graph.elements(args[k], model);
      rows.add("|-" + graph.op(args[k]).name, std::string(name_of(from)), specs.specs[k],
               reshard_cost(from, specs.specs[k], elements, devices, model) * devices);
    }
    if (graph.is_output(i, model)) {
      const std::int64_t elements = graph.elements(i, model);
      rows.add("output", std::string(name_of(outputs[i])), Spec::kRR,
               reshard_cost(outputs[i], Spec::kRR, elements, devices, model) * devices);
    }
  }
  return std::move(rows).take();
}

}  // namespace shardwright::operators::autoshard
