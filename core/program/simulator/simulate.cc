#include "core/program/simulator/simulate.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/interner.h"
#include "core/program/simulator/array.h"

namespace shardwright::program {
namespace {

// The values of the whole tensor and how partial placements hide them. All numbers are multiples of
// the averaging ranks, so that every average is exact.
class Truth {
 public:
  Truth(const Shape& shape, const DistAttr& source) : shape_(shape), source_(source) {
    scale_ = averaged(source);
  }

  std::int64_t value(std::size_t flat) const {
    return (static_cast<std::int64_t>(flat) + 1) * scale_;
  }

  // What the rank at `position` of the source holds.
  Array share(std::size_t position) const {
    const Part part = part_at(shape_, source_, position);
    Array array;
    array.shape = shape_of(part);
    const std::int64_t member = member_of(source_, position);
    for_each_element(shape_, part,
                     [&](std::size_t flat) { array.values.push_back(term(flat, member)); });
    return array;
  }

  // The ranks that averages divide by.
  static std::int64_t averaged(const DistAttr& attr) {
    std::int64_t product = 1;
    for (std::size_t axis = 0; axis < attr.partial.size(); ++axis) {
      if (attr.partial[axis] == Reduction::kAvg) product *= attr.mesh.axis_size(axis);
    }
    return product;
  }
  // The number of a rank among those that hold terms of the same elements, and how many these are.
  static std::int64_t member_of(const DistAttr& attr, std::size_t position) {
    std::int64_t member = 0;
    for (std::size_t axis = 0; axis < attr.partial.size(); ++axis) {
      if (attr.partial[axis] == Reduction::kNone) continue;
      member = member * attr.mesh.axis_size(axis) + attr.mesh.coordinate(position, axis);
    }
    return member;
  }
  static std::int64_t members(const DistAttr& attr) {
    std::int64_t product = 1;
    for (std::size_t axis = 0; axis < attr.partial.size(); ++axis) {
      if (attr.partial[axis] != Reduction::kNone) product *= attr.mesh.axis_size(axis);
    }
    return product;
  }
  static bool takes_maximum(const DistAttr& attr) {
    return std::find(attr.partial.begin(), attr.partial.end(), Reduction::kMax) !=
           attr.partial.end();
  }

 private:
  std::int64_t noise(std::size_t flat, std::int64_t member) const {
    return static_cast<std::int64_t>(
        hash_mix(hash_mix(0, flat), static_cast<std::uint64_t>(member)) % 1000);
  }
  // The terms of an element add up to it, times what averages divide by; or it is their maximum.
  std::int64_t term(std::size_t flat, std::int64_t member) const {
    const std::int64_t count = members(source_);
    if (takes_maximum(source_)) {
      const bool holder = noise(flat, -1) % count == member;
      return holder ? value(flat) : value(flat) - 1 - noise(flat, member);
    }
    if (member + 1 < count) return noise(flat, member) * scale_;
    std::int64_t rest = value(flat) * scale_;
    for (std::int64_t other = 0; other + 1 < count; ++other)
      rest -= noise(flat, other) * scale_;
    return rest;
  }

  const Shape& shape_;
  const DistAttr& source_;
  std::int64_t scale_ = 1;
};

struct Machine {
  Rank rank = -1;
  const std::vector<Step>* steps = nullptr;
  std::size_t next = 0;
  std::optional<Array> tensor;
  std::vector<Array> pieces;

  const Step* step() const {
    return steps != nullptr && next < steps->size() ? &(*steps)[next] : nullptr;
  }
};

// All ranks of one run. Every member returns false, with the problem noted, where the plan cannot
// go on.
class Run {
 public:
  Run(const Shape& shape, const DistAttr& source, const DistAttr& target, const ReshardPlan& plan)
      : truth_(shape, source), shape_(shape), target_(target) {
    for (std::size_t i = 0; i < source.mesh.size(); ++i) {
      machine(source.mesh.ids()[i]).tensor = truth_.share(i);
    }
    for (const Rank rank : target.mesh.ids())
      machine(rank);
    for (const auto& [rank, steps] : plan.ranks)
      machine(rank).steps = &steps;
  }

  Simulation result() && {
    if (run()) check_target();
    return std::move(simulation_);
  }

 private:
  Machine& machine(Rank rank) {
    const auto [at, fresh] = index_.try_emplace(rank, machines_.size());
    if (fresh) machines_.emplace_back().rank = rank;
    return machines_[at->second];
  }
  Machine* find(Rank rank) {
    const auto at = index_.find(rank);
    return at == index_.end() ? nullptr : &machines_[at->second];
  }

  bool fail(const Machine& machine, const std::string& what) {
    if (simulation_.problem.empty()) {
      simulation_.problem = "rank " + std::to_string(machine.rank) + " " + what;
    }
    return false;
  }

