#include "core/operators/autoshard/autoshard_graph.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "core/operators/graph/op_graph.h"
#include "core/text/printable.h"

namespace shardwright::operators::autoshard {
namespace {

using IndexByName = std::unordered_map<std::string_view, std::uint32_t>;

struct OperandRange {
  std::size_t least;
  std::size_t most;
};

OperandRange operands_of(const OpSpec& spec) {
  switch (spec.kind) {
    case OpKind::kPlaceholder:
      return {0, 0};
    case OpKind::kElementwise:
      return {1, std::numeric_limits<std::size_t>::max()};
    case OpKind::kBinary:  // the other operand may be a number
      return {1, 2};
    case OpKind::kMatmul:  // a module has its own weight
      return {1, spec.module ? std::size_t{1} : std::size_t{2}};
    default:
      return {1, 1};
  }
}

bool reads_prev(OpKind kind) {
  return kind == OpKind::kView || kind == OpKind::kPermute || kind == OpKind::kTranspose;
}

std::string place_of(std::size_t op, std::string_view member) {
  return "/graph/" + std::to_string(op) + std::string(member);
}

Result<std::uint32_t> find_earlier(const IndexByName& earlier, const std::string& name,
                                   std::string where) {
  const auto found = earlier.find(name);
  if (found != earlier.end()) return found->second;
  return invalid_input(std::move(where), "\"" + name + "\" is not the name of an earlier op");
}

Status resolve_args(const OpSpec& spec, std::size_t index, const IndexByName& earlier, Op& op) {
  for (std::size_t k = 0; k < spec.args.size(); ++k) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        const std::uint32_t arg,
        find_earlier(earlier, spec.args[k], place_of(index, "/args/" + std::to_string(k))));
    op.args.push_back(arg);
  }
  if (spec.prev) {
    const std::string where = place_of(index, "/prev");
    if (!reads_prev(spec.kind)) {
      return invalid_input(where, "only a view, permute or transpose has a `prev`");
    }
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::uint32_t prev,
                                 find_earlier(earlier, *spec.prev, where));
    if (op.args.empty()) op.args.push_back(prev);
    if (op.args.front() != prev) {
      return invalid_input(where, "`prev` and the first of `args` name different tensors");
    }
  }
  const OperandRange range = operands_of(spec);
  if (op.args.size() >= range.least && op.args.size() <= range.most) return {};
  std::string expected = std::to_string(range.least);
  if (range.most != range.least) {
    expected += range.most == 2 ? " or 2" : " or more";
  }
  return invalid_input(place_of(index, "/args"),
                       "this op of kind " + std::string(name_of(spec.kind)) + " takes " + expected +
                           " tensors, not " + std::to_string(op.args.size()));
}

Status count_elements(const OpSpec& spec, std::size_t index, Op& op) {
  const std::size_t rank = spec.shape.size();
  std::int64_t all = 1;
  std::int64_t last_two = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t extent = spec.shape[d];
    const std::string where = "/shape/" + std::to_string(d);
    if (extent < 1) return invalid_input(place_of(index, where), "an extent must be at least 1");
    if (extent > Graph::kMaxElements / all) {
      return invalid_input(place_of(index, "/shape"), "a tensor has at most 2^53 elements");
    }
    all *= extent;
    if (d + 2 >= rank) last_two *= extent;
  }
  op.elements = {last_two, all};
  return {};
}

using Shape = Extents;

std::optional<Shape> broadcast_all(const std::vector<Shape>& shapes) {
  std::optional<Shape> result = Shape();
  for (const Shape& shape : shapes) {
    if (result) result = broadcast(*result, shape);
  }
  return result;
}

// As in torch.matmul: a vector is a row on the left and a column on the right, and batch dimensions
// are broadcast.
std::optional<Shape> product(Shape a, Shape b) {
  if (a.empty() || b.empty()) return std::nullopt;
  const bool is_row = a.size() == 1;
  const bool is_column = b.size() == 1;
  if (is_row) a.insert(a.begin(), 1);
  if (is_column) b.push_back(1);
  if (a.back() != b[b.size() - 2]) return std::nullopt;
  std::optional<Shape> result =
      broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (!result) return std::nullopt;
  if (!is_row) result->push_back(a[a.size() - 2]);
  if (!is_column) result->push_back(b.back());
  return result;
}

