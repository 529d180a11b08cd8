#include "search/embedding/best/bound/pricing/knapsack.h"

#include <array>
#include <cmath>
#include <utility>

namespace shardwright::embedding {

void Knapsack::fill(const BoundRows& rows, std::uint32_t rank_class, const PricingQuery& query) {
  const ChoiceModel& model = rows.model();
  const RankClass& own = rows.classes()[rank_class];
  const PerTier<double> room = as_doubles(own.room);
  capacity_ = {rows.classes().load_limit(rank_class, query.target), room.hbm, room.ddr, room.ssd};
  items_.clear();
  classes_.clear();
  for (const EqualTables& group : query.groups) {
    const std::uint32_t table = group.first();
    const std::size_t first = items_.size();
    for (std::uint32_t i = 0; i < model.choices(table).size(); ++i) {
      const std::uint32_t choice = model.first_choice(table) + i;
      if ((query.domain[choice] >> rank_class & 1) != 0)
        add_items(rows, rank_class, choice, query.dual_values);
    }
    drop_dominated_items(first);
    if (items_.size() == first) continue;
    classes_.push_back({static_cast<std::uint32_t>(first),
                        static_cast<std::uint32_t>(items_.size() - first),
                        group.size(),
                        0,
                        {}});
  }
}

void Knapsack::fill(std::span<const Item> items, std::span<const std::uint32_t> copies,
                    const Resources& capacity) {
  capacity_ = capacity;
  items_.assign(items.begin(), items.end());
  classes_.clear();
  for (std::uint32_t i = 0; i < items.size(); ++i)
    classes_.push_back({i, 1, copies[i], 0, {}});
}

void Knapsack::add_items(const BoundRows& rows, std::uint32_t rank_class, std::uint32_t choice,
                         std::span<const double> dual_values) {
  std::array<std::uint32_t, 2> usable{};
  std::size_t num_usable = 0;
  const std::uint32_t first = rows.first_row(choice);
  for (std::uint32_t r = 0; r < rows.rows_of(choice).size() && num_usable < 2; ++r) {
    const BoundRow& row = rows.rows()[first + r];
    if (dual_values[first + r] > 0 && rows.fits(row, rank_class)) {
      usable[num_usable++] = first + r;
    }
  }
  if (num_usable == 0) return;
  const std::uint32_t row = usable[0];
  const std::uint32_t other_row = num_usable == 2 ? usable[1] : usable[0];
  const BoundRow& a = rows.rows()[row];
  const BoundRow& b = rows.rows()[other_row];
  const auto add = [&](std::uint32_t k, std::uint32_t l) {
    Item item;
    item.value = k * dual_values[row] + l * dual_values[other_row];
    item.use.load = k * a.load + l * b.load;
    for (const MemoryTier tier : kMemoryTiers) {
      at_tier(item.use, tier) = k * static_cast<double>(a.storage[tier].value()) +
                                l * static_cast<double>(b.storage[tier].value());
    }
    item.row = row;
    item.count = k;
    item.other_row = other_row;
    item.other_count = l;
    return add_item(item);
  };
  const std::uint32_t other_max = num_usable == 2 ? b.max_per_rank : 0;
  for (std::uint32_t k = 0; k <= a.max_per_rank; ++k) {
    if (k > 0 && !add(k, 0)) break;
    for (std::uint32_t l = 1; l <= other_max; ++l) {
      if (!add(k, l)) break;
    }
  }
}

// Returns false if the item does not fit a rank.
bool Knapsack::add_item(const Item& item) {
  if (!fits(item.use)) return false;
  items_.push_back(item);
  return true;
}

// Of equal items the first stays.
void Knapsack::drop_dominated_items(std::size_t first) {
  std::size_t kept = first;
  for (std::size_t i = first; i < items_.size(); ++i) {
    const Item item = items_[i];
    bool dominated = false;
    for (std::size_t j = first; j < items_.size() && !dominated; ++j) {
      const Item& other = items_[j];
      const bool no_worse = other.value >= item.value && other.use.fits_in(item.use);
      const bool equal = other.value == item.value && other.use == item.use;
      // Entries before `kept` have survived; those after i have not been looked at.
      dominated = j != i && (j < kept || j > i) && no_worse && (!equal || j < kept);
    }
    if (!dominated) items_[kept++] = item;
  }
  items_.resize(kept);
}

void Knapsack::round_down(double units) {
  const std::vector<Item> all = std::move(items_);
  items_.clear();
  const auto rounded = [&](double size, double capacity) {
    const double unit = capacity / units;
    return capacity > 0 ? std::floor(size / unit) * unit : size;
  };
  for (ItemClass& own : classes_) {
    const std::size_t first = items_.size();
    for (std::uint32_t i = own.first_item; i < own.first_item + own.num_items; ++i) {
      Item item = all[i];
      item.use = {rounded(item.use.load, capacity_.load), rounded(item.use.hbm, capacity_.hbm),
                  rounded(item.use.ddr, capacity_.ddr), rounded(item.use.ssd, capacity_.ssd)};
      items_.push_back(item);
    }
    drop_dominated_items(first);
    own.first_item = static_cast<std::uint32_t>(first);
    own.num_items = static_cast<std::uint32_t>(items_.size() - first);
    own.max_use = {};
  }
}

void Knapsack::sort_classes(const CapacityMultipliers& multipliers) {
  for (ItemClass& own : classes_) {
    own.best_reduced_value = 0;
    for (const Item& item : items_of(own)) {
      own.best_reduced_value =
          std::max(own.best_reduced_value, reduced_value(item.value, item.use, multipliers));
      own.max_use = componentwise_max(own.max_use, item.use);
    }
  }
  std::stable_sort(classes_.begin(), classes_.end(), [](const ItemClass& a, const ItemClass& b) {
    return a.best_reduced_value > b.best_reduced_value;
  });
}

std::uint32_t Knapsack::multiplicity_bound(const ItemClass& own) const {
  double most = own.copies;
  const auto limit = [&](double Resources::*resource) {
    double least = capacity_.*resource;
    for (const Item& item : items_of(own))
      least = std::min(least, item.use.*resource);
    if (least > 0) most = std::min(most, capacity_.*resource / least);
  };
  limit(&Resources::load);
  limit(&Resources::hbm);
  limit(&Resources::ddr);
  limit(&Resources::ssd);
  return static_cast<std::uint32_t>(most) + 1;
}

}  // namespace shardwright::embedding
