// Which choices of a whole model can be left out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/embedding/best/whole/whole_model.h"

namespace shardwright::embedding {

// Ignores that shards of one rank must fit there together.
bool WholeModel::may_be_in(const WholeTable& table, const WholeChoice& choice, Rank first,
                           std::uint32_t count) const {
  std::uint32_t shards = 0;
  std::vector<std::uint8_t> used(count, 0);
  for (std::uint32_t piece = choice.first_piece; piece < choice.end_piece; ++piece) {
    bool any = false;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!allows(piece, first + i)) continue;
      any = true;
      used[i] = 1;
    }
    if (!any) return false;
    shards += pieces_[piece].count;
  }
  return !table.distinct ||
         shards <= static_cast<std::uint32_t>(std::count(used.begin(), used.end(), 1));
}

bool WholeModel::has_place(const WholeTable& table, const WholeChoice& choice) const {
  const std::uint32_t size = table.bond == Bond::kRank ? 1
                             : choice.on_one_host      ? ranks_per_host()
                                                       : num_ranks_;
  for (Rank first = 0; first + size <= num_ranks_; first += size) {
    if (may_be_in(table, choice, first, size)) return true;
  }
  return false;
}

// Returns true if a choice was dropped.
bool WholeModel::filter_choices() {
  bool changed = false;
  std::uint32_t kept = 0;
  for (WholeTable& table : tables_) {
    const std::uint32_t begin = table.first_choice;
    const std::uint32_t end = table.end_choice;
    table.first_choice = kept;
    for (std::uint32_t i = begin; i < end; ++i) {
      if (has_place(table, choices_[i])) {
        choices_[kept++] = choices_[i];
      } else {
        changed = true;
      }
    }
    table.end_choice = kept;
    hopeless_ = hopeless_ || table.first_choice == table.end_choice;
  }
  choices_.resize(kept);
  return changed;
}

// Tables that must be together stay where each of them has a choice. Returns true if that removes a
// rank of a shard.
bool WholeModel::filter_group(const Group& group) {
  if (!group.together) return false;
  const std::uint32_t size = group.ranks_per_place;
  bool changed = false;
  for (Rank first = 0; first < num_ranks_; first += size) {
    bool all = true;
    for (std::size_t depth = 0; depth < tables_.size() && all; ++depth) {
      if ((group.tables >> depth & 1) == 0) continue;
      const WholeTable& table = tables_[depth];
      bool any = false;
      for (std::uint32_t i = table.first_choice; i < table.end_choice && !any; ++i)
        any = may_be_in(table, choices_[i], first, size);
      all = any;
    }
    if (all) continue;
    for (std::size_t depth = 0; depth < tables_.size(); ++depth) {
      if ((group.tables >> depth & 1) == 0) continue;
      const WholeTable& table = tables_[depth];
      for (std::uint32_t i = table.first_choice; i < table.end_choice; ++i) {
        for (std::uint32_t piece = choices_[i].first_piece; piece < choices_[i].end_piece;
             ++piece) {
          for (Rank rank = first; rank < first + size; ++rank) {
            changed = changed || allows(piece, rank);
            allowed_[piece * num_ranks_ + rank] = 0;
          }
        }
      }
    }
  }
  return changed;
}

// Where every rank can hold all shards at once, their bytes make no difference.
void WholeModel::forget_ample_memory(MemoryTier tier) {
  double total = 0;
  for (const WholeTable& table : tables_) {
    double most = 0;
    for (std::uint32_t i = table.first_choice; i < table.end_choice; ++i) {
      double own = 0;
      for (std::uint32_t p = choices_[i].first_piece; p < choices_[i].end_piece; ++p)
        own += pieces_[p].bytes[tier] * pieces_[p].count;
      most = std::max(most, own);
    }
    total += most;
  }
  for (const Storage& own : model().room()) {
    if (static_cast<double>(own[tier].value()) < total) return;
  }
  for (WholePiece& piece : pieces_)
    piece.bytes[tier] = 0;
}

// Shards are compared in order. Of equal choices the first stays.
bool WholeModel::dominates(const WholeChoice& a, const WholeChoice& b) const {
  if (a.reach != Reach::kDevice && (a.reach != Reach::kHost || b.reach != Reach::kHost))
    return false;
  if (a.on_one_host && !b.on_one_host) return false;
  std::uint32_t p = a.first_piece;
  std::uint32_t q = b.first_piece;
  std::uint32_t left_own = 0;
  std::uint32_t left_other = 0;
  for (;;) {
    if (left_own == 0 && p < a.end_piece) left_own = pieces_[p++].count;
    if (left_other == 0 && q < b.end_piece) left_other = pieces_[q++].count;
    if (left_own == 0 || left_other == 0) return left_own == left_other;
    const WholePiece& own = pieces_[p - 1];
    const WholePiece& other = pieces_[q - 1];
    if (own.load > other.load || own.bytes.hbm > other.bytes.hbm ||
        own.bytes.ddr > other.bytes.ddr || own.bytes.ssd > other.bytes.ssd)
      return false;
    for (Rank rank = 0; rank < num_ranks_; ++rank) {
      if (allows(q - 1, rank) && !allows(p - 1, rank)) return false;
    }
    const std::uint32_t step = std::min(left_own, left_other);
    left_own -= step;
    left_other -= step;
  }
}

void WholeModel::drop_dominated() {
  std::uint32_t kept = 0;
  const std::vector<WholeChoice> all = choices_;
  for (WholeTable& table : tables_) {
    const std::uint32_t begin = table.first_choice;
    const std::uint32_t end = table.end_choice;
    table.first_choice = kept;
    for (std::uint32_t i = begin; i < end; ++i) {
      bool dominated = false;
      for (std::uint32_t k = begin; k < end && !dominated; ++k) {
        dominated = k != i && dominates(all[k], all[i]) && (k < i || !dominates(all[i], all[k]));
      }
      if (!dominated) choices_[kept++] = all[i];
    }
    table.end_choice = kept;
  }
  choices_.resize(kept);
}

}  // namespace shardwright::embedding
