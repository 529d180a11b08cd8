#include "search/program/move_parts.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace shardwright::program {
namespace {

class Mover {
 public:
  Mover(const Cluster& cluster, const Shape& shape, const DistAttr& source, const DistAttr& target,
        ReshardPlan& plan)
      : cluster_(cluster), shape_(shape), source_(source), target_(target), plan_(plan) {
    for (std::size_t i = 0; i < source.mesh.size(); ++i)
      place_.emplace(source.mesh.ids()[i], i);
    sent_.assign(source.mesh.size(), 0);
    find_owners();
    for (std::size_t i = 0; i < plan.ranks.size(); ++i)
      slot_.emplace(plan.ranks[i].first, i);
  }

  void run() {
    std::vector<Inbox> inboxes(target_.mesh.size());
    for (std::size_t t = 0; t < inboxes.size(); ++t) {
      inboxes[t].wanted = part_at(shape_, target_, t);
      inboxes[t].zero = num_elements(inboxes[t].wanted) == 0 || holds_zeros(t);
      if (!inboxes[t].zero) fill(target_.mesh.ids()[t], inboxes[t]);
    }
    // Last, because a rank that joins its pieces no longer has the tensor that others want.
    for (std::size_t t = 0; t < inboxes.size(); ++t) {
      close(target_.mesh.ids()[t], inboxes[t]);
    }
  }

 private:
  struct Inbox {
    Part wanted;
    std::vector<Part> parts;
    std::vector<Step> kept;  // in place of messages; at most one
    bool zero = false;
    bool messages = false;
  };

  std::vector<Step>& steps(Rank rank) {
    const auto [at, fresh] = slot_.try_emplace(rank, plan_.ranks.size());
    if (fresh) plan_.ranks.emplace_back(rank, std::vector<Step>());
    return plan_.ranks[at->second].second;
  }

  // The ranks of every cell of the grid that the source mapping makes, in order of position.
  void find_owners() {
    std::size_t cells = 1;
    for (std::size_t dim = 0; dim < shape_.size(); ++dim) {
      cells *= static_cast<std::size_t>(source_.splits(dim));
    }
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
      owners_[cell].push_back(position);
    }
  }

  bool holds_zeros(std::size_t position) const {
    for (std::size_t axis = 0; axis < target_.partial.size(); ++axis) {
      if (target_.partial[axis] == Reduction::kSum &&
          target_.mesh.coordinate(position, axis) != 0) {
        return true;
      }
    }
    return false;
  }

  // Visits the cells that overlap the wanted box, in row-major order.
  void fill(Rank receiver, Inbox& inbox) {
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
      deliver(receiver, cell, held, inbox);
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
    const std::size_t owner =
        *std::min_element(owners.begin(), owners.end(), [&](std::size_t a, std::size_t b) {
          return preference(a, receiver) < preference(b, receiver);
        });
    sent_[owner] += num_elements(step.part);
    inbox.messages = true;
    step.src = source_.mesh.ids()[owner];
    step.dst = receiver;
    step.kind = StepKind::kSend;
    steps(step.src).push_back(step);
    step.kind = StepKind::kRecv;
    step.local.clear();
    steps(receiver).push_back(std::move(step));
  }

  std::tuple<bool, std::int64_t, std::size_t> preference(std::size_t owner, Rank receiver) const {
    const Rank rank = source_.mesh.ids()[owner];
    return {cluster_.machine_of(rank) != cluster_.machine_of(receiver), sent_[owner], owner};
  }

  void close(Rank rank, Inbox& inbox) {
    Step step;
    if (inbox.zero) {
      step.kind = StepKind::kZero;
      step.part = inbox.wanted;
    } else if (!inbox.messages && inbox.parts.size() == 1) {
      // The own tensor, or a box of it: no piece to wait for.
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
  const DistAttr& source_;
  const DistAttr& target_;
  ReshardPlan& plan_;
  std::vector<std::vector<std::size_t>> owners_;
  std::vector<std::int64_t> sent_;
  std::unordered_map<Rank, std::size_t> place_;
  std::unordered_map<Rank, std::size_t> slot_;
};

}  // namespace

void append_moves(const Cluster& cluster, const Shape& shape, const DistAttr& source,
                  const DistAttr& target, ReshardPlan& plan) {
  Mover(cluster, shape, source, target, plan).run();
}

}  // namespace shardwright::program
