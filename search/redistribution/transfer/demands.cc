#include "search/redistribution/transfer/demands.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/redistribution/transfer/port_loads.h"

namespace shardwright::redistribution {
namespace {

// The index of the last part that begins at or before `at`.
std::size_t part_at(const std::vector<Interval>& parts, std::int64_t at) {
  const auto after =
      std::upper_bound(parts.begin(), parts.end(), at,
                       [](std::int64_t value, const Interval& part) { return value < part.begin; });
  return static_cast<std::size_t>(after - parts.begin()) - 1;
}

}  // namespace

ShardGrid::ShardGrid(const TransferProblem& problem, const Shape& shape, const TensorLayout& layout,
                     const std::vector<std::uint32_t>& places)
    : parts_(shape.size()) {
  std::vector<Box> boxes;
  for (std::size_t device = 0; device < places.size(); ++device)
    boxes.push_back(problem.box(shape, layout, device));
  std::size_t cells = 1;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    std::vector<Interval>& parts = parts_[dim];
    for (const Box& box : boxes) {
      if (box[dim].size() > 0) parts.push_back(box[dim]);
    }
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    cells *= parts.size();
  }
  holders_.resize(cells);
  for (std::size_t device = 0; device < places.size(); ++device) {
    if (num_elements(boxes[device]) == 0) continue;
    std::size_t cell = 0;
    for (std::size_t dim = 0; dim < shape.size(); ++dim)
      cell = cell * parts_[dim].size() + part_at(parts_[dim], boxes[device][dim].begin);
    holders_[cell].push_back(places[device]);
  }
  for (std::vector<std::uint32_t>& holders : holders_)
    std::sort(holders.begin(), holders.end());
}

Box ShardGrid::box(std::size_t cell) const {
  Box box(parts_.size());
  for (std::size_t dim = parts_.size(); dim-- > 0;) {
    box[dim] = parts_[dim][cell % parts_[dim].size()];
    cell /= parts_[dim].size();
  }
  return box;
}

void ShardGrid::cells_overlapping(const Box& box, std::vector<std::uint32_t>& cells) const {
  cells.assign(1, 0);
  std::vector<std::uint32_t> finer;
  for (std::size_t dim = 0; dim < parts_.size(); ++dim) {
    const auto& parts = parts_[dim];
    const auto first = static_cast<std::uint32_t>(part_at(parts, box[dim].begin));
    const auto last = static_cast<std::uint32_t>(part_at(parts, box[dim].end - 1));
    finer.clear();
    for (const std::uint32_t cell : cells) {
      for (std::uint32_t part = first; part <= last; ++part)
        finer.push_back(cell * static_cast<std::uint32_t>(parts.size()) + part);
    }
    cells.swap(finer);
  }
}

namespace {

class DemandFinder {
 public:
  DemandFinder(const TransferProblem& problem, std::uint64_t& work)
      : problem_(problem), work_(work) {
    for (const RankMesh& mesh : problem.meshes()) {
      std::vector<std::uint32_t>& places = places_.emplace_back();
      for (const Rank rank : mesh.ranks)
        places.push_back(static_cast<std::uint32_t>(place_of(problem, rank)));
    }
    number_hosts();
  }

  std::optional<Demands> run(const Budget& budget) {
    for (std::uint32_t g = 0; g < problem_.groups().size(); ++g) {
      if (budget.interrupted()) return std::nullopt;
      add_group(g);
    }
    sort_into_needs();
    return std::move(demands_);
  }

 private:
  void number_hosts() {
    demands_.num_hosts = 0;
    std::int64_t last = -1;
    for (const Rank rank : problem_.ranks()) {
      if (problem_.host_of(rank) != last) ++demands_.num_hosts;
      last = problem_.host_of(rank);
      demands_.host_of.push_back(demands_.num_hosts - 1);
    }
  }

  const ShardGrid& grid_of(const Shape& shape, const TensorLayout& layout) {
    auto key = std::make_tuple(std::vector<std::int64_t>(shape.begin(), shape.end()), layout.mesh,
                               layout.placement.code(), layout.rounding);
    const auto known = grids_.find(key);
    if (known != grids_.end()) return known->second;
    return grids_.emplace(std::move(key), ShardGrid(problem_, shape, layout, places_[layout.mesh]))
        .first->second;
  }

