#include "search/redistribution/transfer/demands/demands.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/redistribution/transfer/port_loads.h"
#include "search/redistribution/transfer/demands/shard_grid.h"

namespace shardwright::redistribution {
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
      return demands_.sets[piece.receivers].front();  // ranks of a host follow each other
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
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers_;  // of sets
  Demands demands_;
};

}  // namespace

std::optional<Demands> find_demands(const TransferProblem& problem, const Budget& budget,
                                    std::uint64_t& work) {
  return DemandFinder(problem, work).run(budget);
}

}  // namespace shardwright::redistribution