std::int64_t elements(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

bool has_same_extents(Shape a, Shape b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

bool differs_in_last_only(const Shape& a, const Shape& b) {
  return !a.empty() && a.size() == b.size() && std::equal(a.begin(), a.end() - 1, b.begin());
}

// Returns why the shape of an op does not follow from the shapes that it reads; empty if it does.
std::string_view mistake(OpKind kind, const std::vector<Shape>& read, const Shape& shape) {
  switch (kind) {
    case OpKind::kPlaceholder:
      return "";
    case OpKind::kElementwise:
      if (std::find(read.begin(), read.end(), shape) != read.end()) return "";
      return broadcast_all(read) == shape ? "" : "its result has the shape of what it reads";
    case OpKind::kBinary:
      return broadcast_all(read) == shape ? "" : "its result has the broadcast shape of both";
    case OpKind::kLayerNorm:
    case OpKind::kSoftmax:
      return read[0] == shape ? "" : "its result has the shape of what it reads";
    case OpKind::kView:
      return elements(read[0]) == elements(shape) ? "" : "it keeps the number of elements";
    case OpKind::kPermute:
    case OpKind::kTranspose:
      return has_same_extents(read[0], shape) ? "" : "it keeps the extents, in another order";
    case OpKind::kMatmul:
      if (read.size() == 1)
        return differs_in_last_only(read[0], shape) ? "" : "it changes the last extent only";
      return product(read[0], read[1]) == shape
                 ? ""
                 : "the last extent of the first factor is the last but one of the second, and the "
                   "result has the other two";
  }
  return "";
}

}  // namespace

Result<Graph> Graph::make(std::vector<OpSpec> specs) {
  if (specs.empty()) return invalid_input("/graph", "the graph has no ops");
  if (specs.size() > std::numeric_limits<std::uint32_t>::max()) {
    return invalid_input("/graph", "the graph has too many ops");
  }
  IndexByName earlier;
  std::vector<Op> ops(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const OpSpec& spec = specs[i];
    Op& op = ops[i];
    if (spec.name.empty()) return invalid_input(place_of(i, "/name"), "an op needs a name");
    SHARDWRIGHT_RETURN_IF_ERROR(resolve_args(spec, i, earlier, op));
    SHARDWRIGHT_RETURN_IF_ERROR(count_elements(spec, i, op));
    if (!earlier.emplace(spec.name, static_cast<std::uint32_t>(i)).second) {
      return invalid_input(place_of(i, "/name"), "\"" + spec.name + "\" names an earlier op, too");
    }
    for (const std::uint32_t arg : op.args) {
      ops[arg].has_users[1] = true;
      if (spec.kind != OpKind::kView) ops[arg].has_users[0] = true;
    }
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    ops[i].name = std::move(specs[i].name);
    ops[i].kind = specs[i].kind;
    ops[i].shape = std::move(specs[i].shape);
    ops[i].module = std::move(specs[i].module);
    ops[i].dtype = std::move(specs[i].dtype);
  }
  return Graph(std::move(ops));
}

std::optional<std::size_t> Graph::find(std::string_view name) const {
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    if (ops_[i].name == name) return i;
  }
  return std::nullopt;
}

Status check_shapes(const Graph& graph) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Op& op = graph.op(i);
    std::vector<Shape> read;
    std::string names;
    for (const std::uint32_t arg : op.args) {
      read.push_back(graph.op(arg).shape);
      names += (names.empty() ? "" : " and ") + ("\"" + graph.op(arg).name + "\" of shape ") +
               extents_text(read.back());
    }
    const std::string_view why = mistake(op.kind, read, op.shape);
    if (why.empty()) continue;
    return invalid_input("/graph/" + std::to_string(i) + "/shape",
                         std::string(name_of(op.kind)) + " of " + names + " does not give " +
                             extents_text(op.shape) + ": " + std::string(why) +
                             "; correct one of the shapes");
  }
  return {};
}

namespace {

std::string input_text(const OpSpecs& specs) {
  std::string text(name_of(specs.specs[0]));
  if (specs.count == 2) text += "x" + std::string(name_of(specs.specs[1]));
  return text;
}

// Returns the JSON pointer of an op in an assignment, escaped as in RFC 6901.
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
    // Every op accepts RR.
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
    // Counts the op's own cost, its output, and every read of the output.
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
  // An all-reduce counts the whole output, whatever the number of devices.
  if (kind == OpKind::kMatmul && required == Spec::kRS) return elements * devices;
  // The cost is elements / devices, not truncated.
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
    case OpKind::kSoftmax:  // both kinds reduce over the last dimension
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
