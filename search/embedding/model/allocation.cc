#include "search/embedding/model/allocation.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace shardwright::embedding {
namespace {

class TableRanks {
 public:
  TableRanks(const ChoiceModel& model, const Allocation& allocation)
      : model_(model), allocation_(allocation), all_(model.world_size()) {
    std::iota(all_.begin(), all_.end(), Rank{0});
  }

  const Choice& choice(std::size_t table) const {
    return model_.choices()[allocation_.choice[table]];
  }
  const ShardingOption& option(std::size_t table) const {
    return model_.pool().option(choice(table).option);
  }
  std::span<const Rank> ranks(std::size_t table) const {
    if (choice(table).reach == Reach::kAllRanks) return all_;
    return allocation_.ranks[table];
  }

 private:
  const ChoiceModel& model_;
  const Allocation& allocation_;
  std::vector<Rank> all_;
};

// Returns the shard of a dominated option whose rank the single shard of `choice` takes.
std::uint32_t replaced_shard(const ChoiceModel& model, OptionId option, const Choice& choice) {
  const OptionPool& pool = model.pool();
  const ChoiceRun& own = model.runs(choice).front();
  const OptionRow& row = pool.row(option);
  const std::span<const RunCost> costs = pool.costs(row);
  std::uint32_t shard = 0;
  for (std::size_t run = 0; run < costs.size(); ++run) {
    const std::uint32_t count = pool.run_counts(row)[run];
    if (count > 0 && own.storage.fits_in(costs[run].storage) && own.load <= costs[run].total_ms()) {
      break;
    }
    shard += count;
  }
  return std::min(shard, row.num_shards - 1);
}

// The ranks of `choice` where it replaces the option of the assignment.
std::vector<Rank> ranks_of(const ChoiceModel& model, OptionId option, const Choice& choice,
                           const Assignment& assignment) {
  std::vector<Rank> ranks;
  if (choice.reach == Reach::kAllRanks) return ranks;
  if (choice.num_shards != assignment.option->num_shards()) {
    ranks.push_back(assignment.rank(replaced_shard(model, option, choice)));
    return ranks;
  }
  for (std::uint32_t shard = 0; shard < choice.num_shards; ++shard)
    ranks.push_back(assignment.rank(shard));
  return ranks;
}

}  // namespace

Plan to_plan(const ChoiceModel& model, const Allocation& allocation, PlanCopies& copies) {
  const TableRanks tables(model, allocation);
  Plan plan = Plan::generate(model.pool().owner(), model.num_tables(), [&](std::size_t table) {
    return Assignment::make(tables.option(table), tables.ranks(table));
  });
  PlanEdit::count_whole(plan, copies);
  return plan;
}

Plan to_plan(const ChoiceModel& model, const Allocation& allocation, const Plan& base,
             PlanCopies& copies) {
  const TableRanks tables(model, allocation);
  PlanEdit edit(base.with_owner(model.pool().owner()));
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    const ShardingOption& option = tables.option(table);
    const bool same_option = base[table].option == &option;
    if (same_option && tables.choice(table).reach == Reach::kAllRanks) continue;
    edit.set_if_different(table, option, tables.ranks(table));
  }
  return edit.publish(copies);
}

bool take_table(const ChoiceModel& model, std::size_t table, const Assignment& assignment,
                Allocation& into) {
  const std::optional<OptionId> option = model.pool().id_of(assignment.option);
  SHARDWRIGHT_CHECK(option.has_value());
  const std::optional<std::uint32_t> choice = model.choice_of(*option);
  SHARDWRIGHT_CHECK(choice.has_value() && model.choices()[*choice].option == *option);
  const bool everywhere = model.choices()[*choice].reach == Reach::kAllRanks;
  const std::span<const Rank> ranks =
      everywhere ? std::span<const Rank>() : assignment.ranks.view();
  std::vector<Rank>& own = into.ranks[table];
  if (into.choice[table] == *choice &&
      std::equal(own.begin(), own.end(), ranks.begin(), ranks.end()))
    return false;
  into.choice[table] = *choice;
  own.assign(ranks.begin(), ranks.end());
  return true;
}

std::optional<Allocation> to_allocation(const ChoiceModel& model, const Plan& plan) {
  constexpr auto kNoTable = ~std::size_t{0};
  if (plan.size() != model.num_tables()) return std::nullopt;
  std::vector<std::size_t> position(model.pool().problem().tables().size(), kNoTable);
  for (std::size_t table = 0; table < model.num_tables(); ++table)
    position[model.table(table).index()] = table;
  Allocation allocation(model.num_tables());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::optional<OptionId> id = model.pool().id_of(plan[i].option);
    if (!id) return std::nullopt;
    const std::size_t table = position[plan[i].option->table.index()];
    const std::optional<std::uint32_t> choice = model.choice_of(*id);
    if (table == kNoTable || !choice) return std::nullopt;
    allocation.choice[table] = *choice;
    allocation.ranks[table] = ranks_of(model, *id, model.choices()[*choice], plan[i]);
  }
  return allocation;
}

}  // namespace shardwright::embedding
