#include "search/embedding/best/bound/pricing/pattern_pool.h"

#include <algorithm>

namespace shardwright::embedding {

void PatternPool::begin(double target, const Domain& domain, const std::vector<EqualTables>& groups,
                        const std::function<std::size_t(const RankPattern&)>& add) {
  ++question_;
  forget_unused(known_, capacity_);
  groups_of_kind_.assign(kinds_->size(), {});
  for (std::size_t g = 0; g < groups.size(); ++g)
    groups_of_kind_[groups[g].kind].push_back(g);
  for (Known& known : known_) {
    const std::optional<RankPattern> own = by_group(known.pattern, target, domain, groups);
    known.column = own ? add(*own) : kNoColumn;
  }
}

void PatternPool::forget_unused(std::vector<Known>& known, std::size_t capacity) {
  if (known.size() <= capacity) return;
  std::stable_sort(known.begin(), known.end(),
                   [](const Known& a, const Known& b) { return a.last_used > b.last_used; });
  known.resize(capacity);
}

void PatternPool::add(const RankPattern& pattern, std::size_t column) {
  known_.push_back({{by_kind(pattern), question_}, column});
}

KnownPatterns PatternPool::known() const {
  std::vector<Known> kept = known_;
  forget_unused(kept, capacity_);
  return {question_, {kept.begin(), kept.end()}};
}

void PatternPool::learn(const KnownPatterns& other) {
  question_ = other.question;
  known_.clear();
  for (const KnownPatterns::Pattern& pattern : other.patterns)
    known_.push_back({pattern, kNoColumn});
}

void PatternPool::end(const std::function<bool(std::size_t)>& is_basic) {
  for (Known& known : known_) {
    if (known.column != kNoColumn && is_basic(known.column)) known.last_used = question_;
  }
}

// The pattern in rows of the first tables of kinds. Groups of one kind share rows then; every row
// appears once.
RankPattern PatternPool::by_kind(const RankPattern& pattern) const {
  const ChoiceModel& model = rows_->model();
  RankPattern other{pattern.rank_class, {}, pattern.load};
  for (const auto& [row, count] : pattern.shards) {
    const std::size_t table = model.table_of(rows_->rows()[row].choice);
    const std::uint32_t first = kinds_->first_of(kinds_->kind_of(table));
    const std::uint32_t own = rows_->first_row(model.first_choice(first)) + row -
                              rows_->first_row(model.first_choice(table));
    const auto same = std::find_if(other.shards.begin(), other.shards.end(),
                                   [&](const auto& shards) { return shards.first == own; });
    if (same == other.shards.end()) {
      other.shards.emplace_back(own, count);
    } else {
      same->second += count;
    }
  }
  return other;
}

// The pattern in rows of the groups. Empty if it does not fit below the target, or if the domains
// of the groups do not allow it.
std::optional<RankPattern> PatternPool::by_group(const RankPattern& pattern, double target,
                                                 const Domain& domain,
                                                 const std::vector<EqualTables>& groups) const {
  if (pattern.load > rows_->classes().load_limit(pattern.rank_class, target)) return std::nullopt;
  const ChoiceModel& model = rows_->model();
  RankPattern own{pattern.rank_class, {}, pattern.load};
  Storage storage;
  for (const auto& [row, count] : pattern.shards) {
    storage += count * rows_->rows()[row].storage;
    const std::size_t table = model.table_of(rows_->rows()[row].choice);
    std::uint32_t left = count;
    for (const std::size_t g : groups_of_kind_[kinds_->kind_of(table)]) {
      const EqualTables& group = groups[g];
      const std::uint32_t other = rows_->first_row(model.first_choice(group.first())) + row -
                                  rows_->first_row(model.first_choice(table));
      const BoundRow& held = rows_->rows()[other];
      if ((domain[held.choice] >> pattern.rank_class & 1) == 0) continue;
      const std::uint32_t here = std::min(left, group.size() * held.max_per_rank);
      if (here > 0) own.shards.emplace_back(other, here);
      left -= here;
    }
    if (left > 0) return std::nullopt;
  }
  if (!storage.fits_in(rows_->classes()[pattern.rank_class].room)) return std::nullopt;
  return own;
}

}  // namespace shardwright::embedding
