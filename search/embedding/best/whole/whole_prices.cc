#include "search/embedding/best/whole/whole_prices.h"

#include <algorithm>

#include "search/linear_program.h"

namespace shardwright::embedding {
namespace {

constexpr std::size_t kUniformSets = 4;
// A larger linear program takes longer than the tree, and does not hear a stop.
constexpr std::size_t kMostColumns = 8'192;

// Minimises the rating, or by how much memory is exceeded, over fractional plans. Memory is counted
// in parts of the mean rank's.
class Relaxation {
 public:
  Relaxation(const WholeModel& model, bool memory_only)
      : model_(model), memory_only_(memory_only), tiers_(model.model().tiers()) {
    for (const MemoryTier tier : tiers_)
      unit_[tier] = std::max(model.context().total_bytes()[tier] / model.num_ranks(), 1.0);
    add_rows();
    add_objective();
    for (std::size_t table = 0; table < model.tables().size(); ++table) {
      const WholeTable& own = model.tables()[table];
      for (std::uint32_t c = own.first_choice; c < own.end_choice; ++c)
        add_choice(table, model.choices()[c]);
    }
  }

  // Returns false if CLP failed.
  bool solve() { return program_.solve(); }
  // The dual values of the rank's rows, per unit of load and per byte.
  CapacityMultipliers prices(Rank rank) const {
    CapacityMultipliers own;
    if (!memory_only_) own.load = std::max(-program_.dual(first_load_ + rank), 0.0);
    for (const MemoryTier tier : tiers_)
      own[tier] = std::max(-program_.dual(first_[tier] + rank), 0.0) / unit_[tier];
    return own;
  }

 private:
  static constexpr double kNone = LinearProgram::kInfinity;

  double part(double bytes, MemoryTier tier) const { return std::max(bytes, 0.0) / unit_[tier]; }

  // Of every table one choice, of every piece its shards, or of the first of a block all blocks;
  // then what every rank holds.
  void add_rows() {
    const std::span<const Storage> room = model_.model().room();
    for (std::size_t i = 0; i < model_.tables().size(); ++i)
      program_.add_row(1, 1);
    first_piece_ = program_.num_rows();
    for (std::size_t i = 0; i < model_.pieces().size(); ++i)
      program_.add_row(0, 0);
    first_load_ = program_.num_rows();
    for (std::size_t rank = 0; rank < room.size(); ++rank)
      program_.add_row(-kNone, memory_only_ ? kNone : 0);
    for (const MemoryTier tier : tiers_) {
      first_[tier] = program_.num_rows();
      for (const Storage& own : room)
        program_.add_row(-kNone, part(static_cast<double>(own[tier].value()), tier));
    }
  }

  void add_objective() {
    entries_.clear();
    for (Rank rank = 0; rank < model_.num_ranks(); ++rank) {
      if (!memory_only_) {
        entries_.push_back({first_load_ + rank, -1});
        continue;
      }
      for (const MemoryTier tier : tiers_)
        entries_.push_back({first_[tier] + rank, -1});
    }
    program_.add_column(1, 0, kNone, entries_);
  }

  void add_choice(std::size_t table, const WholeChoice& choice) {
    entries_.assign(1, {table, 1});
    const std::uint32_t size = model_.pieces_per_place(choice);
    for (std::uint32_t p = choice.first_piece; p < choice.end_piece; p += size)
      entries_.push_back({first_piece_ + p, -static_cast<double>(model_.pieces()[p].count)});
    program_.add_column(0, 0, kNone, entries_);
    for (std::uint32_t p = choice.first_piece; p < choice.end_piece; p += size) {
      for (Rank first = 0; first < model_.num_ranks(); first += size)
        add_place(p, first, size);
    }
  }

  // One shard on a rank, or a block on a host.
  void add_place(std::uint32_t p, Rank first, std::uint32_t size) {
    entries_.assign(1, {first_piece_ + p, 1});
    for (std::uint32_t i = 0; i < size; ++i) {
      if (!model_.allows(p + i, first + i)) return;
      add_shard(p + i, first + i);
    }
    program_.add_column(0, 0, kNone, entries_);
  }

  void add_shard(std::uint32_t p, Rank rank) {
    const WholePiece& piece = model_.pieces()[p];
    entries_.push_back({first_load_ + rank, piece.load * model_.model().time_scale(rank)});
    for (const MemoryTier tier : tiers_) {
      if (piece.bytes[tier] > 0)
        entries_.push_back({first_[tier] + rank, part(piece.bytes[tier], tier)});
    }
  }

  const WholeModel& model_;
  bool memory_only_;
  std::span<const MemoryTier> tiers_;
  PerTier<double> unit_;
  std::size_t first_piece_ = 0;
  std::size_t first_load_ = 0;
  PerTier<std::size_t> first_;
  LinearProgram program_;
  std::vector<LinearProgram::Entry> entries_;
};

}  // namespace

WholePrices::WholePrices(const WholeModel& model)
    : model_(&model), prices_(kSets * model.num_ranks()) {
  const SearchContext& context = model.context();
  const auto alone = [&](MemoryTier tier) {
    CapacityMultipliers prices;
    prices[tier] = 1 / std::max(context.total_bytes()[tier], 1.0);
    return prices;
  };
  set_uniform(0, {1});
  set_uniform(1, alone(MemoryTier::kHbm));
  set_uniform(2, alone(context.scarce_tier()));
  set_uniform(3, {1, context.prices().hbm, context.prices().ddr, context.prices().ssd});
  solve_relaxation(kUniformSets, false);
  solve_relaxation(kUniformSets + 1, true);
  find_costs();
}

// A rank that is slower by a factor makes as much of a load.
void WholePrices::set_uniform(std::size_t set, const CapacityMultipliers& prices) {
  for (Rank rank = 0; rank < model_->num_ranks(); ++rank) {
    CapacityMultipliers own = prices;
    own.load /= model_->model().time_scale(rank);
    prices_[set * model_->num_ranks() + rank] = own;
  }
}

// Where nothing is solved, the prices stay 0 and exclude nothing.
void WholePrices::solve_relaxation(std::size_t set, bool memory_only) {
  if (model_->pieces().size() * model_->num_ranks() > kMostColumns) return;
  Relaxation relaxation(*model_, memory_only);
  if (!relaxation.solve()) return;
  for (Rank rank = 0; rank < model_->num_ranks(); ++rank)
    prices_[set * model_->num_ranks() + rank] = relaxation.prices(rank);
}

std::vector<BoundNode> WholePrices::as_leaves() const {
  std::vector<BoundNode> leaves;
  for (std::size_t set = kUniformSets - 1; set < kSets; ++set) {
    BoundNode& leaf = leaves.emplace_back();
    for (Rank rank = 0; rank < model_->num_ranks(); ++rank) {
      leaf.multipliers.push_back(prices_[set * model_->num_ranks() + rank]);
      leaf.multipliers.back().load *= model_->model().time_scale(rank);
    }
  }
  return leaves;
}

void WholePrices::find_costs() {
  const std::uint32_t ranks = model_->num_ranks();
  for (std::uint32_t p = 0; p < model_->pieces().size(); ++p) {
    const WholePiece& piece = model_->pieces()[p];
    for (Rank rank = 0; rank < ranks; ++rank) {
      costs_.push_back(worth(rank, piece.load * model_->model().time_scale(rank), piece.bytes));
    }
  }
}

}  // namespace shardwright::embedding
