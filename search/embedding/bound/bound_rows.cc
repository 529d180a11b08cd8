#include "search/embedding/bound/bound_rows.h"

#include <algorithm>
#include <bit>
#include <map>
#include <span>
#include <utility>

namespace shardwright::embedding {
namespace {

// Returns the choices of a table with their costs as a list of words, equal only for tables of one
// kind.
std::vector<std::uint64_t> describe(const ChoiceModel& model, std::size_t table) {
  std::vector<std::uint64_t> words;
  for (const Choice& choice : model.choices(table)) {
    words.push_back(static_cast<std::uint64_t>(choice.reach));
    words.push_back(choice.num_runs);
    for (const ChoiceRun& run : model.runs(choice)) {
      words.push_back(run.count);
      words.push_back(std::bit_cast<std::uint64_t>(run.load));
      for (const MemoryTier tier : kMemoryTiers)
        words.push_back(std::bit_cast<std::uint64_t>(run.storage[tier].value()));
    }
  }
  return words;
}

}  // namespace

TableKinds::TableKinds(const ChoiceModel& model) : model_(&model) {
  std::map<std::vector<std::uint64_t>, std::uint32_t> kinds;
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    const auto [found, added] =
        kinds.try_emplace(describe(model, table), static_cast<std::uint32_t>(first_of_.size()));
    if (added) first_of_.push_back(static_cast<std::uint32_t>(table));
    kind_of_.push_back(found->second);
  }
}

std::vector<EqualTables> TableKinds::groups(const Domain& domain) const {
  std::vector<EqualTables> groups;
  std::vector<std::vector<std::size_t>> of_kind(size());
  const auto choices = [&](std::uint32_t table) {
    return std::span(domain).subspan(model_->first_choice(table), model_->choices(table).size());
  };
  for (std::uint32_t table = 0; table < kind_of_.size(); ++table) {
    std::vector<std::size_t>& known = of_kind[kind_of_[table]];
    const std::span<const ClassSet> classes = choices(table);
    const auto same = std::find_if(known.begin(), known.end(), [&](std::size_t group) {
      const std::span<const ClassSet> other = choices(groups[group].first());
      return std::equal(classes.begin(), classes.end(), other.begin());
    });
    if (same != known.end()) {
      groups[*same].tables.push_back(table);
    } else {
      known.push_back(groups.size());
      groups.push_back({kind_of_[table], {table}});
    }
  }
  return groups;
}

namespace {

BoundRow row_of(std::uint32_t choice, std::uint32_t run, const ChoiceRun& shard, std::uint32_t need,
                std::uint32_t max_per_rank) {
  return {choice,       run,        false,         need,
          max_per_rank, shard.load, shard.storage, as_doubles(shard.storage)};
}

void keep_cheapest(BoundRow& row, const ChoiceRun& shard) {
  row.load = std::min(row.load, shard.load);
  row.storage = least_of(row.storage, shard.storage);
  row.bytes = as_doubles(row.storage);
}

}  // namespace

BoundRows::BoundRows(const ChoiceModel& model, RankClasses classes)
    : model_(&model), classes_(std::move(classes)), kinds_(model) {
  for (Rank rank = 0; rank < model.world_size(); ++rank) {
    const std::uint32_t own = classes_.class_of(rank);
    if (segments_.empty() || segments_.back().rank_class != own) segments_.push_back({own, rank});
    segments_.back().end = rank + 1;
  }
  first_row_.push_back(0);
  for (std::uint32_t choice = 0; choice < model.choices().size(); ++choice) {
    add_rows(choice);
    first_row_.push_back(static_cast<std::uint32_t>(rows_.size()));
  }
}

