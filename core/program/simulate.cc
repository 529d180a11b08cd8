#include "core/program/simulate.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/interner.h"

namespace shardwright::program {

bool lies_within(const Part& part, const Shape& shape) {
  if (part.size() != shape.size()) return false;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (part[dim].begin < 0 || part[dim].begin > part[dim].end || part[dim].end > shape[dim]) {
      return false;
    }
  }
  return true;
}

Array slice(const Array& array, const Part& part) {
  SHARDWRIGHT_CHECK(lies_within(part, array.shape));
  Array result;
  result.shape = shape_of(part);
  result.values.reserve(static_cast<std::size_t>(num_elements(part)));
  for_each_element(array.shape, part,
                   [&](std::size_t flat) { result.values.push_back(array.values[flat]); });
  return result;
}

void paste(const Array& piece, const Part& place, Array& array) {
  SHARDWRIGHT_CHECK(lies_within(place, array.shape));
  SHARDWRIGHT_CHECK(shape_of(place) == piece.shape);
  std::size_t next = 0;
  for_each_element(array.shape, place,
                   [&](std::size_t flat) { array.values[flat] = piece.values[next++]; });
}

Array concat(const std::vector<Array>& arrays, std::size_t dim) {
  if (arrays.size() == 1) return arrays.front();  // also handles scalars, which have no dimension
  Array result;
  result.shape = arrays.front().shape;
  result.shape[dim] = 0;
  for (const Array& array : arrays)
    result.shape[dim] += array.shape[dim];
  result.values.resize(static_cast<std::size_t>(num_elements(result.shape)));
  Part place = whole(result.shape);
  place[dim] = {0, 0};
  for (const Array& array : arrays) {
    place[dim] = {place[dim].end, place[dim].end + array.shape[dim]};
    paste(array, place, result);
  }
  return result;
}

namespace {

// Returns the positions of the ranks that hold terms of the same elements as the rank at `first`.
// Returns an empty list unless `first` is the lowest of these positions.
std::vector<std::size_t> term_holders(const RankPlacement& placed, std::size_t first) {
  std::vector<std::size_t> holders{first};
  for (std::size_t axis = 0; axis < placed.mesh.axes(); ++axis) {
    if (!placed.placement.is_partial(axis)) continue;
    if (placed.mesh.coordinate(first, axis) != 0) return {};
    const std::size_t known = holders.size();
    const auto stride = static_cast<std::size_t>(placed.mesh.stride(axis));
    const auto size = static_cast<std::size_t>(placed.mesh.axis_size(axis));
    for (std::size_t step = 1; step < size; ++step) {
      for (std::size_t i = 0; i < known; ++i)
        holders.push_back(holders[i] + step * stride);
    }
  }
  return holders;
}

// Reduces the terms of every element of a part and compares the results with the expected values.
// Returns false if they differ.
bool check_part(const Shape& shape, const RankPlacement& target, std::size_t first,
                const TensorValues& values, Execution& execution) {
  const Part part = part_at(shape, target, first);
  const std::vector<std::size_t> holders = term_holders(target, first);
  if (static_cast<std::int64_t>(holders.size()) != num_terms(target)) return true;
  std::vector<const Array*> terms;
  for (const std::size_t position : holders) {
    const SimulatedRank& rank_state = *execution.find(target.mesh.ids()[position]);
    if (!rank_state.tensor || rank_state.tensor->shape != shape_of(part) ||
        !rank_state.pieces.empty()) {
      return execution.fail(rank_state, rank_state.tensor ? "ends with a tensor of another shape"
                                                          : "ends without a tensor");
    }
    terms.push_back(&*rank_state.tensor);
  }
  const redistribution::ReduceOp op = reduction_of(target);
  const std::int64_t divisor = average_divisor(target);
  bool is_right = true;
  std::size_t next = 0;
  for_each_element(shape, part, [&](std::size_t flat) {
    std::int64_t total = terms.front()->values[next];
    for (std::size_t k = 1; k < terms.size(); ++k) {
      const std::int64_t other = terms[k]->values[next];
      total = combine(total, other, op);
    }
    ++next;
    is_right = is_right && total == values.value(flat) * divisor;
  });
  return is_right ||
         execution.fail(*execution.find(target.mesh.ids()[first]), "ends with wrong data");
}

}  // namespace

Simulation simulate(const Shape& shape, const RankPlacement& source, const RankPlacement& target,
                    const ReshardPlan& plan) {
  const TensorValues values(shape, source);
  Execution execution;
  for (std::size_t i = 0; i < source.mesh.size(); ++i)
    execution.rank(source.mesh.ids()[i]).tensor = values.share(i);
  for (const Rank rank : target.mesh.ids())
    execution.rank(rank);
  for (const auto& [rank, steps] : plan.ranks)
    execution.rank(rank).steps = &steps;
  bool goes_on = execution.run();
  for (std::size_t first = 0; first < target.mesh.size() && goes_on; ++first)
    goes_on = check_part(shape, target, first, values, execution);
  return execution.result();
}

