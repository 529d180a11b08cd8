#include "core/operators/aten/held_tensors.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace shardwright::operators {
namespace {

using Kind = HeldTensor::Kind;
// By node and output: the moment after the last use.
using Ends = std::vector<std::vector<std::uint32_t>>;

std::uint32_t latest(const std::vector<std::uint32_t>& ends) {
  return *std::max_element(ends.begin(), ends.end());
}

std::uint32_t consumer_of(const AtenGraph& graph, std::size_t output) {
  return static_cast<std::uint32_t>(graph.size() + output);
}

// Returns the value whose storage `value` shares, or `value` itself.
TensorRef owner(const AtenGraph& graph, TensorRef value) {
  while (graph[value.node].view)
    value = graph[value.node].inputs[0];
  return value;
}

// The last uses of values.
// Thread safety: one thread at a time.
class Lives {
 public:
  Lives(const AtenGraph& graph, const TimeLine& time) : graph_(graph), time_(time) {
    for (std::uint32_t n = 0; n < graph.size(); ++n) {
      ends_.emplace_back(graph[n].outputs.size(), time.run_of(n) + 1);
      only_.emplace_back(graph[n].outputs.size());
    }
    for (std::uint32_t o = 0; o < graph.outputs().size(); ++o) {
      const TensorRef& value = graph.outputs()[o].value;
      use(value, time.move_of({consumer_of(graph, o), 0}) + 1, std::nullopt);
      leaving_.emplace(value.node, value.output);
    }
    // Visits consumers first: a view's lifetime must be known before the viewed tensor's.
    for (auto n = static_cast<std::uint32_t>(graph.size()); n-- > 0;)
      visit(n);
  }

  std::uint32_t end(const TensorRef& value) const { return ends_[value.node][value.output]; }
  std::uint32_t end_of_all(std::uint32_t node) const { return latest(ends_[node]); }
  // Returns true if the input is the last use of its tensor, which is then freed after its move.
  bool is_last(const TakenTensor& taken) const { return last_.contains(taken); }

 private:
  void use(const TensorRef& value, std::uint32_t end, std::optional<TakenTensor> by) {
    std::uint32_t& known = ends_[value.node][value.output];
    if (end < known) return;
    only_[value.node][value.output] = end > known ? by : std::nullopt;
    known = end;
  }

  void visit(std::uint32_t n) {
    const AtenNode& node = graph_[n];
    for (std::uint32_t o = 0; o < node.outputs.size() && !node.view; ++o) {
      const std::optional<TakenTensor>& by = only_[n][o];
      if (!by || !is_freed_with({n, o}, *by)) continue;
      ends_[n][o] = time_.move_of(*by) + 1;
      last_.insert(*by);
    }
    for (std::uint32_t i = 0; i < node.inputs.size(); ++i) {
      if (node.view && i == 0)
        use(node.inputs[i], latest(ends_[n]), only_of_view(n));
      else
        use(node.inputs[i], time_.run_of(n) + 1, TakenTensor{n, i});
    }
  }

  std::optional<TakenTensor> only_of_view(std::uint32_t n) const {
    return only_[n].size() == 1 && !leaving_.contains({n, 0}) ? only_[n][0] : std::nullopt;
  }

  // Returns true if the value can be freed after its use by `by`. Placeholders and graph outputs
  // cannot, because the caller keeps them. A view of a part keeps the whole storage.
  bool is_freed_with(const TensorRef& value, const TakenTensor& by) const {
    return !graph_[value.node].is_placeholder() && !leaving_.contains({value.node, value.output}) &&
           redistribution::num_elements(graph_.tensor(value).shape) ==
               redistribution::num_elements(graph_.tensor(taken_value(graph_, by)).shape);
  }

  const AtenGraph& graph_;
  const TimeLine& time_;
  Ends ends_;
  // By node and output: the only input that is the last use of the output, or of a view of it.
  std::vector<std::vector<std::optional<TakenTensor>>> only_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> leaving_;  // node and output
  std::set<TakenTensor> last_;
};

bool lives_forever(const AtenNode& node) {
  return node.role == AtenRole::kParameter || node.role == AtenRole::kBuffer;
}

// Returns the moment at which the gradients of the outputs arrive.
std::uint32_t begin_of_backward(const AtenGraph& graph, const TimeLine& time) {
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    if (graph[n].backward) return time.begin_of(n);
  }
  return 0;
}

