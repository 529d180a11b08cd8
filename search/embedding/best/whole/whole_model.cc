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
  PerTier<double> bytes{load, load, load};
  for (std::uint32_t i = 0; i < model.choices(table).size(); ++i) {
    const Choice& choice = model.choices(table)[i];
    if (!context.fits(model.first_choice(table) + i)) continue;
    load = std::min(load, choice.load / capacity);
    for (const MemoryTier tier : kMemoryTiers) {
      bytes[tier] = std::min(bytes[tier], static_cast<double>(choice.storage[tier].value()) /
                                              std::max(context.total_bytes()[tier], 1.0));
    }
  }
  return std::max({load, bytes.hbm, bytes.ddr, bytes.ssd});
}

bool same_costs(const WholePiece& a, const WholePiece& b) {
  return a.load == b.load && a.bytes == b.bytes;
}

}  // namespace

WholeModel::WholeModel(const SearchContext& context, double below)
    : context_(&context), num_ranks_(context.model().world_size()) {
  order_tables();
  for (const std::uint32_t table : order_)
    add_table(table, below);
  find_groups();
  bool changed = true;
  while (changed && !hopeless_) {
    changed = filter_choices();
    for (const Group& group : groups_)
      changed = filter_group(group) || changed;
  }
  if (hopeless_) return;
  for (const MemoryTier tier : kMemoryTiers)
    forget_ample_memory(tier);
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

void WholeModel::add_table(std::size_t table, double below) {
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
    if (context_->fits(index)) add_choice(own.table, index, below);
  }
  own.end_choice = static_cast<std::uint32_t>(choices_.size());
  tables_.push_back(own);
}

bool WholeModel::may_hold(const Choice& choice, const ShardUse& shard, Rank rank,
                          double below) const {
  const std::uint32_t local = ranks_per_host();
  if (choice.reach == Reach::kAllRanks && rank != shard.shard) return false;
  if (choice.reach == Reach::kWholeHosts && rank % local != shard.shard % local) return false;
  const bool on_hosts = choice.reach == Reach::kWholeHosts || choice.reach == Reach::kHost;
  if (on_hosts && rank >= model().num_hosted_ranks()) return false;
  const RankSet* const allowed = model().rules().allowed(model().table(shard.table), shard.shard);
  if (allowed != nullptr && !allowed->contains(rank)) return false;
  // A rank that holds nothing fits, whatever its capacity is.
  if (shard.storage != Storage() && !shard.storage.fits_in(model().room()[rank])) return false;
  return shard.load * model().time_scale(rank) < below;
}

// A choice on all ranks has pieces of one shard. One that fills hosts has a piece for each rank of
// a host, as often as blocks differ.
void WholeModel::add_choice(std::uint32_t table, std::uint32_t index, double below) {
  const Choice& choice = model().choices()[index];
  WholeChoice own;
  own.choice = index;
  own.reach = choice.reach;
  own.on_one_host = choice.reach == Reach::kHost || context_->units().bond(table) == Bond::kHost;
  own.first_piece = own.end_piece = static_cast<std::uint32_t>(pieces_.size());
  std::uint32_t shard = 0;
  for (const ChoiceRun& run : model().runs(choice)) {
    for (std::uint32_t k = 0; k < run.count; ++k, ++shard) {
      const ShardUse use{run.load, run.storage, table, shard};
      for (Rank rank = 0; rank < num_ranks_; ++rank)
        allowed_.push_back(may_hold(choice, use, rank, below) ? 1 : 0);
      pieces_.push_back({run.load, as_doubles(run.storage), 1});
      const std::uint32_t size = pieces_per_place(own);
      const auto made = static_cast<std::uint32_t>(pieces_.size()) - own.first_piece;
      if (own.reach != Reach::kAllRanks && made > size && made % size == 0) join_equal_pieces(size);
      own.end_piece = static_cast<std::uint32_t>(pieces_.size());
    }
  }
  choices_.push_back(own);
}

// Makes the last `size` pieces part of those before if they are interchangeable.
void WholeModel::join_equal_pieces(std::uint32_t size) {
  const std::size_t last = pieces_.size() - size;
  const auto allowed_of = [&](std::size_t piece) {
    return allowed_.begin() + static_cast<std::ptrdiff_t>(piece * num_ranks_);
  };
  const auto begin = pieces_.begin() + static_cast<std::ptrdiff_t>(last);
  if (!std::equal(begin, pieces_.end(), begin - size, same_costs) ||
      !std::equal(allowed_of(last), allowed_.end(), allowed_of(last - size)))
    return;
  for (std::size_t i = last - size; i < last; ++i)
    ++pieces_[i].count;
  pieces_.resize(last);
  allowed_.resize(last * num_ranks_);
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
        if (allows(p, rank) != allows(q, rank)) return false;
      }
    }
  }
  return true;
}

}  // namespace shardwright::embedding