void BoundRows::add_rows(std::uint32_t index) {
  const Choice& choice = model_->choices()[index];
  const std::span<const ChoiceRun> runs = model_->runs(choice);
  switch (choice.reach) {
    case Reach::kAllRanks:
      add_row_per_class(index);
      break;
    case Reach::kWholeHosts: {
      const std::uint32_t hosts = choice.num_shards / model_->local_world_size();
      BoundRow row = row_of(index, 0, runs[0], choice.num_shards, hosts);
      for (const ChoiceRun& run : runs)
        keep_cheapest(row, run);
      rows_.push_back(row);
      break;
    }
    case Reach::kHost:
    case Reach::kDevice:
      for (std::uint32_t run = 0; run < runs.size(); ++run) {
        const std::uint32_t count = runs[run].count;
        if (count > 0) rows_.push_back(row_of(index, run, runs[run], count, count));
      }
      break;
  }
}

void BoundRows::add_row_per_class(std::uint32_t index) {
  const std::span<const ChoiceRun> runs = model_->runs(model_->choices()[index]);
  std::vector<BoundRow> by_class(classes_.size());
  std::size_t begin = 0;
  auto segment = segments_.begin();
  for (const ChoiceRun& run : runs) {
    for (const std::size_t end = begin + run.count; begin < end; ++segment) {
      const std::uint32_t c = classes_.uniform_class(segment->rank_class);
      if (by_class[c].need == 0) {
        by_class[c] = row_of(index, c, run, classes_[c].size, 1);
        by_class[c].in_class = true;
      }
      keep_cheapest(by_class[c], run);
      begin = std::min<std::size_t>(end, segment->end);
      if (begin < segment->end) break;
    }
  }
  for (const BoundRow& row : by_class) {
    if (row.need > 0) rows_.push_back(row);
  }
}

bool BoundRows::is_possible(std::uint32_t choice, double target) const {
  double largest_limit = 0;
  for (std::uint32_t c = 0; c < classes_.size(); ++c)
    largest_limit = std::max(largest_limit, classes_.load_limit(c, target));
  if (model_->choices()[choice].max_load >= largest_limit) return false;
  for (const BoundRow& row : rows_of(choice)) {
    bool somewhere = false;
    for (std::uint32_t c = 0; c < classes_.size() && !somewhere; ++c)
      somewhere = fits(row, c) && row.load < classes_.load_limit(c, target);
    if (!somewhere) return false;
  }
  return true;
}

std::span<const ClassSet> BoundRows::places(std::uint32_t index) const {
  const Choice& choice = model_->choices()[index];
  if (choice.reach == Reach::kDevice && choice.num_shards == 1) return classes_.single_classes();
  if (choice.reach == Reach::kHost ||
      (choice.reach == Reach::kWholeHosts && choice.num_shards == model_->local_world_size())) {
    return classes_.hosts();
  }
  return {};
}

std::vector<std::uint32_t> largest_shares(const ChoiceModel& model, const FractionalPlan& plan) {
  std::vector<std::uint32_t> largest;
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    const auto first = plan.shares.begin() + model.first_choice(table);
    const auto end = first + static_cast<std::ptrdiff_t>(model.choices(table).size());
    largest.push_back(
        static_cast<std::uint32_t>(std::max_element(first, end) - plan.shares.begin()));
  }
  return largest;
}

Domain root_domain(const BoundRows& rows, double target) {
  const ChoiceModel& model = rows.model();
  const TableKinds& kinds = rows.kinds();
  Domain domain(model.choices().size(), 0);
  for (std::uint32_t table = 0; table < model.num_tables(); ++table) {
    const std::uint32_t begin = model.first_choice(table);
    const std::uint32_t end = model.first_choice(table + 1);
    const std::uint32_t like = kinds.first_of(kinds.kind_of(table));
    if (like != table) {
      std::copy_n(domain.begin() + model.first_choice(like), end - begin, domain.begin() + begin);
      continue;
    }
    for (std::uint32_t choice = begin; choice < end; ++choice) {
      if (rows.is_possible(choice, target))
        domain[choice] = rows.classes().everywhere(model.choices()[choice]);
    }
  }
  return domain;
}

}  // namespace shardwright::embedding