// Collects the tensors of one graph.
// Thread safety: one thread at a time.
class Holder {
 public:
  Holder(const AtenGraph& graph, std::int64_t optimizer_states)
      : graph_(graph),
        time_(graph),
        lives_(graph, time_),
        backward_(begin_of_backward(graph, time_)),
        optimizer_states_(optimizer_states) {}

  std::vector<HeldTensor> run() {
    for (std::uint32_t n = 0; n < graph_.size(); ++n) {
      const AtenNode& node = graph_[n];
      for (std::uint32_t i = 0; i < node.inputs.size(); ++i)
        add_taken({n, i}, node.view && i == 0 ? lives_.end_of_all(n) : time_.run_of(n) + 1);
      for (std::uint32_t o = 0; o < node.outputs.size() && !node.view; ++o) {
        if (node.outputs[o]) add_output(n, o);
      }
    }
    for (std::uint32_t o = 0; o < graph_.outputs().size(); ++o)
      add_graph_output(o);
    return std::move(held_);
  }

 private:
  void add(HeldTensor held) {
    if (held.live.begin < held.live.end) held_.push_back(held);
  }

  void add_taken(const TakenTensor& taken, std::uint32_t end) {
    const std::uint32_t move = time_.move_of(taken);
    add({Kind::kMoving, taken.consumer, taken.input, {move, move + 1}, 1});
    const Kind kind = lives_.is_last(taken) ? Kind::kLastTaken : Kind::kMoved;
    add({kind, taken.consumer, taken.input, {move + 1, end}, 1});
  }

  void add_output(std::uint32_t n, std::uint32_t o) {
    const AtenNode& node = graph_[n];
    HeldTensor tensor{Kind::kOutput, n, o, {time_.run_of(n), lives_.end({n, o})}, 1};
    if (node.is_placeholder()) tensor.live.begin = 0;
    if (node.role == AtenRole::kTangent)
      tensor.live.begin = std::min(backward_, tensor.live.end - 1);
    if (lives_forever(node)) tensor.live.end = time_.size();
    if (node.role == AtenRole::kParameter) tensor.copies += optimizer_states_;
    add(tensor);
  }

  // A graph output that was not moved is the value itself, and counts as such until its last use.
  void add_graph_output(std::uint32_t o) {
    const TensorRef& value = graph_.outputs()[o].value;
    const TakenTensor taken{consumer_of(graph_, o), 0};
    if (graph_[owner(graph_, value).node].is_placeholder()) return add_taken(taken, time_.size());
    const std::uint32_t end = lives_.end(value);
    add_taken(taken, end);
    add({Kind::kGraphOutput, o, 0, {end, time_.size()}, 1});
  }

  const AtenGraph& graph_;
  const TimeLine time_;
  const Lives lives_;
  const std::uint32_t backward_;
  const std::int64_t optimizer_states_;
  std::vector<HeldTensor> held_;
};

using redistribution::AxisPlacement;
using redistribution::MeshShape;
using redistribution::Placement;

