#include "search/embedding/best/whole/whole_prices.h"

#include <algorithm>

#include "search/linear_program.h"

namespace shardwright::embedding {
namespace {

constexpr std::size_t kUniformSets = 4;

// The rows of the relaxation. Memory is counted in parts of the mean rank's.
struct Rows {
  std::size_t first_load = 0;
  std::size_t first_hbm = 0;
  std::size_t first_ddr = 0;
  double hbm_unit = 1;
  double ddr_unit = 1;
};

}  // namespace

WholePrices::WholePrices(const WholeModel& model)
    : model_(&model), prices_(kSets * model.num_ranks()) {
  const SearchContext& context = model.context();
  const double hbm = 1 / std::max(context.total_hbm(), 1.0);
  const double ddr = 1 / std::max(context.total_ddr(), 1.0);
  set_uniform(0, {1, 0, 0});
  set_uniform(1, {0, hbm, 0});
  set_uniform(2, {0, 0, ddr});
  set_uniform(3, {1, context.prices().hbm, context.prices().ddr});
  solve_relaxation(kUniformSets, false);
  solve_relaxation(kUniformSets + 1, true);
  find_costs();
}

// A rank that is slower by a factor makes as much of a load.
void WholePrices::set_uniform(std::size_t set, const RankPrices& prices) {
  for (Rank rank = 0; rank < model_->num_ranks(); ++rank) {
    RankPrices own = prices;
    own.load /= model_->model().time_scale(rank);
    prices_[set * model_->num_ranks() + rank] = own;
  }
}

// Minimises the rating, or by how much memory is exceeded. Where nothing is solved, the prices stay
// 0 and exclude nothing.
void WholePrices::solve_relaxation(std::size_t set, bool memory_only) {
  const std::uint32_t ranks = model_->num_ranks();
  const std::span<const Storage> room = model_->model().room();
  LinearProgram program;
  for (std::size_t i = 0; i < model_->tables().size(); ++i)
    program.add_row(1, 1);
  const std::size_t first_piece = program.num_rows();
  for (std::size_t i = 0; i < model_->pieces().size(); ++i)
    program.add_row(0, 0);
  Rows rows;
  rows.hbm_unit = std::max(model_->context().total_hbm() / ranks, 1.0);
  rows.ddr_unit = std::max(model_->context().total_ddr() / ranks, 1.0);
  constexpr double kNone = LinearProgram::kInfinity;
  rows.first_load = program.num_rows();
  for (Rank rank = 0; rank < ranks; ++rank)
    program.add_row(-kNone, memory_only ? kNone : 0);
  rows.first_hbm = program.num_rows();
  const auto part = [](std::int64_t bytes, double unit) {
    return static_cast<double>(std::max<std::int64_t>(bytes, 0)) / unit;
  };
  for (Rank rank = 0; rank < ranks; ++rank)
    program.add_row(-kNone, part(room[rank].hbm.value(), rows.hbm_unit));
  rows.first_ddr = program.num_rows();
  for (Rank rank = 0; rank < ranks; ++rank)
    program.add_row(-kNone, part(room[rank].ddr.value(), rows.ddr_unit));
  std::vector<LinearProgram::Entry> entries;
  for (Rank rank = 0; rank < ranks; ++rank) {
    if (!memory_only) {
      entries.push_back({rows.first_load + rank, -1});
      continue;
    }
    entries.push_back({rows.first_hbm + rank, -1});
    entries.push_back({rows.first_ddr + rank, -1});
  }
  program.add_column(1, 0, kNone, entries);
  for (std::size_t depth = 0; depth < model_->tables().size(); ++depth) {
    const WholeTable& table = model_->tables()[depth];
    for (std::uint32_t c = table.first_choice; c < table.end_choice; ++c) {
      const WholeChoice& choice = model_->choices()[c];
      entries.assign(1, {depth, 1});
      for (std::uint32_t p = choice.first_piece; p < choice.end_piece; ++p)
        entries.push_back({first_piece + p, -static_cast<double>(model_->pieces()[p].count)});
      program.add_column(0, 0, kNone, entries);
      for (std::uint32_t p = choice.first_piece; p < choice.end_piece; ++p) {
        const WholePiece& piece = model_->pieces()[p];
        for (Rank rank = 0; rank < ranks; ++rank) {
          if (!model_->allows(p, rank)) continue;
          entries.assign(1, {first_piece + p, 1});
          entries.push_back(
              {rows.first_load + rank, piece.load * model_->model().time_scale(rank)});
          if (piece.hbm_bytes > 0)
            entries.push_back({rows.first_hbm + rank, part(piece.hbm_bytes, rows.hbm_unit)});
          if (piece.ddr_bytes > 0)
            entries.push_back({rows.first_ddr + rank, part(piece.ddr_bytes, rows.ddr_unit)});
          program.add_column(memory_only ? 0 : model_->extra(p, rank), 0, kNone, entries);
        }
      }
    }
  }
  if (!program.solve()) return;
  for (Rank rank = 0; rank < ranks; ++rank) {
    RankPrices& own = prices_[set * ranks + rank];
    if (!memory_only) own.load = std::max(-program.dual(rows.first_load + rank), 0.0);
    own.hbm = std::max(-program.dual(rows.first_hbm + rank), 0.0) / rows.hbm_unit;
    own.ddr = std::max(-program.dual(rows.first_ddr + rank), 0.0) / rows.ddr_unit;
  }
}

std::vector<BoundNode> WholePrices::as_leaves() const {
  std::vector<BoundNode> leaves;
  for (std::size_t set = kUniformSets - 1; set < kSets; ++set) {
    BoundNode& leaf = leaves.emplace_back();
    for (Rank rank = 0; rank < model_->num_ranks(); ++rank) {
      const RankPrices& own = prices_[set * model_->num_ranks() + rank];
      leaf.multipliers.push_back({own.load * model_->model().time_scale(rank), own.hbm, own.ddr});
    }
  }
  return leaves;
}

// The extra cost counts as much as all prices of load together: it adds to every rank's load.
void WholePrices::find_costs() {
  const std::uint32_t ranks = model_->num_ranks();
  Priced all{};
  for (std::size_t set = 0; set < kSets; ++set) {
    for (Rank rank = 0; rank < ranks; ++rank)
      all[set] += prices_[set * ranks + rank].load;
  }
  for (std::uint32_t p = 0; p < model_->pieces().size(); ++p) {
    const WholePiece& piece = model_->pieces()[p];
    for (Rank rank = 0; rank < ranks; ++rank) {
      Priced cost =
          worth(rank, piece.load * model_->model().time_scale(rank),
                static_cast<double>(piece.hbm_bytes), static_cast<double>(piece.ddr_bytes));
      for (std::size_t set = 0; set < kSets; ++set)
        cost[set] += all[set] * model_->extra(p, rank);
      costs_.push_back(cost);
    }
  }
}

}  // namespace shardwright::embedding