Simulation simulate(const Shape& shape, const DistAttr& source, const DistAttr& target,
                    const ReshardPlan& plan) {
  return simulate(shape, placed(source), placed(target), plan);
}

namespace {

using redistribution::ReduceOp;

Array reduce(const std::vector<Array>& arrays, ReduceOp op) {
  Array result = arrays.front();
  for (std::size_t k = 1; k < arrays.size(); ++k) {
    for (std::size_t i = 0; i < result.values.size(); ++i)
      result.values[i] = combine(result.values[i], arrays[k].values[i], op);
  }
  if (op == ReduceOp::kAvg) {
    for (std::int64_t& value : result.values)
      value /= static_cast<std::int64_t>(arrays.size());
  }
  return result;
}

}  // namespace

std::int64_t combine(std::int64_t a, std::int64_t b, ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      return a + b;
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kProduct:
      return a * b;
  }
  return a;
}

const Array& Collective::joined(std::size_t dim) {
  const auto [at, fresh] = joined_.try_emplace(dim);
  if (fresh) at->second = concat(tensors_, dim);
  return at->second;
}

const Array& Collective::reduced(ReduceOp op) {
  const auto [at, fresh] = reduced_.try_emplace(op);
  if (fresh) at->second = reduce(tensors_, op);
  return at->second;
}

namespace {

using redistribution::ReduceOp;

// Returns the index of a rank among the ranks that hold terms of the same elements.
std::int64_t term_of(const RankPlacement& placed, std::size_t position) {
  std::int64_t term = 0;
  for (std::size_t axis = 0; axis < placed.mesh.axes(); ++axis) {
    if (!placed.placement.is_partial(axis)) continue;
    term = term * placed.mesh.axis_size(axis) + placed.mesh.coordinate(position, axis);
  }
  return term;
}

}  // namespace

std::int64_t num_terms(const RankPlacement& placed) {
  std::int64_t product = 1;
  for (std::size_t axis = 0; axis < placed.mesh.axes(); ++axis)
    product *= placed.placement.is_partial(axis) ? placed.mesh.axis_size(axis) : 1;
  return product;
}

std::int64_t average_divisor(const RankPlacement& placed) {
  std::int64_t product = 1;
  for (std::size_t axis = 0; axis < placed.mesh.axes(); ++axis) {
    if (placed.placement.on(axis) == redistribution::AxisPlacement::partial(ReduceOp::kAvg))
      product *= placed.mesh.axis_size(axis);
  }
  return product;
}

ReduceOp reduction_of(const RankPlacement& placed) {
  for (std::size_t axis = 0; axis < placed.mesh.axes(); ++axis) {
    if (!placed.placement.is_partial(axis)) continue;
    const ReduceOp op = placed.placement.reduce_op(axis);
    if (op != ReduceOp::kAvg) return op;
  }
  return ReduceOp::kSum;
}

TensorValues::TensorValues(const Shape& shape, const RankPlacement& source)
    : shape_(shape),
      source_(source),
      scale_(average_divisor(source)),
      count_(num_terms(source)),
      op_(reduction_of(source)) {}

Array TensorValues::share(std::size_t position) const {
  const Part part = part_at(shape_, source_, position);
  Array array;
  array.shape = shape_of(part);
  array.values.reserve(static_cast<std::size_t>(num_elements(part)));
  const std::int64_t member = term_of(source_, position);
  for_each_element(shape_, part,
                   [&](std::size_t flat) { array.values.push_back(term(flat, member)); });
  return array;
}

std::int64_t TensorValues::noise(std::size_t flat, std::int64_t member) const {
  return static_cast<std::int64_t>(hash_mix(hash_mix(0, flat), static_cast<std::uint64_t>(member)) %
                                   1000);
}

// The terms of an element add up to its value times the divisor of averages. For a maximum or
// minimum, one term is the value and all others are smaller or larger. For a product, one term is
// the value and all others are 1.
std::int64_t TensorValues::term(std::size_t flat, std::int64_t member) const {
  if (op_ != ReduceOp::kSum) {
    if (noise(flat, -1) % count_ == member) return value(flat);
    if (op_ == ReduceOp::kProduct) return 1;
    const std::int64_t apart = 1 + noise(flat, member);
    return op_ == ReduceOp::kMax ? value(flat) - apart : value(flat) + apart;
  }
  if (member + 1 < count_) return noise(flat, member) * scale_;
  std::int64_t rest = value(flat) * scale_;
  for (std::int64_t other = 0; other + 1 < count_; ++other)
    rest -= noise(flat, other) * scale_;
  return rest;
}