// Moves a tensor axis by axis.
// Thread safety: one thread at a time.
class Mover {
 public:
  Mover(const AtenTensor& tensor, const MeshShape& mesh, const Placement& source,
        const Placement& target, CollectiveBackend backend)
      : tensor_(tensor), mesh_(mesh), backend_(backend) {
    for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
      at_.push_back(source.on(axis));
      target_.push_back(target.on(axis));
    }
  }

  std::int64_t run() {
    const std::vector<AxisPlacement> source = at_;
    for (std::size_t axis = mesh_.size(); axis-- > 0;) {
      if (is_cut_anew(source, axis)) step(axis, AxisPlacement::replicate());
    }
    // First steps that shrink the tensor, then steps that keep its size, then gathering steps.
    for (std::size_t axis = 0; axis < mesh_.size(); ++axis) {
      if (target_[axis].is_shard() && !at_[axis].is_shard()) step(axis, target_[axis]);
    }
    for (std::size_t axis = 0; axis < mesh_.size(); ++axis) {
      if (at_[axis].is_shard() == target_[axis].is_shard()) step(axis, target_[axis]);
    }
    for (std::size_t axis = mesh_.size(); axis-- > 0;)
      step(axis, target_[axis]);
    return peak_;
  }

 private:
  // Returns true if both placements shard the dimension by this axis, but by different axes before.
  bool is_cut_anew(const std::vector<AxisPlacement>& source, std::size_t axis) const {
    if (!source[axis].is_shard() || source[axis] != target_[axis]) return false;
    for (std::size_t outer = 0; outer < axis; ++outer) {
      if ((source[outer] == source[axis]) != (target_[outer] == source[axis])) return true;
    }
    return false;
  }

  // Does not allocate, since searches call moving_bytes() for every pair of placements.
  std::int64_t bytes() const {
    std::int64_t product = bytes_of(tensor_.type);
    for (std::size_t dim = 0; dim < tensor_.shape.size(); ++dim) {
      std::int64_t extent = tensor_.shape[dim];
      for (std::size_t axis = 0; axis < mesh_.size(); ++axis) {
        if (at_[axis].is_shard() && at_[axis].dim == dim)
          extent = (extent + mesh_[axis] - 1) / mesh_[axis];
      }
      product *= extent;
    }
    return product;
  }

  void step(std::size_t axis, const AxisPlacement& after) {
    const AxisPlacement before = std::exchange(at_[axis], after);
    if (before == after) return;
    const std::int64_t made = bytes();
    at_[axis] = before;
    const std::int64_t taken = bytes();
    std::int64_t buffers = made;
    if (before.is_shard() && after.is_shard() && backend_ == CollectiveBackend::kNccl) {
      const std::int64_t copies = (after.dim != 0 ? 1 : 0) + (before.dim != 0 ? 1 : 0);
      buffers = taken + copies * taken;
    } else if (before.is_shard()) {
      at_[axis] = AxisPlacement::replicate();
      const std::int64_t gathered = bytes();
      if (before.dim != 0) buffers += gathered;
      if (after.is_shard() && before.dim == 0) buffers = made + gathered;
      if (after.is_shard() && before.dim != 0) buffers = std::max(2 * gathered, gathered + made);
    } else if (before.is_partial() && after.is_shard() && after.dim != 0) {
      buffers += taken;
    }
    at_[axis] = after;
    peak_ = std::max(peak_, buffers + (is_first_ ? 0 : taken));
    is_first_ = false;
  }

  const AtenTensor& tensor_;
  const MeshShape& mesh_;
  const CollectiveBackend backend_;
  std::vector<AxisPlacement> at_;  // by axis
  std::vector<AxisPlacement> target_;
  bool is_first_ = true;  // the source of the first step is the source of the move
  std::int64_t peak_ = 0;
};

}  // namespace

TensorRef taken_value(const AtenGraph& graph, const TakenTensor& taken) {
  return taken.consumer < graph.size() ? graph[taken.consumer].inputs[taken.input]
                                       : graph.outputs()[taken.consumer - graph.size()].value;
}

TimeLine::TimeLine(const AtenGraph& graph) : leave_(graph.outputs().size()) {
  std::vector<std::vector<std::uint32_t>> leaving(graph.size());  // by node: its graph outputs
  for (std::uint32_t o = 0; o < graph.outputs().size(); ++o)
    leaving[graph.outputs()[o].value.node].push_back(o);
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    begin_.push_back(size());
    node_.resize(node_.size() + graph[n].inputs.size(), n);
    run_.push_back(size());
    node_.push_back(n);
    for (const std::uint32_t o : leaving[n]) {
      leave_[o] = size();
      node_.push_back(n);
    }
  }
  begin_.push_back(size());
  node_.push_back(static_cast<std::uint32_t>(graph.size()));
}

std::uint32_t TimeLine::move_of(const TakenTensor& taken) const {
  return taken.consumer < run_.size() ? begin_[taken.consumer] + taken.input
                                      : leave_[taken.consumer - run_.size()];
}

std::vector<HeldTensor> held_tensors(const AtenGraph& graph, std::int64_t optimizer_states) {
  return Holder(graph, optimizer_states).run();
}

std::int64_t moving_bytes(const AtenTensor& tensor, const MeshShape& mesh, const Placement& source,
                          const Placement& target, CollectiveBackend backend) {
  return source == target ? 0 : Mover(tensor, mesh, source, target, backend).run();
}

}  // namespace shardwright::operators
