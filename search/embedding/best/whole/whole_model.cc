#include "search/embedding/best/whole/whole_model.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace shardwright::embedding {
namespace {

constexpr double kTinyBound = 1e-300;  // keeps quotients finite

// The largest part of all load or of one memory that the table needs at least.
double size_of(const SearchContext& context, std::size_t table) {
  const ChoiceModel& model = context.model();
  const double capacity = std::max(context.bound() * context.speed(), kTinyBound);
  double load = std::numeric_limits<double>::infinity();
  double hbm = load;
  double ddr = load;
  for (std::uint32_t i = 0; i < model.choices(table).size(); ++i) {
    const Choice& choice = model.choices(table)[i];
    if (!context.fits(model.first_choice(table) + i)) continue;
    load = std::min(load, choice.load / capacity);
    hbm = std::min(hbm, static_cast<double>(choice.hbm_bytes) / std::max(context.total_hbm(), 1.0));
    ddr = std::min(ddr, static_cast<double>(choice.ddr_bytes) / std::max(context.total_ddr(), 1.0));
  }
  return std::max({load, hbm, ddr});
}

bool same_costs(const WholePiece& a, const WholePiece& b) {
  return a.load == b.load && a.hbm_bytes == b.hbm_bytes && a.ddr_bytes == b.ddr_bytes;
}

}  // namespace

WholeModel::WholeModel(const SearchContext& context, double below, const ExtraCost& extra)
    : context_(&context), num_ranks_(context.model().world_size()) {
  order_tables();
  for (const std::uint32_t table : order_)
    add_table(table, below, extra);
  find_groups();
  bool changed = true;
  while (changed && !hopeless_) {
    changed = filter_choices();
    for (const Group& group : groups_)
      changed = filter_group(group) || changed;
  }
  drop_dominated();
  mark_equal_tables();
}

// The largest first; tables that must be together follow each other.
void WholeModel::order_tables() {
  const std::size_t size = model().num_tables();
  std::vector<double> sizes;
  for (std::size_t table = 0; table < size; ++table)
    sizes.push_back(size_of(*context_, table));
  std::vector<std::uint32_t> by_size(size);
  std::iota(by_size.begin(), by_size.end(), 0U);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return sizes[a] > sizes[b]; });
  std::vector<std::uint8_t> taken(size, 0);
  for (const std::uint32_t first : by_size) {
    const std::uint32_t unit = context_->units().unit_of(first);
    for (const std::uint32_t table : by_size) {
      const bool follows = unit != TableUnits::kNone && context_->units().unit_of(table) == unit;
      if (taken[table] != 0 || (table != first && !follows)) continue;
      taken[table] = 1;
      order_.push_back(table);
    }
  }
}

void WholeModel::add_table(std::size_t table, double below, const ExtraCost& extra) {
  const TableId id = model().table(table);
  WholeTable own;
  own.table = static_cast<std::uint32_t>(table);
  own.first_choice = static_cast<std::uint32_t>(choices_.size());
  own.bond = context_->units().bond(table);
  own.distinct = model().rules().distinct_ranks(id);
  own.has_groups = !model().rules().groups_of(id).empty();
  std::vector<std::uint32_t> indices(model().choices(table).size());
  std::iota(indices.begin(), indices.end(), model().first_choice(table));
  std::stable_sort(indices.begin(), indices.end(), [&](std::uint32_t a, std::uint32_t b) {
    return context_->priced(model().choices()[a]) < context_->priced(model().choices()[b]);
  });
  for (const std::uint32_t index : indices) {
    if (context_->fits(index)) add_choice(table, index, below, extra);
  }
  own.end_choice = static_cast<std::uint32_t>(choices_.size());
  tables_.push_back(own);
}

