#include "search/program/emit/emitter.h"

#include <utility>

namespace shardwright::program {
namespace {

// The dimension along which all parts are adjacent, in ascending order. Empty if there is none.
std::optional<std::size_t> row_dim(const std::vector<Part>& parts) {
  std::optional<std::size_t> row;
  Part so_far = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::optional<Join> fit = join(so_far, parts[i]);
    if (!fit || !fit->first_is_lower || (row && *row != fit->dim)) return std::nullopt;
    row = fit->dim;
    so_far = fit->joined;
  }
  return row;
}

}  // namespace

std::optional<VarId> Emitter::emit(const EmitSite& site, const std::vector<Step>& steps) {
  ops_.begin(site);
  current_ = {site.source, site.local_shape};
  pieces_.clear();
  has_result_ = false;
  receives_result_ = site.into.valid() && steps.size() == 2 && steps[0].kind == StepKind::kRecv;
  for (const Step& step : steps)
    apply(step);
  if (!has_result_) return std::nullopt;
  if (site.into.valid() && current_.var != site.into) {
    ops_.insert("assign", {current_.var}, {site.into}, {});
    current_.var = site.into;
  }
  return current_.var;
}

void Emitter::apply(const Step& step) {
  switch (step.kind) {
    case StepKind::kAllGather:
      return gather(step);
    case StepKind::kConcatGather:
      return finish(collectives_.concat_gather(step, current_));
    case StepKind::kAllReduce:
      return finish(collectives_.all_reduce(step, current_));
    case StepKind::kReduceScatter:
      return finish(collectives_.reduce_scatter(step, current_));
    case StepKind::kAllToAll:
      return finish(collectives_.all_to_all(step, current_));
    case StepKind::kSend:
      return messages_.send(step, current_);
    case StepKind::kRecv:
      pieces_.push_back(messages_.receive(step, receives_result_));
      return;
    case StepKind::kKeep:
      return keep(step);
    case StepKind::kConcat:
      return concat(step);
    case StepKind::kSlice:
      return finish(cut_box(step.part));
    case StepKind::kZero:
      return zero(step);
    case StepKind::kEnd:
      has_result_ = true;
      return;
  }
}

void Emitter::finish(const LocalTensor& result) {
  current_ = result;
  has_result_ = true;
}

LocalTensor Emitter::cut_box(const Part& part) {
  return ops_.cut_box(current_, part, ops_.new_name(ops_.site().base_name + "@RESHARD"));
}

void Emitter::gather(const Step& step) {
  has_result_ = !step.need_split;
  std::vector<LocalTensor> gathered = collectives_.gather(step, current_);
  if (step.need_split) {
    pieces_ = std::move(gathered);
  } else {
    current_ = gathered.front();
    pieces_.clear();
  }
}

void Emitter::keep(const Step& step) {
  pieces_.push_back(step.local.empty() ? current_ : cut_box(step.local));
}

// Joins adjacent parts with one operator. Paddle's Resharder always joins two at a time.
void Emitter::concat(const Step& step) {
  if (pieces_.size() < step.parts.size()) {
    current_ = pieces_.front();  // a cached gather has joined them already
  } else if (const auto dim = compat_ ? std::nullopt : row_dim(step.parts)) {
    current_ = ops_.join(pieces_, *dim);
  } else {
    current_ = join_pairwise(step);
  }
  pieces_.clear();
  has_result_ = true;
}

LocalTensor Emitter::join_pairwise(const Step& step) {
  std::vector<Part> boxes;
  std::vector<LocalTensor> tensors;
  for (std::size_t i = 0; i < step.parts.size(); ++i) {
    LocalTensor piece = pieces_[i];
    absorb(boxes, step.parts[i], [&](std::size_t other, const Join& fit) {
      const LocalTensor& known = tensors[other];
      piece = fit.first_is_lower ? ops_.join({known, piece}, fit.dim)
                                 : ops_.join({piece, known}, fit.dim);
      tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(other));
    });
    tensors.push_back(piece);
  }
  return tensors.front();
}

void Emitter::zero(const Step& step) {
  const Shape shape = shape_of(step.part);
  const LocalTensor zeros =
      ops_.create(ops_.new_layer_name("fill_constant"), shape, ops_.site().type);
  ops_.insert("fill_constant", {}, {zeros.var},
              {{"shape", std::vector<std::int64_t>(shape.begin(), shape.end())},
               {"value", std::int64_t{0}}});
  finish(zeros);
}

}  // namespace shardwright::program