namespace {

// Returns the dimension in which the tensors of a collective may differ; nullopt for reductions.
std::optional<std::size_t> joined_dim(const Step& step, const Shape& shape) {
  switch (step.kind) {
    case StepKind::kAllGather:
      return step.need_split && step.dim >= 0 ? static_cast<std::size_t>(step.dim) : 0;
    case StepKind::kConcatGather:
      return shape.size() - 1;
    case StepKind::kAllToAll:
      return static_cast<std::size_t>(step.other_dim);
    default:
      return std::nullopt;
  }
}

bool fits(Shape shape, const Shape& first, const Step& step) {
  const std::optional<std::size_t> dim = joined_dim(step, first);
  if (dim && *dim < shape.size() && shape.size() == first.size()) shape[*dim] = first[*dim];
  return shape == first;
}

}  // namespace

SimulatedRank& Execution::rank(Rank id) {
  const auto [at, fresh] = index_.try_emplace(id, ranks_.size());
  if (fresh) ranks_.emplace_back().rank = id;
  return ranks_[at->second];
}

SimulatedRank* Execution::find(Rank id) {
  const auto at = index_.find(id);
  return at == index_.end() ? nullptr : &ranks_[at->second];
}

bool Execution::fail(const SimulatedRank& rank, const std::string& what) {
  if (simulation_.problem.empty()) {
    simulation_.problem = "rank " + std::to_string(rank.rank) + " " + what;
  }
  return false;
}

bool Execution::run() {
  for (bool moved = true; moved;) {
    moved = false;
    for (SimulatedRank& rank_state : ranks_) {
      while (rank_state.step() != nullptr) {
        const std::optional<bool> done = advance(rank_state);
        if (!done) break;
        if (!*done) return false;
        moved = true;
      }
    }
  }
  for (const SimulatedRank& own : ranks_) {
    if (own.step() == nullptr) continue;
    simulation_.hangs = true;
    simulation_.groups_disagree = is_collective(own.step()->kind);
    return fail(own, "waits forever at step " + std::to_string(own.next));
  }
  return true;
}

std::optional<bool> Execution::advance(SimulatedRank& rank_state) {
  const Step& step = *rank_state.step();
  if (step.kind == StepKind::kRecv) return std::nullopt;  // the sender completes this step
  if (step.kind == StepKind::kSend) return send(rank_state, step);
  if (is_collective(step.kind)) return meet(rank_state, step);
  ++rank_state.next;
  return run_local(rank_state, step);
}

bool Execution::run_local(SimulatedRank& rank_state, const Step& step) {
  switch (step.kind) {
    case StepKind::kEnd:
      return true;
    case StepKind::kZero:
      rank_state.tensor = Array{shape_of(step.part), {}};
      rank_state.tensor->values.assign(static_cast<std::size_t>(num_elements(step.part)), 0);
      return true;
    case StepKind::kConcat:
      return join_pieces(rank_state, step);
    default:
      return cut(rank_state, step);
  }
}

bool Execution::cut(SimulatedRank& rank_state, const Step& step) {
  if (!rank_state.tensor) return fail(rank_state, "has no tensor to work on");
  const Part& part = step.kind == StepKind::kSlice ? step.part : step.local;
  if (step.kind == StepKind::kKeep && part.empty()) {
    rank_state.pieces.push_back(*rank_state.tensor);
    return true;
  }
  if (!lies_within(part, rank_state.tensor->shape))
    return fail(rank_state, "cuts beyond its tensor");
  Array box = slice(*rank_state.tensor, part);
  if (step.kind == StepKind::kKeep) {
    rank_state.pieces.push_back(std::move(box));
  } else {
    rank_state.tensor = std::move(box);
  }
  return true;
}

bool Execution::join_pieces(SimulatedRank& rank_state, const Step& step) {
  if (rank_state.pieces.size() != step.parts.size()) {
    return fail(rank_state, "joins another number of pieces than it has");
  }
  std::vector<Part> boxes;
  for (std::size_t i = 0; i < step.parts.size(); ++i) {
    if (rank_state.pieces[i].shape != shape_of(step.parts[i])) {
      return fail(rank_state, "holds a piece of another shape");
    }
    absorb(boxes, step.parts[i], [](std::size_t, const Join&) {});
  }
  if (boxes.size() != 1) return fail(rank_state, "has pieces that do not join");
  rank_state.tensor = Array{shape_of(boxes.front()), {}};
  rank_state.tensor->values.resize(static_cast<std::size_t>(num_elements(boxes.front())));
  for (std::size_t i = 0; i < step.parts.size(); ++i)
    paste(rank_state.pieces[i], relative(step.parts[i], boxes.front()), *rank_state.tensor);
  rank_state.pieces.clear();
  return true;
}

