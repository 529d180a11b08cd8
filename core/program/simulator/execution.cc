#include "core/program/simulator/execution.h"

#include <algorithm>
#include <utility>

namespace shardwright::program {
namespace {

// The dimension in which the tensors of a collective may differ; none for reductions.
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
    for (SimulatedRank& own : ranks_) {
      while (own.step() != nullptr) {
        const std::optional<bool> done = advance(own);
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

std::optional<bool> Execution::advance(SimulatedRank& own) {
  const Step& step = *own.step();
  if (step.kind == StepKind::kRecv) return std::nullopt;  // the sender completes it
  if (step.kind == StepKind::kSend) return send(own, step);
  if (is_collective(step.kind)) return meet(own, step);
  ++own.next;
  return run_local(own, step);
}

bool Execution::run_local(SimulatedRank& own, const Step& step) {
  switch (step.kind) {
    case StepKind::kEnd:
      return true;
    case StepKind::kZero:
      own.tensor = Array{shape_of(step.part), {}};
      own.tensor->values.assign(static_cast<std::size_t>(num_elements(step.part)), 0);
      return true;
    case StepKind::kConcat:
      return join_pieces(own, step);
    default:
      return cut(own, step);
  }
}

bool Execution::cut(SimulatedRank& own, const Step& step) {
  if (!own.tensor) return fail(own, "has no tensor to work on");
  const Part& part = step.kind == StepKind::kSlice ? step.part : step.local;
  if (step.kind == StepKind::kKeep && part.empty()) {
    own.pieces.push_back(*own.tensor);
    return true;
  }
  if (!lies_within(part, own.tensor->shape)) return fail(own, "cuts beyond its tensor");
  Array box = slice(*own.tensor, part);
  if (step.kind == StepKind::kKeep) {
    own.pieces.push_back(std::move(box));
  } else {
    own.tensor = std::move(box);
  }
  return true;
}

bool Execution::join_pieces(SimulatedRank& own, const Step& step) {
  if (own.pieces.size() != step.parts.size()) {
    return fail(own, "joins another number of pieces than it has");
  }
  std::vector<Part> boxes;
  for (std::size_t i = 0; i < step.parts.size(); ++i) {
    if (own.pieces[i].shape != shape_of(step.parts[i])) {
      return fail(own, "holds a piece of another shape");
    }
    absorb(boxes, step.parts[i], [](std::size_t, const Join&) {});
  }
  if (boxes.size() != 1) return fail(own, "has pieces that do not join");
  own.tensor = Array{shape_of(boxes.front()), {}};
  own.tensor->values.resize(static_cast<std::size_t>(num_elements(boxes.front())));
  for (std::size_t i = 0; i < step.parts.size(); ++i)
    paste(own.pieces[i], relative(step.parts[i], boxes.front()), *own.tensor);
  own.pieces.clear();
  return true;
}

std::optional<bool> Execution::send(SimulatedRank& own, const Step& step) {
  if (step.dst == own.rank) {
    simulation_.sends_to_itself = true;
    return fail(own, "sends to itself");
  }
  if (step.src != own.rank) return fail(own, "sends on behalf of another rank");
  SimulatedRank* const to = find(step.dst);
  const Step* const theirs = to == nullptr ? nullptr : to->step();
  if (theirs == nullptr || theirs->kind != StepKind::kRecv || theirs->src != own.rank) {
    return std::nullopt;
  }
  if (!own.tensor) return fail(own, "has no tensor to send");
  if (!step.local.empty() && !lies_within(step.local, own.tensor->shape)) {
    return fail(own, "sends from beyond its tensor");
  }
  Array sent = step.local.empty() ? *own.tensor : slice(*own.tensor, step.local);
  if (sent.shape != shape_of(theirs->part)) return fail(*to, "receives another shape");
  to->pieces.push_back(std::move(sent));
  ++to->next;
  ++own.next;
  return true;
}

// Runs a collective once all members have reached it.
std::optional<bool> Execution::meet(SimulatedRank& own, const Step& step) {
  if (std::find(step.group.begin(), step.group.end(), own.rank) == step.group.end()) {
    simulation_.groups_disagree = true;
    return fail(own, "names a group that it is not in");
  }
  std::vector<SimulatedRank*> members;
  for (const Rank id : step.group) {
    members.push_back(find(id));
    const Step* const theirs = members.back() == nullptr ? nullptr : members.back()->step();
    if (theirs == nullptr || theirs->kind != step.kind) return std::nullopt;
  }
  // Each member that arrives asks again, so the long comparison is for the last one.
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
    SimulatedRank& own = *members[i];
    const Step& step = *own.step();
    ++own.next;
    if (step.kind == StepKind::kAllGather && step.need_split) {
      own.pieces = shared.tensors();
    } else if (step.kind == StepKind::kAllGather) {
      own.tensor = shared.joined(0);
    } else if (step.kind == StepKind::kConcatGather) {
      own.tensor = shared.joined(shared.shape().size() - 1);
    } else if (step.kind == StepKind::kAllReduce) {
      own.tensor = shared.reduced(step.reduction);
    } else if (!scatter(own, step, shared, i)) {
      return false;
    }
  }
  return true;
}

// Gives member `index` its piece: of the reduction, or of every member's tensor.
bool Execution::scatter(SimulatedRank& own, const Step& step, Collective& shared,
                        std::size_t index) {
  const auto dim = static_cast<std::size_t>(step.dim < 0 ? 0 : step.dim);
  const std::int64_t size = shared.shape()[dim];
  const auto count = static_cast<std::int64_t>(shared.tensors().size());
  if (step.part.empty() && size % count != 0) return fail(own, "cuts a dimension unevenly");
  const Interval taken = step.part.empty()
                             ? program::cut(size, count, static_cast<std::int64_t>(index))
                             : step.part[dim];
  if (taken.begin < 0 || taken.begin > taken.end || taken.end > size) {
    return fail(own, "takes a piece beyond the members' tensors");
  }
  const auto piece_of = [&](const Array& array) {
    Part piece = whole(array.shape);
    piece[dim] = taken;
    return slice(array, piece);
  };
  if (step.kind == StepKind::kReduceScatter) {
    own.tensor = piece_of(shared.reduced(step.reduction));
    return true;
  }
  std::vector<Array> pieces;
  pieces.reserve(shared.tensors().size());
  for (const Array& array : shared.tensors())
    pieces.push_back(piece_of(array));
  own.tensor = concat(pieces, static_cast<std::size_t>(step.other_dim));
  return true;
}

}  // namespace shardwright::program