// A choice on all ranks, or one that fills hosts, has pieces of one shard.
void WholeModel::add_choice(std::size_t table, std::uint32_t index, double below,
                            const ExtraCost& extra) {
  const Choice& choice = model().choices()[index];
  const RankSet* allowed = nullptr;
  const Bond bond = context_->units().bond(table);
  WholeChoice own{index, choice.reach, choice.reach == Reach::kHost || bond == Bond::kHost,
                  static_cast<std::uint32_t>(pieces_.size()), 0};
  const bool one_by_one = choice.reach >= Reach::kWholeHosts;
  std::vector<std::uint8_t> may_be(num_ranks_);
  std::vector<double> costs(extra ? num_ranks_ : 0);
  std::uint32_t shard = 0;
  for (const ChoiceRun& run : model().runs(choice)) {
    for (std::uint32_t k = 0; k < run.count; ++k, ++shard) {
      allowed = model().rules().allowed(model().table(table), shard);
      for (Rank rank = 0; rank < num_ranks_; ++rank) {
        const Storage& room = model().room()[rank];
        const bool holds =
            (run.hbm_bytes <= room.hbm.value() && run.ddr_bytes <= room.ddr.value()) ||
            (run.hbm_bytes == 0 && run.ddr_bytes == 0);
        const bool in_form = choice.reach == Reach::kAllRanks
                                 ? rank == shard
                                 : choice.reach != Reach::kWholeHosts ||
                                       rank % ranks_per_host() == shard % ranks_per_host();
        may_be[rank] = holds && in_form && (allowed == nullptr || allowed->contains(rank)) &&
                       run.load * model().time_scale(rank) < below;
        if (extra) costs[rank] = extra(index, shard, rank);
      }
      const WholePiece piece{run.load, run.hbm_bytes, run.ddr_bytes, 1};
      const auto same_as_last = [&] {
        if (one_by_one || pieces_.size() == own.first_piece) return false;
        const std::size_t last = (pieces_.size() - 1) * num_ranks_;
        const auto begin = static_cast<std::ptrdiff_t>(last);
        return same_costs(pieces_.back(), piece) &&
               std::equal(may_be.begin(), may_be.end(), allowed_.begin() + begin) &&
               (!extra || std::equal(costs.begin(), costs.end(), extra_.begin() + begin));
      };
      if (same_as_last()) {
        ++pieces_.back().count;
        continue;
      }
      pieces_.push_back(piece);
      allowed_.insert(allowed_.end(), may_be.begin(), may_be.end());
      extra_.insert(extra_.end(), costs.begin(), costs.end());
    }
  }
  own.end_piece = static_cast<std::uint32_t>(pieces_.size());
  choices_.push_back(own);
}

void WholeModel::find_groups() {
  const PlacementRules& rules = model().rules();
  for (const PlacementRules::Group& group : rules.groups()) {
    Group own;
    own.together = group.together;
    own.ranks_per_place = group.on == GroupScope::kRank ? 1 : ranks_per_host();
    for (std::size_t depth = 0; depth < tables_.size(); ++depth) {
      const TableId id = model().table(tables_[depth].table);
      if (std::find(group.tables.begin(), group.tables.end(), id) != group.tables.end())
        own.tables |= std::uint64_t{1} << depth;
    }
    groups_.push_back(own);
  }
}

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
  for (Rank first = 0; first < num_ranks_; first += size) {
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
    if (own.load > other.load || own.hbm_bytes > other.hbm_bytes || own.ddr_bytes > other.ddr_bytes)
      return false;
    for (Rank rank = 0; rank < num_ranks_; ++rank) {
      if (!allows(q - 1, rank)) continue;
      if (!allows(p - 1, rank) || extra(p - 1, rank) > extra(q - 1, rank)) return false;
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

void WholeModel::mark_equal_tables() {
  for (std::size_t b = 1; b < tables_.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      const auto in_same = [&](const Group& group) {
        return (group.tables >> a & 1) == (group.tables >> b & 1);
      };
      if (are_equal(tables_[a], tables_[b]) &&
          std::all_of(groups_.begin(), groups_.end(), in_same)) {
        tables_[b].alike |= std::uint64_t{1} << a;
        tables_[a].alike |= std::uint64_t{1} << b;
      }
    }
  }
}

bool WholeModel::are_equal(const WholeTable& a, const WholeTable& b) const {
  if (a.distinct != b.distinct || a.bond != b.bond ||
      a.end_choice - a.first_choice != b.end_choice - b.first_choice)
    return false;
  for (std::uint32_t i = 0; i < a.end_choice - a.first_choice; ++i) {
    const WholeChoice& one = choices_[a.first_choice + i];
    const WholeChoice& other = choices_[b.first_choice + i];
    if (one.reach != other.reach || one.on_one_host != other.on_one_host ||
        one.end_piece - one.first_piece != other.end_piece - other.first_piece)
      return false;
    for (std::uint32_t k = 0; k < one.end_piece - one.first_piece; ++k) {
      const std::uint32_t p = one.first_piece + k;
      const std::uint32_t q = other.first_piece + k;
      if (!same_costs(pieces_[p], pieces_[q]) || pieces_[p].count != pieces_[q].count) return false;
      for (Rank rank = 0; rank < num_ranks_; ++rank) {
        if (allows(p, rank) != allows(q, rank) || extra(p, rank) != extra(q, rank)) return false;
      }
    }
  }
  return true;
}

}  // namespace shardwright::embedding