std::optional<bool> Execution::send(SimulatedRank& rank_state, const Step& step) {
  if (step.dst == rank_state.rank) {
    simulation_.sends_to_itself = true;
    return fail(rank_state, "sends to itself");
  }
  if (step.src != rank_state.rank) return fail(rank_state, "sends on behalf of another rank");
  SimulatedRank* const to = find(step.dst);
  const Step* const theirs = to == nullptr ? nullptr : to->step();
  if (theirs == nullptr || theirs->kind != StepKind::kRecv || theirs->src != rank_state.rank) {
    return std::nullopt;
  }
  if (!rank_state.tensor) return fail(rank_state, "has no tensor to send");
  if (!step.local.empty() && !lies_within(step.local, rank_state.tensor->shape)) {
    return fail(rank_state, "sends from beyond its tensor");
  }
  Array sent = step.local.empty() ? *rank_state.tensor : slice(*rank_state.tensor, step.local);
  if (sent.shape != shape_of(theirs->part)) return fail(*to, "receives another shape");
  to->pieces.push_back(std::move(sent));
  ++to->next;
  ++rank_state.next;
  return true;
}

// Runs a collective once all members have reached it.
std::optional<bool> Execution::meet(SimulatedRank& rank_state, const Step& step) {
  if (std::find(step.group.begin(), step.group.end(), rank_state.rank) == step.group.end()) {
    simulation_.groups_disagree = true;
    return fail(rank_state, "names a group that it is not in");
  }
  std::vector<SimulatedRank*> members;
  for (const Rank id : step.group) {
    members.push_back(find(id));
    const Step* const theirs = members.back() == nullptr ? nullptr : members.back()->step();
    if (theirs == nullptr || theirs->kind != step.kind) return std::nullopt;
  }
  // Every member calls meet() when it arrives, so groups are compared only once all have arrived.
  for (const SimulatedRank* member : members) {
    if (member->step()->group != step.group) return std::nullopt;
  }
  for (const SimulatedRank* member : members) {
    if (!member->tensor) return fail(*member, "has no tensor to share");
    if (!fits(member->tensor->shape, members.front()->tensor->shape, step)) {
      return fail(*member, "shares a tensor of another shape");
    }
  }
  return run_collective(members);
}

bool Execution::run_collective(const std::vector<SimulatedRank*>& members) {
  std::vector<Array> tensors;
  tensors.reserve(members.size());
  for (const SimulatedRank* member : members)
    tensors.push_back(*member->tensor);
  Collective shared(std::move(tensors));
  for (std::size_t i = 0; i < members.size(); ++i) {
    SimulatedRank& rank_state = *members[i];
    const Step& step = *rank_state.step();
    ++rank_state.next;
    if (step.kind == StepKind::kAllGather && step.need_split) {
      rank_state.pieces = shared.tensors();
    } else if (step.kind == StepKind::kAllGather) {
      rank_state.tensor = shared.joined(0);
    } else if (step.kind == StepKind::kConcatGather) {
      rank_state.tensor = shared.joined(shared.shape().size() - 1);
    } else if (step.kind == StepKind::kAllReduce) {
      rank_state.tensor = shared.reduced(step.reduction);
    } else if (!scatter(rank_state, step, shared, i)) {
      return false;
    }
  }
  return true;
}

// Gives member `index` its piece of the reduction, or its pieces of every member's tensor.
bool Execution::scatter(SimulatedRank& rank_state, const Step& step, Collective& shared,
                        std::size_t index) {
  const auto dim = static_cast<std::size_t>(step.dim < 0 ? 0 : step.dim);
  const std::int64_t size = shared.shape()[dim];
  const auto count = static_cast<std::int64_t>(shared.tensors().size());
  if (step.part.empty() && size % count != 0) return fail(rank_state, "cuts a dimension unevenly");
  const Interval taken = step.part.empty()
                             ? program::cut(size, count, static_cast<std::int64_t>(index))
                             : step.part[dim];
  if (taken.begin < 0 || taken.begin > taken.end || taken.end > size) {
    return fail(rank_state, "takes a piece beyond the members' tensors");
  }
  const auto piece_of = [&](const Array& array) {
    Part piece = whole(array.shape);
    piece[dim] = taken;
    return slice(array, piece);
  };
  if (step.kind == StepKind::kReduceScatter) {
    rank_state.tensor = piece_of(shared.reduced(step.reduction));
    return true;
  }
  std::vector<Array> pieces;
  pieces.reserve(shared.tensors().size());
  for (const Array& array : shared.tensors())
    pieces.push_back(piece_of(array));
  rank_state.tensor = concat(pieces, static_cast<std::size_t>(step.other_dim));
  return true;
}

}  // namespace shardwright::program
