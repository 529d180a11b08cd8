#include "search/embedding/model/context/table_units.h"

#include <algorithm>
#include <numeric>

namespace shardwright::embedding {
namespace {

// Disjoint sets of numbers; the smallest number represents its set.
class JoinedSets {
 public:
  explicit JoinedSets(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }

  std::uint32_t find(std::uint32_t x) {
    while (parent_[x] != x)
      x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::uint32_t> parent_;
};

// The tables that groups keep together, by the model's numbers.
struct JoinedTables {
  explicit JoinedTables(std::size_t tables)
      : units(tables), parts(tables), in_unit(tables, 0), in_part(tables, 0) {}

  JoinedSets units;
  JoinedSets parts;
  std::vector<std::uint8_t> in_unit;
  std::vector<std::uint8_t> in_part;
};

// The model's number of a table, by table id; kNone if it is not in the model.
std::vector<std::uint32_t> number_by_id(const ChoiceModel& model) {
  std::vector<std::uint32_t> number(model.num_tables(), TableUnits::kNone);
  for (std::uint32_t table = 0; table < model.num_tables(); ++table) {
    const std::size_t id = model.table(table).index();
    if (id >= number.size()) number.resize(id + 1, TableUnits::kNone);
    number[id] = table;
  }
  return number;
}

JoinedTables join_groups(const ChoiceModel& model) {
  const std::vector<std::uint32_t> number = number_by_id(model);
  JoinedTables joined(model.num_tables());
  for (const PlacementRules::Group& group : model.rules().groups()) {
    const bool on_rank = group.on == GroupScope::kRank;
    if (!group.together || (on_rank ? model.world_size() : model.num_hosts()) == 1) continue;
    std::uint32_t first = TableUnits::kNone;
    for (const TableId id : group.tables) {
      const std::uint32_t table =
          id.index() < number.size() ? number[id.index()] : TableUnits::kNone;
      if (table == TableUnits::kNone) continue;
      if (first == TableUnits::kNone) first = table;
      joined.units.join(first, table);
      joined.in_unit[table] = 1;
      if (!on_rank) continue;
      joined.parts.join(first, table);
      joined.in_part[table] = 1;
    }
  }
  return joined;
}

}  // namespace

TableUnits::TableUnits(const ChoiceModel& model) {
  if (!model.rules().any()) return;
  const std::size_t tables = model.num_tables();
  JoinedTables joined = join_groups(model);
  if (std::find(joined.in_unit.begin(), joined.in_unit.end(), 1) == joined.in_unit.end()) return;
  unit_.assign(tables, kNone);
  part_.assign(tables, kNone);
  for (std::uint32_t table = 0; table < tables; ++table) {
    const bool in_part = joined.in_part[table] != 0;
    if (in_part) part_[table] = joined.parts.find(table);
    if (joined.in_unit[table] == 0) continue;
    const std::uint32_t first = joined.units.find(table);
    if (first == table) {
      unit_[table] = static_cast<std::uint32_t>(units_.size());
      units_.push_back({{}, in_part});
    }
    unit_[table] = unit_[first];
    Unit& unit = units_[unit_[table]];
    unit.tables.push_back(table);
    unit.one_rank = unit.one_rank && part_[table] == part_[first];
    largest_ = std::max(largest_, unit.tables.size());
  }
}

}  // namespace shardwright::embedding