  bool run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Machine& m : machines_) {
        while (m.step() != nullptr) {
          const std::optional<bool> done = advance(m);
          if (!done) break;
          if (!*done) return false;
          moved = true;
        }
      }
    }
    for (const Machine& m : machines_) {
      if (m.step() == nullptr) continue;
      simulation_.hangs = true;
      simulation_.groups_disagree = is_collective(m.step()->kind);
      return fail(m, "waits for ever at step " + std::to_string(m.next));
    }
    return true;
  }

  // Nothing where the step has to wait.
  std::optional<bool> advance(Machine& m) {
    const Step& step = *m.step();
    if (step.kind == StepKind::kRecv) return std::nullopt;  // done by the sender
    if (step.kind == StepKind::kSend) return send(m, step);
    if (is_collective(step.kind)) return meet(m, step);
    ++m.next;
    return local(m, step);
  }

  bool local(Machine& m, const Step& step) {
    if (step.kind == StepKind::kEnd) return true;
    if (step.kind == StepKind::kZero) {
      m.tensor = Array{shape_of(step.part), {}};
      m.tensor->values.assign(static_cast<std::size_t>(num_elements(step.part)), 0);
      return true;
    }
    if (step.kind == StepKind::kConcat) return join_pieces(m, step);
    if (!m.tensor) return fail(m, "has no tensor to work on");
    const Part& part = step.kind == StepKind::kSlice ? step.part : step.local;
    if (step.kind == StepKind::kKeep && part.empty()) {
      m.pieces.push_back(*m.tensor);
      return true;
    }
    if (!lies_within(part, m.tensor->shape)) return fail(m, "cuts beyond its tensor");
    Array cut_out = slice(*m.tensor, part);
    if (step.kind == StepKind::kKeep) {
      m.pieces.push_back(std::move(cut_out));
    } else {
      m.tensor = std::move(cut_out);
    }
    return true;
  }

  bool join_pieces(Machine& m, const Step& step) {
    if (m.pieces.size() != step.parts.size()) return fail(m, "joins pieces that it does not have");
    std::vector<Part> boxes;
    std::vector<Array> arrays;
    for (std::size_t i = 0; i < step.parts.size(); ++i) {
      Array piece = std::move(m.pieces[i]);
      if (piece.shape != shape_of(step.parts[i])) return fail(m, "holds a piece of another shape");
      absorb(boxes, step.parts[i], [&](std::size_t other, const Join& join) {
        piece = join.first_is_lower ? concat(arrays[other], piece, join.dim)
                                    : concat(piece, arrays[other], join.dim);
        arrays.erase(arrays.begin() + static_cast<std::ptrdiff_t>(other));
      });
      arrays.push_back(std::move(piece));
    }
    m.pieces.clear();
    if (arrays.size() != 1) return fail(m, "has pieces that do not join");
    m.tensor = std::move(arrays.front());
    return true;
  }

  std::optional<bool> send(Machine& m, const Step& step) {
    if (step.dst == m.rank) {
      simulation_.sends_to_itself = true;
      return fail(m, "sends to itself");
    }
    if (step.src != m.rank) return fail(m, "sends in another's name");
    Machine* const to = find(step.dst);
    const Step* const other = to == nullptr ? nullptr : to->step();
    if (other == nullptr || other->kind != StepKind::kRecv || other->src != m.rank) {
      return std::nullopt;
    }
    if (!m.tensor) return fail(m, "has no tensor to send");
    if (!step.local.empty() && !lies_within(step.local, m.tensor->shape)) {
      return fail(m, "sends from beyond its tensor");
    }
    Array sent = step.local.empty() ? *m.tensor : slice(*m.tensor, step.local);
    if (sent.shape != shape_of(other->part)) return fail(*to, "receives another shape");
    to->pieces.push_back(std::move(sent));
    ++to->next;
    ++m.next;
    return true;
  }

  // Runs a collective once every member has come to it.
  std::optional<bool> meet(Machine& m, const Step& step) {
    if (std::find(step.group.begin(), step.group.end(), m.rank) == step.group.end()) {
      simulation_.groups_disagree = true;
      return fail(m, "names a group that it is not in");
    }
    std::vector<Machine*> members;
    for (const Rank rank : step.group) {
      members.push_back(find(rank));
      const Step* const theirs = members.back() == nullptr ? nullptr : members.back()->step();
      if (theirs == nullptr || theirs->kind != step.kind || theirs->group != step.group) {
        return std::nullopt;
      }
    }
    for (const Machine* member : members) {
      if (!member->tensor) return fail(*member, "has no tensor to share");
      if (member->tensor->shape != members.front()->tensor->shape) {
        return fail(*member, "shares a tensor of another shape");
      }
    }
    return collect(members);
  }
  bool collect(const std::vector<Machine*>& members) {
    std::vector<Array> shared;
    for (const Machine* member : members)
      shared.push_back(*member->tensor);
    for (std::size_t i = 0; i < members.size(); ++i) {
      Machine& m = *members[i];
      const Step& step = *m.step();
      ++m.next;
      const auto dim = static_cast<std::size_t>(step.dim < 0 ? 0 : step.dim);
      const auto count = static_cast<std::int64_t>(members.size());
      if (step.kind == StepKind::kAllGather && step.need_split) {
        m.pieces = shared;
      } else if (step.kind == StepKind::kAllGather) {
        m.tensor = concat_all(shared, 0);
      } else if (step.kind == StepKind::kConcatGather) {
        m.tensor = concat_all(shared, shared[0].shape.size() - 1);
      } else if (step.kind == StepKind::kAllReduce) {
        m.tensor = reduce(shared, step.reduction);
      } else {
        if (shared[0].shape[dim] % count != 0) return fail(m, "cuts a dimension unevenly");
        Part piece = whole(shared[0].shape);
        piece[dim] = cut(piece[dim].size(), count, static_cast<std::int64_t>(i));
        if (step.kind == StepKind::kReduceScatter) {
          m.tensor = slice(reduce(shared, step.reduction), piece);
        } else {
          std::vector<Array> pieces;
          for (const Array& array : shared)
            pieces.push_back(slice(array, piece));
          m.tensor = concat_all(pieces, static_cast<std::size_t>(step.other_dim));
        }
      }
    }
    return true;
  }

  static Array concat_all(const std::vector<Array>& arrays, std::size_t dim) {
    Array result = arrays.front();
    for (std::size_t i = 1; i < arrays.size(); ++i)
      result = concat(result, arrays[i], dim);
    return result;
  }

  static Array reduce(const std::vector<Array>& arrays, Reduction reduction) {
    Array result = arrays.front();
    for (std::size_t k = 1; k < arrays.size(); ++k) {
      for (std::size_t i = 0; i < result.values.size(); ++i) {
        std::int64_t& value = result.values[i];
        const std::int64_t other = arrays[k].values[i];
        value = reduction == Reduction::kMax ? std::max(value, other) : value + other;
      }
    }
    if (reduction == Reduction::kAvg) {
      for (std::int64_t& value : result.values)
        value /= static_cast<std::int64_t>(arrays.size());
    }
    return result;
  }

  // Every element, over the ranks that hold terms of it, must come to its value.
  void check_target() {
    const std::int64_t members = Truth::members(target_);
    const std::int64_t divisor = Truth::averaged(target_);
    const bool maximum = Truth::takes_maximum(target_);
    for (std::size_t first = 0; first < target_.mesh.size(); ++first) {
      const Part part = part_at(shape_, target_, first);
      const std::vector<std::size_t> holders = holders_like(first);
      if (static_cast<std::int64_t>(holders.size()) != members) continue;
      std::vector<const Array*> arrays;
      for (const std::size_t position : holders) {
        const Machine& m = *find(target_.mesh.ids()[position]);
        if (!m.tensor || m.tensor->shape != shape_of(part) || !m.pieces.empty()) {
          fail(m, m.tensor ? "ends with a tensor of another shape" : "ends without a tensor");
          return;
        }
        arrays.push_back(&*m.tensor);
      }
      std::size_t next = 0;
      for_each_element(shape_, part, [&](std::size_t flat) {
        std::int64_t total = arrays.front()->values[next];
        for (std::size_t k = 1; k < arrays.size(); ++k) {
          const std::int64_t other = arrays[k]->values[next];
          total = maximum ? std::max(total, other) : total + other;
        }
        ++next;
        if (total != truth_.value(flat) * divisor) {
          fail(*find(target_.mesh.ids()[first]), "ends with wrong data");
        }
      });
    }
  }

  // The positions that hold terms of what the first member `first` holds; empty for other members.
  std::vector<std::size_t> holders_like(std::size_t first) const {
    std::vector<std::size_t> holders{first};
    for (std::size_t axis = 0; axis < target_.partial.size(); ++axis) {
      if (target_.partial[axis] == Reduction::kNone) continue;
      if (target_.mesh.coordinate(first, axis) != 0) return {};
      const std::size_t known = holders.size();
      const auto stride = static_cast<std::size_t>(target_.mesh.stride(axis));
      for (std::size_t step = 1; step < static_cast<std::size_t>(target_.mesh.axis_size(axis));
           ++step) {
        for (std::size_t i = 0; i < known; ++i)
          holders.push_back(holders[i] + step * stride);
      }
    }
    return holders;
  }

  Truth truth_;
  const Shape& shape_;
  const DistAttr& target_;
  std::vector<Machine> machines_;
  std::unordered_map<Rank, std::size_t> index_;
  Simulation simulation_;
};

}  // namespace

Simulation simulate(const Shape& shape, const DistAttr& source, const DistAttr& target,
                    const ReshardPlan& plan) {
  return Run(shape, source, target, plan).result();
}

}  // namespace shardwright::program
