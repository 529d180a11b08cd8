#include "search/embedding/best/whole/whole_outlook.h"

#include <algorithm>
#include <limits>

namespace shardwright::embedding {
namespace {

constexpr double kRounding = 1e-12;  // relative, of sums over all ranks
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void take_least(WholePrices::Priced& least, const WholePrices::Priced& other) {
  for (std::size_t set = 0; set < WholePrices::kSets; ++set)
    least[set] = std::min(least[set], other[set]);
}

void add(WholePrices::Priced& sum, double factor, const WholePrices::Priced& other) {
  for (std::size_t set = 0; set < WholePrices::kSets; ++set)
    sum[set] += factor * other[set];
}

// The number of ways to share `count` equal shards among ranks.
double ways(std::uint32_t count, std::uint32_t ranks) {
  double product = 1;
  for (std::uint32_t i = 1; i <= count && i < ranks; ++i)
    product *= static_cast<double>(std::max(count, ranks - 1) + i) / i;
  return count == 1 ? ranks : product;
}

}  // namespace

WholeOutlook::WholeOutlook(const WholeModel& model, const WholeState& state, double below)
    : model_(&model), state_(&state), prices_(model), useful_(model.num_ranks()) {
  for (Rank rank = 0; rank < model.num_ranks(); ++rank) {
    add(slack_, kRounding,
        prices_.worth(rank, below, std::max(state.free_hbm(rank), 0.0),
                      std::max(state.free_ddr(rank), 0.0)));
  }
}

// At most how many shards of the piece the rank can take. Precondition: one.
std::uint32_t WholeOutlook::most_on(const WholeTable& table, const WholePiece& piece, Rank rank,
                                    double below) const {
  if (table.distinct) return 1;
  double most = piece.count;
  const auto limit = [&](double room, double each) {
    if (each > 0) most = std::min(most, room / each * (1 + kRounding));
  };
  limit(below - state_->rank(rank).load, piece.load * state_->scale(rank));
  limit(state_->free_hbm(rank), static_cast<double>(piece.hbm_bytes));
  limit(state_->free_ddr(rank), static_cast<double>(piece.ddr_bytes));
  return static_cast<std::uint32_t>(std::max(most, 1.0));
}

bool WholeOutlook::price_piece(const WholeTable& table, std::uint32_t piece, Rank first, Rank end,
                               const std::vector<std::uint8_t>* open, double below, Priced& sum) {
  const WholePiece& own = model_->pieces()[piece];
  Priced least;
  least.fill(kInfinity);
  std::uint32_t shards = 0;
  std::uint32_t ranks = 0;
  looks_ += 2 + end - first;
  for (Rank rank = first; rank < end; ++rank) {
    if (!model_->allows(piece, rank) || (open != nullptr && (*open)[rank] == 0) ||
        !state_->has_room(rank, own, below))
      continue;
    useful_[rank] = 1;
    ++ranks;
    shards += own.count > 1 ? most_on(table, own, rank, below) : 1;
    take_least(least, prices_.of(piece, rank));
  }
  if (shards < own.count) return false;
  places_ = ways(own.count, ranks);
  add(sum, own.count, least);
  return true;
}

bool WholeOutlook::price_within(const WholeTable& table, const WholeChoice& choice, Rank first,
                                Rank end, double below, Priced& sum) {
  sum.fill(0);
  double places = 1;
  for (std::uint32_t piece = choice.first_piece; piece < choice.end_piece; ++piece) {
    if (!price_piece(table, piece, first, end, table.has_groups ? &open_ : nullptr, below, sum))
      return false;
    const bool follows = choice.reach == Reach::kWholeHosts &&
                         (piece - choice.first_piece) % model_->ranks_per_host() != 0;
    if (!follows) places *= places_;
  }
  places_ = places;
  return true;
}

bool WholeOutlook::price_choice(const WholeTable& table, const WholeChoice& choice, double below,
                                Priced& sum) {
  const std::uint32_t size = table.bond == Bond::kRank ? 1
                             : choice.on_one_host      ? model_->ranks_per_host()
                                                       : model_->num_ranks();
  if (size == model_->num_ranks()) return price_within(table, choice, 0, size, below, sum);
  double places = 0;
  sum.fill(kInfinity);
  Priced here;
  for (Rank first = 0; first < model_->num_ranks(); first += size) {
    if (!price_within(table, choice, first, first + size, below, here)) continue;
    places += places_;
    take_least(sum, here);
  }
  places_ = places;
  return places > 0;
}

bool WholeOutlook::price_table(std::size_t index, std::uint64_t decided, double below,
                               Priced& least) {
  const WholeTable& table = model_->tables()[index];
  if (table.has_groups) state_->find_open(index, decided, open_);
  least.fill(kInfinity);
  double places = 0;
  Priced sum;
  for (std::uint32_t c = table.first_choice; c < table.end_choice; ++c) {
    if (!price_choice(table, model_->choices()[c], below, sum)) continue;
    places += places_;
    take_least(least, sum);
  }
  places_ = places;
  return places > 0;
}

bool WholeOutlook::look(std::uint64_t remaining, double below, View& view) {
  std::fill(useful_.begin(), useful_.end(), std::uint8_t{0});
  const std::uint64_t all = (std::uint64_t{1} << model_->tables().size()) - 1;
  Priced needed{};
  Priced of_next{};
  double fewest = kInfinity;
  for (std::size_t table = 0; table < model_->tables().size(); ++table) {
    if ((remaining >> table & 1) == 0) continue;
    Priced least;
    if (!price_table(table, all & ~remaining, below, least)) return false;
    add(needed, 1, least);
    if (!(places_ < fewest)) continue;
    fewest = places_;
    view.next = table;
    of_next = least;
  }
  view.later = needed;
  add(view.later, -1, of_next);
  view.left.fill(0);
  for (Rank rank = 0; rank < model_->num_ranks(); ++rank) {
    if (useful_[rank] == 0) continue;
    add(view.left, 1,
        prices_.worth(rank, below - state_->rank(rank).load, std::max(state_->free_hbm(rank), 0.0),
                      std::max(state_->free_ddr(rank), 0.0)));
  }
  return !is_too_much(needed, view.left);
}

}  // namespace shardwright::embedding
