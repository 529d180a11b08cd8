#include "search/embedding/best/bound/model/table_groups.h"

#include <algorithm>
#include <bit>
#include <map>
#include <span>

namespace shardwright::embedding {
namespace {

// The choices of a table with their costs; equal for two tables of one kind only.
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
    const std::span<const ClassSet> own = choices(table);
    const auto same = std::find_if(known.begin(), known.end(), [&](std::size_t group) {
      const std::span<const ClassSet> other = choices(groups[group].first());
      return std::equal(own.begin(), own.end(), other.begin());
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

}  // namespace shardwright::embedding
