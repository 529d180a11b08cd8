#include "search/redistribution/rank_steps.h"

#include <algorithm>
#include <utility>

#include "core/redistribution/placement/move.h"

namespace shardwright::redistribution {
namespace {

using program::Part;
using program::Rank;
using program::RankPlacement;
using program::Step;
using program::StepKind;

// Translates one move into steps, for one rank at a time.
class Translator {
 public:
  Translator(const Shape& shape, const RankPlacement& before, const Move& move)
      : shape_(shape), before_(before), after_(before), move_(move) {
    after_.placement = redistribution::after(before.placement, move);
  }
  const RankPlacement& next() const { return after_; }

  void append(std::size_t position, std::vector<Step>& out) const {
    switch (move_.kind) {
      case Move::Kind::kAllGather:
        return gather(position, out);
      case Move::Kind::kAllReduce:
        out.push_back(collective(StepKind::kAllReduce, position));
        return;
      case Move::Kind::kReduceScatter:
        out.push_back(scatter(StepKind::kReduceScatter, position));
        return;
      case Move::Kind::kAllToAll:
        out.push_back(scatter(StepKind::kAllToAll, position));
        out.back().other_dim = static_cast<std::int8_t>(move_.from);
        return;
      case Move::Kind::kSplit:
        return split(position, out);
      case Move::Kind::kToPartial:
        return become_partial(position, out);
      case Move::Kind::kPermute:
        return permute(position, out);
    }
  }

 private:
  Part part(const RankPlacement& placed, std::size_t position) const {
    return part_at(shape_, placed, position);
  }
  Rank rank(std::size_t position) const { return before_.mesh.ids()[position]; }
  std::vector<std::int64_t> positions(std::size_t position) const {
    return devices_through(before_.mesh.shape(), move_.axes, static_cast<std::int64_t>(position));
  }

  Step collective(StepKind kind, std::size_t position) const {
    Step step;
    step.kind = kind;
    step.axis = move_.axes.size() == 1 ? static_cast<std::int8_t>(move_.axes.front()) : -1;
    step.reduction = move_.reduce_op;
    for (const std::int64_t other : positions(position))
      step.group.push_back(rank(static_cast<std::size_t>(other)));
    return step;
  }

  void gather(std::size_t position, std::vector<Step>& out) const {
    Step step = collective(StepKind::kAllGather, position);
    step.dim = static_cast<std::int8_t>(move_.from);
    if (move_.from != 0 && move_.from + 1U == shape_.size()) step.kind = StepKind::kConcatGather;
    step.need_split = move_.from != 0 && step.kind == StepKind::kAllGather;
    const bool split = step.need_split;
    out.push_back(std::move(step));
    if (!split) return;
    Step concat;
    concat.kind = StepKind::kConcat;
    for (const std::int64_t other : positions(position))
      concat.parts.push_back(part(before_, static_cast<std::size_t>(other)));
    out.push_back(std::move(concat));
  }

  // Returns a reduce-scatter or all-to-all step that leaves the rank its piece of dimension `to`.
  Step scatter(StepKind kind, std::size_t position) const {
    Step step = collective(kind, position);
    step.dim = static_cast<std::int8_t>(move_.to);
    const Part held = part(before_, position);
    const auto members = static_cast<std::int64_t>(step.group.size());
    if (held[move_.to].size() % members != 0) step.part = relative(part(after_, position), held);
    return step;
  }

  void split(std::size_t position, std::vector<Step>& out) const {
    Step step;
    step.kind = StepKind::kSlice;
    step.part = relative(part(after_, position), part(before_, position));
    out.push_back(std::move(step));
  }

  // Reducing equal tensors to their average, maximum or minimum gives the same tensor, so ranks
  // keep what they hold. For a sum, all ranks but the first along the axis hold zeros instead.
  void become_partial(std::size_t position, std::vector<Step>& out) const {
    const std::size_t axis = move_.axes.front();
    if (move_.reduce_op != ReduceOp::kSum || before_.mesh.coordinate(position, axis) == 0) return;
    Step zero;
    zero.kind = StepKind::kZero;
    zero.part = part(before_, position);
    out.push_back(std::move(zero));
  }

  // Each rank sends to the next rank of a ring. The rank at the lowest position receives first, so
  // blocking sends cannot deadlock.
  void permute(std::size_t position, std::vector<Step>& out) const {
    const std::size_t before = sender_to(position);
    if (before == position) return;
    bool is_first = position < before;
    std::size_t next = before;  // after the loop: the position that this rank sends to
    for (std::size_t at = sender_to(before); at != position; at = sender_to(at)) {
      is_first = is_first && position < at;
      next = at;
    }
    Step send;
    send.kind = StepKind::kSend;
    send.src = rank(position);
    send.dst = rank(next);
    send.part = part(before_, position);
    Step receive;
    receive.kind = StepKind::kRecv;
    receive.src = rank(before);
    receive.dst = rank(position);
    receive.part = part(before_, before);
    Step concat;
    concat.kind = StepKind::kConcat;
    concat.parts.push_back(receive.part);
    if (is_first) std::swap(send, receive);
    out.push_back(std::move(send));
    out.push_back(std::move(receive));
    out.push_back(std::move(concat));
  }

  std::size_t sender_to(std::size_t position) const {
    return static_cast<std::size_t>(permuted_from(before_.mesh.shape(), before_.placement,
                                                  after_.placement,
                                                  static_cast<std::int64_t>(position)));
  }

  const Shape& shape_;
  const RankPlacement& before_;
  RankPlacement after_;
  const Move& move_;
};

}  // namespace

program::RankPlacement append_rank_steps(const Shape& shape, program::RankPlacement source,
                                         const std::vector<Move>& moves,
                                         program::ReshardPlan& plan) {
  for (const Move& move : moves) {
    const Translator translator(shape, source, move);
    if (devices_along(source.mesh.shape(), move.axes) > 1) {
      for (std::size_t position = 0; position < source.mesh.size(); ++position)
        translator.append(position, plan.at(source.mesh.ids()[position]));
    }
    RankPlacement next = translator.next();
    source = std::move(next);
  }
  return source;
}

}  // namespace shardwright::redistribution
