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
    return grids_
        .emplace(std::move(key), ShardGrid(problem_, shape, layout, places_[layout.mesh]))
        .first->second;
  }

  std::uint32_t number_of(const std::vector<std::uint32_t>& holders) {
    const auto [entry, is_new] = holder_numbers_.try_emplace(
        holders, static_cast<std::uint32_t>(demands_.holders.size()));
    if (is_new) demands_.holders.push_back(holders);
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
    const std::vector<std::uint32_t>& holding = demands_.holders[holders];
    const std::int64_t bytes = num_elements(box) * group.item_bytes *
                               static_cast<std::int64_t>(group.tensors.size());
    const auto number = static_cast<std::uint32_t>(demands_.boxes.size());
    demands_.boxes.push_back(std::move(box));
    for (const std::uint32_t to : receivers) {
      ++work_;
      if (std::binary_search(holding.begin(), holding.end(), to)) {
        demands_.kept.push_back({to, g, number});
      } else {
        demands_.wanted.push_back({holders, to, g, number, bytes});
      }
    }
  }

  void sort_into_needs() {
    const auto& host_of = demands_.host_of;
    std::sort(demands_.wanted.begin(), demands_.wanted.end(),
              [&](const WantedPiece& a, const WantedPiece& b) {
                return std::make_tuple(a.holders, host_of[a.to], a.to, a.group, a.box) <
                       std::make_tuple(b.holders, host_of[b.to], b.to, b.group, b.box);
              });
    for (std::size_t i = 0; i < demands_.wanted.size(); ++i) {
      const WantedPiece& piece = demands_.wanted[i];
      const std::uint32_t host = host_of[piece.to];
      std::vector<Need>& needs = demands_.needs;
      if (needs.empty() || needs.back().holders != piece.holders || needs.back().host != host)
        needs.push_back({piece.holders, host, i, i, 0});
      needs.back().last = i + 1;
      needs.back().bytes += piece.bytes;
    }
  }

  using GridKey =
      std::tuple<std::vector<std::int64_t>, std::uint32_t, std::uint64_t, Rounding>;

  const TransferProblem& problem_;
  std::uint64_t& work_;
  std::vector<std::vector<std::uint32_t>> places_;  // by mesh and device
  std::map<GridKey, ShardGrid> grids_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> holder_numbers_;
  Demands demands_;
};

}  // namespace

std::optional<Demands> find_demands(const TransferProblem& problem, const Budget& budget,
                                    std::uint64_t& work) {
  return DemandFinder(problem, work).run(budget);
}

}  // namespace shardwright::redistribution
