// What equal shards of one choice cost at least, and where they can be.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/numeric/ways_to_share.h"
#include "search/embedding/best/whole/whole_outlook.h"

namespace shardwright::embedding {
// At most how many shards of the piece the rank can take. Precondition: one.
std::uint32_t WholeOutlook::most_on(const WholeTable& table, const WholePiece& piece, Rank rank,
                                    double below) const {
  if (table.distinct) return 1;
  double most = piece.count;
  const auto limit = [&](double room, double each) {
    if (each > 0) most = std::min(most, room / each * (1 + WholePrices::kRounding));
  };
  limit(below - state_->rank(rank).load, piece.load * state_->scale(rank));
  for (const MemoryTier tier : kMemoryTiers)
    limit(state_->free_bytes(rank, tier), piece.bytes[tier]);
  return static_cast<std::uint32_t>(std::max(most, 1.0));
}

bool WholeOutlook::price_piece(const WholeTable& table, std::uint32_t piece, Rank first, Rank end,
                               const std::vector<std::uint8_t>* open, double below, Priced& sum) {
  const WholePiece& own = model_->pieces()[piece];
  Priced least;
  least.fill(std::numeric_limits<double>::infinity());
  std::uint32_t shards = 0;
  std::uint32_t most = 1;
  most_.clear();
  looks_ += 2 + end - first;
  for (Rank rank = first; rank < end; ++rank) {
    if (!model_->allows(piece, rank) || (open != nullptr && (*open)[rank] == 0) ||
        !state_->has_room(rank, own, below))
      continue;
    places_.ranks |= std::uint64_t{1} << rank;
    const std::uint32_t here = own.count > 1 ? most_on(table, own, rank, below) : 1;
    shards += here;
    most = std::max(most, here);
    most_.push_back(here);
    WholePrices::take_least(least, prices_.of(piece, rank));
  }
  if (shards < own.count) return false;
  places_.ways = ways_to_share(own.count, most_);
  places_.least_ranks = (own.count + most - 1) / most;
  WholePrices::add(sum, own.count, least);
  return true;
}

bool WholeOutlook::price_blocks(const WholeTable& table, std::uint32_t piece, Rank first, Rank end,
                                const std::vector<std::uint8_t>* open, double below, Priced& sum) {
  const std::uint32_t local = model_->ranks_per_host();
  const std::uint32_t count = model_->pieces()[piece].count;
  Priced least;
  least.fill(std::numeric_limits<double>::infinity());
  std::uint32_t blocks = 0;
  std::uint32_t most = 1;
  most_.clear();
  looks_ += 2 + end - first;
  for (Rank host = first; host + local <= end; host += local) {
    Priced here{};
    std::uint32_t fit = count;
    for (std::uint32_t i = 0; i < local && fit > 0; ++i) {
      const WholePiece& own = model_->pieces()[piece + i];
      const Rank rank = host + i;
      const bool fits = model_->allows(piece + i, rank) &&
                        (open == nullptr || (*open)[rank] != 0) &&
                        state_->has_room(rank, own, below);
      fit = fits ? std::min(fit, most_on(table, own, rank, below)) : 0;
      WholePrices::add(here, 1, prices_.of(piece + i, rank));
    }
    if (fit == 0) continue;
    for (std::uint32_t i = 0; i < local; ++i)
      places_.ranks |= std::uint64_t{1} << (host + i);
    most_.push_back(fit);
    blocks += fit;
    most = std::max(most, fit);
    WholePrices::take_least(least, here);
  }
  if (blocks < count) return false;
  places_.ways = ways_to_share(count, most_);
  places_.least_ranks = (count + most - 1) / most * local;
  WholePrices::add(sum, count, least);
  return true;
}

bool WholeOutlook::price_pieces(const WholeTable& table, const WholeChoice& choice,
                                std::uint32_t piece, Rank first, Rank end,
                                const std::vector<std::uint8_t>* open, double below, Priced& sum) {
  return choice.reach == Reach::kWholeHosts
             ? price_blocks(table, piece, first, end, open, below, sum)
             : price_piece(table, piece, first, end, open, below, sum);
}

}  // namespace shardwright::embedding
