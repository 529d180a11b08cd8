#include "search/embedding/model/context/table_units.h"

#include <algorithm>
#include <numeric>

namespace shardwright::embedding {
namespace {

// Sets of numbers that are joined one pair at a time; the smallest number stands for its set.
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

}  // namespace

TableUnits::TableUnits(const ChoiceModel& model) {
  if (!model.rules().any()) return;
  const std::size_t tables = model.num_tables();
  std::vector<std::uint32_t> number(tables, kNone);  // of the model's table, by table id
  for (std::uint32_t table = 0; table < tables; ++table) {
    const std::size_t id = model.table(table).index();
    if (id >= number.size()) number.resize(id + 1, kNone);
    number[id] = table;
  }
  JoinedSets units(tables);
  JoinedSets parts(tables);
  std::vector<std::uint8_t> in_unit(tables, 0);
  std::vector<std::uint8_t> in_part(tables, 0);
  for (const PlacementRules::Group& group : model.rules().groups()) {
    const bool on_rank = group.on == GroupScope::kRank;
    if (!group.together || (on_rank ? model.world_size() : model.num_hosts()) == 1) continue;
    std::uint32_t first = kNone;
    for (const TableId id : group.tables) {
      const std::uint32_t table = id.index() < number.size() ? number[id.index()] : kNone;
      if (table == kNone) continue;
      if (first == kNone) first = table;
      units.join(first, table);
      in_unit[table] = 1;
      if (!on_rank) continue;
      parts.join(first, table);
      in_part[table] = 1;
    }
  }
  if (std::find(in_unit.begin(), in_unit.end(), 1) == in_unit.end()) return;
  unit_.assign(tables, kNone);
  part_.assign(tables, kNone);
  for (std::uint32_t table = 0; table < tables; ++table) {
    if (in_part[table] != 0) part_[table] = parts.find(table);
    if (in_unit[table] == 0) continue;
    const std::uint32_t first = units.find(table);
    if (first == table) {
      unit_[table] = static_cast<std::uint32_t>(units_.size());
      units_.push_back({{}, in_part[table] != 0});
    }
    unit_[table] = unit_[first];
    Unit& unit = units_[unit_[table]];
    unit.tables.push_back(table);
    unit.one_rank = unit.one_rank && part_[table] == part_[first];
    largest_ = std::max(largest_, unit.tables.size());
  }
}

}  // namespace shardwright::embedding