  std::uint32_t number_of(const std::vector<std::uint32_t>& ranks) {
    const auto [entry, is_new] =
        numbers_.try_emplace(ranks, static_cast<std::uint32_t>(demands_.sets.size()));
    if (is_new) demands_.sets.push_back(ranks);
    return entry->second;
  }

  void add_group(std::uint32_t g) {
    const TensorGroup& group = problem_.groups()[g];
    const ShardGrid& source = grid_of(group.shape, group.source);
    const ShardGrid& target = grid_of(group.shape, group.target);
    std::vector<std::uint32_t> holder_numbers(source.num_cells());
    for (std::size_t cell = 0; cell < holder_numbers.size(); ++cell)
      holder_numbers[cell] = number_of(source.holders(cell));
    std::vector<std::uint32_t> overlapping;
    for (std::size_t cell = 0; cell < target.num_cells(); ++cell) {
      const Box wanted = target.box(cell);
      source.cells_overlapping(wanted, overlapping);
      for (const std::uint32_t from : overlapping)
        add_overlap(g, intersection(wanted, source.box(from)), holder_numbers[from],
                    target.holders(cell));
    }
  }

  void add_overlap(std::uint32_t g, Box box, std::uint32_t holders,
                   const std::vector<std::uint32_t>& receivers) {
    const TensorGroup& group = problem_.groups()[g];
    const std::int64_t bytes =
        num_elements(box) * group.item_bytes * static_cast<std::int64_t>(group.tensors.size());
    const auto number = static_cast<std::uint32_t>(demands_.boxes.size());
    demands_.boxes.push_back(std::move(box));
    const auto& host_of = demands_.host_of;
    std::vector<std::uint32_t> of_host;
    const auto add_wanted = [&] {
      if (!of_host.empty())
        demands_.wanted.push_back({holders, number_of(of_host), g, number, bytes});
      of_host.clear();
    };
    for (const std::uint32_t to : receivers) {
      ++work_;
      const std::vector<std::uint32_t>& holding = demands_.sets[holders];
      if (std::binary_search(holding.begin(), holding.end(), to)) {
        demands_.kept.push_back({to, g, number});
        continue;
      }
      if (!of_host.empty() && host_of[of_host.back()] != host_of[to]) add_wanted();
      of_host.push_back(to);
    }
    add_wanted();
  }

  void sort_into_needs() {
    const auto first_of = [&](const WantedPiece& piece) {
      return demands_.sets[piece.receivers].front();  // ranks of a host are consecutive
    };
    std::sort(demands_.wanted.begin(), demands_.wanted.end(),
              [&](const WantedPiece& a, const WantedPiece& b) {
                return std::make_tuple(a.holders, first_of(a), a.receivers, a.group, a.box) <
                       std::make_tuple(b.holders, first_of(b), b.receivers, b.group, b.box);
              });
    for (std::size_t i = 0; i < demands_.wanted.size(); ++i) {
      const WantedPiece& piece = demands_.wanted[i];
      const std::uint32_t host = demands_.host_of[first_of(piece)];
      std::vector<SharedNeed>& shared = demands_.shared;
      std::vector<Need>& needs = demands_.needs;
      const bool is_new =
          needs.empty() || needs.back().holders != piece.holders || needs.back().host != host;
      if (is_new) needs.push_back({piece.holders, host, shared.size(), shared.size(), 0, 0});
      if (is_new || shared.back().receivers != piece.receivers)
        shared.push_back({piece.receivers, i, i, 0});
      shared.back().last = i + 1;
      shared.back().bytes += piece.bytes;
      needs.back().last = shared.size();
      needs.back().single += piece.bytes;
      needs.back().bytes +=
          piece.bytes * static_cast<std::int64_t>(demands_.sets[piece.receivers].size());
    }
  }

  using GridKey = std::tuple<std::vector<std::int64_t>, std::uint32_t, std::uint64_t, Rounding>;

  const TransferProblem& problem_;
  std::uint64_t& work_;
  std::vector<std::vector<std::uint32_t>> places_;  // by mesh and device
  std::map<GridKey, ShardGrid> grids_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers_;  // indices into Demands::sets
  Demands demands_;
};

}  // namespace

std::optional<Demands> find_demands(const TransferProblem& problem, const Budget& budget,
                                    std::uint64_t& work) {
  return DemandFinder(problem, work).run(budget);
}

}  // namespace shardwright::redistribution
