#include "search/program/tensor/move_parts.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace shardwright::program {
namespace {

// An axis of each mesh along which ranks hold the same terms.
struct TermAxes {
  std::size_t source = 0;
  std::size_t target = 0;
};

// Pairs each partial axis of the target with one of the source, if possible the one with its
// number.
std::vector<TermAxes> match_terms(const DistAttr& source, const DistAttr& target) {
  std::vector<TermAxes> terms;
  const auto fits = [&](std::size_t axis, std::size_t other) {
    return other < source.mesh.axes() && source.due_on(other) == target.due_on(axis) &&
           source.mesh.axis_size(other) == target.mesh.axis_size(axis) &&
           std::none_of(terms.begin(), terms.end(),
                        [&](const TermAxes& known) { return known.source == other; });
  };
  for (std::size_t axis = 0; axis < target.mesh.axes(); ++axis) {
    if (target.due_on(axis) == Reduction::kNone) continue;
    std::size_t other = fits(axis, axis) ? axis : 0;
    while (other < source.mesh.axes() && !fits(axis, other))
      ++other;
    if (other < source.mesh.axes()) terms.push_back({other, axis});
  }
  return terms;
}

class Mover {
 public:
  Mover(const Cluster& cluster, const Shape& shape, DataType type, const DistAttr& source,
        const DistAttr& target, ReshardPlan& plan)
      : cluster_(cluster),
        shape_(shape),
        element_bytes_(static_cast<double>(message_bytes(type))),
        source_(source),
        target_(target),
        terms_(match_terms(source, target)),
        plan_(plan) {
    for (std::size_t i = 0; i < source.mesh.size(); ++i)
      place_.emplace(source.mesh.ids()[i], i);
    busy_us_.assign(source.mesh.size(), 0);
    find_owners();
    for (std::size_t i = 0; i < plan.ranks.size(); ++i)
      slot_.emplace(plan.ranks[i].first, i);
  }

  bool run(const std::stop_token& stop) {
    std::vector<Inbox> inboxes(target_.mesh.size());
    for (std::size_t t = 0; t < inboxes.size(); ++t) {
      if (stop.stop_requested()) return false;
      inboxes[t].wanted = part_at(shape_, target_, t);
      inboxes[t].zero = num_elements(inboxes[t].wanted) == 0 || holds_zeros(t);
      if (!inboxes[t].zero) fill(t, inboxes[t]);
    }
    // Done last, because a rank that has joined its pieces no longer has the tensor that others
    // want.
    for (std::size_t t = 0; t < inboxes.size(); ++t) {
      close(target_.mesh.ids()[t], inboxes[t]);
    }
    return true;
  }

 private:
  struct Inbox {
    Part wanted;
    std::vector<Part> parts;
    std::vector<Step> kept;  // boxes of the rank's own tensor
    bool zero = false;
    bool messages = false;
  };

  std::vector<Step>& steps(Rank rank) {
    const auto [at, fresh] = slot_.try_emplace(rank, plan_.ranks.size());
    if (fresh) plan_.ranks.emplace_back(rank, std::vector<Step>());
    return plan_.ranks[at->second].second;
  }

  // Lists the owners of every cell, in the order of their positions. Cells form a grid over the
  // pieces of the source and the terms that move.
  void find_owners() {
    std::size_t cells = 1;
    for (std::size_t dim = 0; dim < shape_.size(); ++dim) {
      cells *= static_cast<std::size_t>(source_.splits(dim));
    }
    for (const TermAxes& axes : terms_)
      cells *= static_cast<std::size_t>(source_.mesh.axis_size(axes.source));
    owners_.resize(cells);
    for (std::size_t position = 0; position < source_.mesh.size(); ++position) {
      std::size_t cell = 0;
      for (std::size_t dim = 0; dim < shape_.size(); ++dim) {
        const int axis = source_.dims_mapping[dim];
        cell *= static_cast<std::size_t>(source_.splits(dim));
        if (axis < 0) continue;
        cell += static_cast<std::size_t>(
            source_.mesh.coordinate(position, static_cast<std::size_t>(axis)));
      }
      for (const TermAxes& axes : terms_)
        cell = term_cell(cell, source_.mesh, position, axes.source);
      owners_[cell].push_back(position);
    }
  }

  static std::size_t term_cell(std::size_t cell, const ProcessMesh& mesh, std::size_t position,
                               std::size_t axis) {
    return cell * static_cast<std::size_t>(mesh.axis_size(axis)) +
           static_cast<std::size_t>(mesh.coordinate(position, axis));
  }

  bool holds_zeros(std::size_t position) const {
    for (std::size_t axis = 0; axis < target_.partial.size(); ++axis) {
      if (target_.partial[axis] == Reduction::kSum &&
          target_.mesh.coordinate(position, axis) != 0 &&
          std::none_of(terms_.begin(), terms_.end(),
                       [&](const TermAxes& axes) { return axes.target == axis; })) {
        return true;
      }
    }
    return false;
  }

