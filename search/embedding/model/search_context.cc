#include "search/embedding/model/search_context.h"

#include <algorithm>
#include <limits>
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

// The tables that groups keep together.
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

SearchContext::SearchContext(const ChoiceModel& model, const PricingParameters& pricing,
                             const Budget& budget)
    : model_(&model), pricing_(pricing), units_(model) {
  for (Rank rank = 0; rank < model.world_size(); ++rank)
    speed_ += 1 / model.time_scale(rank);
  const std::span<const double> scales = model.time_scale();
  if (!scales.empty()) least_scale_ = *std::min_element(scales.begin(), scales.end());
  least_room_ = model.room().front();
  for (const Storage& room : model.room()) {
    for (const MemoryTier tier : kMemoryTiers) {
      least_room_[tier] = std::min(least_room_[tier], room[tier]);
      total_bytes_[tier] += static_cast<double>(std::max(room[tier], Bytes()).value());
    }
  }
  find_fitting();
  expand_shards();
  find_prices(budget);
}

bool SearchContext::every_shard_fits(std::size_t table, const Choice& choice) const {
  const PlacementRules& rules = model_->rules();
  const bool by_shard = !rules.same_for_all_shards(model_->table(table));
  const std::span<const Storage> room = model_->room();
  std::uint32_t shard = 0;
  for (const ChoiceRun& run : model_->runs(choice)) {
    if (choice.reach == Reach::kAllRanks && run.storage.fits_in(least_room_)) {
      shard += run.count;
      continue;
    }
    const auto holds = [&](Rank rank) {
      return run.storage == Storage() || run.storage.fits_in(room[rank]);
    };
    for (std::uint32_t k = 0; k < run.count; ++k, ++shard) {
      const RankSet* const allowed = rules.allowed(model_->table(table), shard);
      bool fits = choice.reach == Reach::kAllRanks && holds(shard);
      for (Rank rank = 0; choice.reach != Reach::kAllRanks && rank < room.size() && !fits; ++rank)
        fits = (allowed == nullptr || allowed->contains(rank)) && holds(rank);
      if (!fits) return false;
      if (!by_shard && choice.reach != Reach::kAllRanks) {
        shard += run.count;  // all equal
        break;
      }
    }
  }
  return true;
}

void SearchContext::find_fitting() {
  for (std::size_t table = 0; table < model_->num_tables(); ++table) {
    for (const Choice& choice : model_->choices(table))
      fits_.push_back(every_shard_fits(table, choice) ? 1 : 0);
  }
}

void SearchContext::expand_shards() {
  first_slot_.push_back(0);
  for (std::size_t table = 0; table < model_->num_tables(); ++table) {
    std::uint32_t slots = 0;
    for (const Choice& choice : model_->choices(table)) {
      first_use_.push_back(static_cast<std::uint32_t>(uses_.size()));
      if (choice.reach == Reach::kAllRanks) continue;
      slots = std::max(slots, choice.num_shards);
      for (const ChoiceRun& run : model_->runs(choice))
        uses_.insert(uses_.end(), run.count, ShardUse{run.load, run.storage});
      if (!model_->rules().constrains(model_->table(table))) continue;
      for (std::uint32_t shard = 0; shard < choice.num_shards; ++shard) {
        ShardUse& use = uses_[first_use_.back() + shard];
        use.table = static_cast<std::uint32_t>(table);
        use.shard = shard;
      }
    }
    first_slot_.push_back(first_slot_.back() + slots);
  }
}

double SearchContext::largest_needed_shard() const {
  double most = 0;
  for (std::size_t table = 0; table < model_->num_tables(); ++table) {
    double least = std::numeric_limits<double>::infinity();
    std::uint32_t index = model_->first_choice(table);
    for (const Choice& choice : model_->choices(table)) {
      if (fits(index++)) least = std::min(least, fastest(choice.max_load));
    }
    most = std::max(most, least);
  }
  return most;
}

// Bisects for the least rating that is not contradicted. A rating r is contradicted if the dual
// value exceeds r, counting only choices whose largest shard rates at most r.
void SearchContext::find_prices(const Budget& budget) {
  PricedChoices choices(*this, &budget);
  double low = largest_needed_shard();  // no allocation rates below
  const double unlimited = choices.fit_prices(PricingParameters::kFineSteps, prices_);
  low = std::max(low, unlimited);
  if (!(low < std::numeric_limits<double>::infinity())) {
    bound_ = low;  // some table fits nowhere
    return;
  }
  MemoryPrices prices;
  const auto contradicts = [&](double rating) {
    choices.admit_below(rating);
    return choices.fit_prices(PricingParameters::kCoarseSteps, prices) > rating;
  };
  double high = low;
  while (high < std::numeric_limits<double>::max() / (2 * PricingParameters::kBoundGrowth) &&
         !budget.interrupted() && contradicts(high)) {
    low = high;
    high *= PricingParameters::kBoundGrowth;
  }
  for (int i = 0;
       i < pricing_.bound_steps && high > low * pricing_.bound_width && !budget.interrupted();
       ++i) {
    const double middle = (low + high) / 2;
    (contradicts(middle) ? low : high) = middle;
  }
  bound_ = low;
  choices.admit_below(high);
  choices.fit_prices(PricingParameters::kFineSteps, prices_);
}

}  // namespace shardwright::embedding
