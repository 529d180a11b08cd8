#include "search/embedding/best/processes/allocation_message.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

namespace shardwright::embedding {
namespace {

bool is_known(const Allocation* known, const Allocation& own, std::size_t table) {
  return known != nullptr && own.choice[table] == known->choice[table] &&
         own.ranks[table] == known->ranks[table];
}

bool is_choice_of(const ChoiceModel& model, std::size_t table, std::uint32_t choice) {
  const std::uint32_t first = model.first_choice(table);
  return choice >= first && choice - first < model.choices(table).size();
}

// Returns true if the choice is one of the table and the ranks are as many as it needs.
bool is_possible(const ChoiceModel& model, std::size_t table, std::uint32_t choice,
                 const std::vector<Rank>& ranks) {
  if (!is_choice_of(model, table, choice)) return false;
  const Choice& own = model.choices()[choice];
  const std::size_t shards = own.reach == Reach::kAllRanks ? 0 : own.num_shards;
  return ranks.size() == shards && std::all_of(ranks.begin(), ranks.end(), [&](Rank rank) {
           return rank < model.world_size();
         });
}

}  // namespace

void put(MessageWriter& to, const Allocation& own, const Allocation* known) {
  std::vector<std::uint32_t> changed;
  for (std::uint32_t table = 0; table < own.choice.size(); ++table) {
    if (!is_known(known, own, table)) changed.push_back(table);
  }
  to.put_all(changed);
  for (const std::uint32_t table : changed) {
    to.put(own.choice[table]);
    to.put_all(own.ranks[table]);
  }
}

std::optional<Allocation> get_allocation(MessageReader& from, const ChoiceModel& model,
                                         const Allocation* known) {
  const auto changed = from.get_all<std::uint32_t>();
  if (known == nullptr && changed.size() != model.num_tables()) return std::nullopt;
  if (std::adjacent_find(changed.begin(), changed.end(), std::greater_equal<>()) != changed.end())
    return std::nullopt;
  Allocation own = known != nullptr ? *known : Allocation(model.num_tables());
  for (const std::uint32_t table : changed) {
    if (table >= model.num_tables()) return std::nullopt;
    own.choice[table] = from.get<std::uint32_t>();
    own.ranks[table] = from.get_all<Rank>();
    if (!is_possible(model, table, own.choice[table], own.ranks[table])) return std::nullopt;
  }
  return own;
}

void put_start(MessageWriter& to, const Allocation& start) {
  to.put_all(start.choice);
  for (const std::vector<Rank>& ranks : start.ranks)
    to.put_all(ranks);
}

std::optional<Allocation> get_start(MessageReader& from, const ChoiceModel& model) {
  Allocation start = Allocation::of_choices(from.get_all<std::uint32_t>());
  if (start.choice.size() != model.num_tables()) return std::nullopt;
  for (std::size_t table = 0; table < start.choice.size(); ++table) {
    const std::uint32_t choice = start.choice[table];
    std::vector<Rank>& ranks = start.ranks[table];
    ranks = from.get_all<Rank>();
    const bool is_known = ranks.empty() ? is_choice_of(model, table, choice)
                                        : is_possible(model, table, choice, ranks);
    if (!is_known) return std::nullopt;
  }
  return start;
}

}  // namespace shardwright::embedding