  // Visits the cells that overlap the wanted box, in row-major order.
  void fill(std::size_t position, Inbox& inbox) {
    const std::size_t dims = shape_.size();
    boost::container::static_vector<std::vector<std::int64_t>, kMaxDims> indices;
    for (std::size_t dim = 0; dim < dims; ++dim) {
      indices.emplace_back();
      for (std::int64_t i = 0; i < source_.splits(dim); ++i) {
        const Interval held = cut(shape_[dim], source_.splits(dim), i);
        if (std::max(held.begin, inbox.wanted[dim].begin) <
            std::min(held.end, inbox.wanted[dim].end)) {
          indices.back().push_back(i);
        }
      }
    }
    boost::container::static_vector<std::size_t, kMaxDims> at(dims, 0);
    for (;;) {
      std::size_t cell = 0;
      Part held;
      for (std::size_t dim = 0; dim < dims; ++dim) {
        const std::int64_t index = indices[dim][at[dim]];
        cell =
            cell * static_cast<std::size_t>(source_.splits(dim)) + static_cast<std::size_t>(index);
        held.push_back(cut(shape_[dim], source_.splits(dim), index));
      }
      for (const TermAxes& axes : terms_)
        cell = term_cell(cell, target_.mesh, position, axes.target);
      deliver(target_.mesh.ids()[position], cell, held, inbox);
      std::size_t dim = dims;
      while (dim > 0 && ++at[dim - 1] == indices[dim - 1].size())
        at[--dim] = 0;
      if (dim == 0) return;
    }
  }

  void deliver(Rank receiver, std::size_t cell, const Part& held, Inbox& inbox) {
    Step step;
    step.part = intersection(held, inbox.wanted);
    if (step.part != held) step.local = relative(step.part, held);
    inbox.parts.push_back(step.part);
    const std::vector<std::size_t>& owners = owners_[cell];
    const auto self = place_.find(receiver);
    if (self != place_.end() && std::binary_search(owners.begin(), owners.end(), self->second)) {
      step.kind = StepKind::kKeep;
      inbox.kept.push_back(step);
      steps(receiver).push_back(std::move(step));
      return;
    }
    const double bytes = element_bytes_ * static_cast<double>(num_elements(step.part));
    const double cutting = step.local.empty() ? 0 : local_us(cluster_, bytes);
    const auto sent_at = [&](std::size_t owner) {
      const Rank rank = source_.mesh.ids()[owner];
      const bool near = cluster_.machine_of(rank) == cluster_.machine_of(receiver);
      return busy_us_[owner] + send_us(cluster_, near, bytes) + cutting;
    };
    const std::size_t owner =
        *std::min_element(owners.begin(), owners.end(),
                          [&](std::size_t a, std::size_t b) { return sent_at(a) < sent_at(b); });
    const double done_at = sent_at(owner);
    if (self != place_.end()) busy_us_[self->second] += done_at - busy_us_[owner] - cutting;
    busy_us_[owner] = done_at;
    inbox.messages = true;
    step.src = source_.mesh.ids()[owner];
    step.dst = receiver;
    step.kind = StepKind::kSend;
    steps(step.src).push_back(step);
    step.kind = StepKind::kRecv;
    step.local.clear();
    steps(receiver).push_back(std::move(step));
  }

  void close(Rank rank, Inbox& inbox) {
    Step step;
    if (inbox.zero) {
      step.kind = StepKind::kZero;
      step.part = inbox.wanted;
    } else if (!inbox.messages && inbox.parts.size() == 1) {
      // The rank needs its own tensor only, or one box of it.
      drop_keep(rank);
      if (inbox.kept.front().local.empty()) return;
      step.kind = StepKind::kSlice;
      step.part = inbox.kept.front().local;
    } else {
      step.kind = StepKind::kConcat;
      step.parts = std::move(inbox.parts);
    }
    steps(rank).push_back(std::move(step));
  }

  void drop_keep(Rank rank) {
    std::vector<Step>& all = steps(rank);
    all.erase(std::find_if(all.begin(), all.end(),
                           [](const Step& step) { return step.kind == StepKind::kKeep; }));
  }

  const Cluster& cluster_;
  const Shape& shape_;
  double element_bytes_;
  const DistAttr& source_;
  const DistAttr& target_;
  std::vector<TermAxes> terms_;
  ReshardPlan& plan_;
  std::vector<std::vector<std::size_t>> owners_;
  std::vector<double> busy_us_;  // by position in the source: time of its messages so far
  std::unordered_map<Rank, std::size_t> place_;
  std::unordered_map<Rank, std::size_t> slot_;
};

}  // namespace

bool can_move(const DistAttr& source, const DistAttr& target) {
  const auto due = std::count_if(source.partial.begin(), source.partial.end(),
                                 [](Reduction reduction) { return reduction != Reduction::kNone; });
  return due == 0 || static_cast<std::size_t>(due) == match_terms(source, target).size();
}

std::int64_t num_moves(const Shape& shape, const DistAttr& source, const DistAttr& target) {
  std::int64_t boxes = 1;  // that pieces of the target share with pieces of the source
  std::int64_t pieces = 1;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    const std::int64_t wanted = target.splits(dim);
    const std::int64_t held = source.splits(dim);
    std::int64_t shared = 0;
    for (std::int64_t i = 0, j = 0; i < wanted && j < held;) {
      const Interval want = cut(shape[dim], wanted, i);
      const Interval have = cut(shape[dim], held, j);
      shared += std::max(want.begin, have.begin) < std::min(want.end, have.end) ? 1 : 0;
      (want.end <= have.end ? i : j) += 1;
    }
    boxes *= shared;
    pieces *= wanted;
  }
  return boxes * (static_cast<std::int64_t>(target.mesh.size()) / pieces);
}

bool append_moves(const Cluster& cluster, const Shape& shape, DataType type, const DistAttr& source,
                  const DistAttr& target, ReshardPlan& plan, const std::stop_token& stop) {
  return Mover(cluster, shape, type, source, target, plan).run(stop);
}

}  // namespace shardwright::program
