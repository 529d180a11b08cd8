#include "core/embedding/bound/shard_prices.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/numeric/num_distributions.h"

namespace shardwright::embedding {

RankPriceSet prices_by_rank(const std::vector<CapacityMultipliers>& of_classes,
                            const std::vector<std::uint32_t>& class_of_rank) {
  RankPriceSet prices;
  for (const std::uint32_t rank_class : class_of_rank)
    prices.push_back(of_classes[rank_class]);
  return prices;
}

ShardPrices::ShardPrices(const RankContents& ranks, double target, std::vector<RankPriceSet> prices,
                         bool has_charges, StepLimit& limit)
    : ranks_(ranks),
      target_(target),
      has_charges_(has_charges),
      prices_(std::move(prices)),
      limit_(limit),
      joins_(ranks.size(), 1),
      here_(ranks.size(), 0),
      useful_(ranks.size(), 1),
      apart_(ranks.groups().size(), Apart{0, std::vector<std::uint8_t>(ranks.size(), 0)}) {
  for (const RankPriceSet& own : prices_) {
    double all = 0;
    for (Rank rank = 0; rank < ranks.size(); ++rank)
      all += own[rank].load / ranks.scale(rank);
    charge_weight_.push_back(std::max(all * (1 + kSumSlack), 1.0));
  }
  slack_ = worth_of_useful();
  for (double& slack : slack_)
    slack *= kSumSlack;
}

double ShardPrices::worth(std::size_t set, Rank rank) const {
  const CapacityMultipliers& multipliers = prices_[set][rank];
  double sum = multipliers.load * (target_ - ranks_[rank].load) / ranks_.scale(rank);
  for (const MemoryTier tier : kMemoryTiers)
    sum += multipliers[tier] * std::max(ranks_.free_bytes(rank, tier), 0.0);
  return sum;
}

PriceSums ShardPrices::worth_of_useful() const {
  PriceSums sums(prices_.size(), 0);
  PriceSums load_prices(prices_.size(), 0);
  for (Rank rank = 0; rank < ranks_.size(); ++rank) {
    for (std::size_t set = 0; set < sums.size() && useful_[rank] != 0; ++set) {
      sums[set] += worth(set, rank);
      load_prices[set] += prices_[set][rank].load / ranks_.scale(rank);
    }
  }
  if (!has_charges_) return sums;
  for (std::size_t set = 0; set < sums.size(); ++set) {
    sums[set] += (charge_weight_[set] - load_prices[set]) * (target_ - ranks_.max_load()) -
                 charge_weight_[set] * ranks_.charged();
  }
  return sums;
}

bool ShardPrices::is_too_much(const PriceSums& needed, const PriceSums& left) const {
  for (std::size_t set = 0; set < needed.size(); ++set) {
    if (needed[set] > left[set] + slack_[set]) return true;
  }
  return false;
}

void ShardPrices::begin() {
  std::fill(useful_.begin(), useful_.end(), std::uint8_t{0});
  for (Apart& apart : apart_) {
    apart.needed = 0;
    std::fill(apart.useful.begin(), apart.useful.end(), std::uint8_t{0});
  }
}

void ShardPrices::find_joins(std::size_t table) {
  if (!ranks_.has_rules(table)) return joins_.assign(joins_.size(), 1);
  limit_.spend(ranks_.size());
  for (Rank rank = 0; rank < ranks_.size(); ++rank)
    joins_[rank] = ranks_.may_join(rank, table) ? 1 : 0;
}

// Returns an upper bound on the equal shards that fit on the rank. Precondition: one fits.
std::uint32_t ShardPrices::most_on(Rank rank, const EqualShards& shards, bool distinct) const {
  double most = distinct ? 1 : shards.count;
  const auto limit = [&](double room, double each) {
    if (each > 0) most = std::min(most, room / each * (1 + kSumSlack));
  };
  limit(target_ - ranks_[rank].load, shards.load * ranks_.scale(rank));
  for (const MemoryTier tier : kMemoryTiers)
    limit(ranks_.free_bytes(rank, tier), shards.bytes[tier]);
  return static_cast<std::uint32_t>(std::max(most, 1.0));
}

// For a block, `place` is the place of its first shard.
std::uint32_t ShardPrices::most_at(const ChoicesOfTable& table_choices, const TableChoice& choice,
                                   std::size_t i, std::size_t place) {
  const Rank first = choice.shards[i].ranks[place];
  const std::uint32_t width = choice.width(ranks_.ranks_per_host());
  std::uint32_t most = choice.shards[i].count;
  cost_here_.assign(prices_.size(), 0);
  for (Rank rank = first; rank < first + width; ++rank) {
    const EqualShards& shards = choice.shards[i + rank - first];
    const std::size_t at = rank == first ? place : shards.place_on(rank);
    if (joins_[rank] == 0 || at == shards.ranks.size() || !ranks_.has_room(shards, at, target_))
      return 0;
    if (most > 1) most = std::min(most, most_on(rank, shards, table_choices.distinct_ranks));
    for (std::size_t set = 0; set < cost_here_.size(); ++set)
      cost_here_[set] += cost(set, shards, at);
  }
  return most;
}

double ShardPrices::price_shards(const ChoicesOfTable& table_choices, const TableChoice& choice,
                                 std::size_t i, Rank first, Rank end, PriceSums& sums) {
  cheapest_.assign(prices_.size(), std::numeric_limits<double>::infinity());
  const std::uint32_t width = choice.width(ranks_.ranks_per_host());
  const std::uint32_t count = choice.shards[i].count;
  most_.clear();
  std::uint64_t room = 0;
  std::uint32_t most = 1;
  const auto [begin, stop] = choice.shards[i].places(first, end);
  limit_.spend(1 + (stop - begin) * width);
  for (std::size_t place = begin; place < stop; ++place) {
    const Rank rank = choice.shards[i].ranks[place];
    const std::uint32_t here = most_at(table_choices, choice, i, place);
    if (here == 0) continue;
    most_.push_back(here);
    room += here;
    most = std::max(most, here);
    std::fill_n(here_.begin() + rank, width, std::uint8_t{1});
    for (std::size_t set = 0; set < cheapest_.size(); ++set)
      cheapest_[set] = std::min(cheapest_[set], cost_here_[set]);
  }
  if (room < count) return 0;
  least_ranks_ = (count + most - 1) / most * width;
  for (std::size_t set = 0; set < cheapest_.size(); ++set)
    sums[set] += count * cheapest_[set];
  return num_distributions(count, most_);
}

double ShardPrices::price_choice(const ChoicesOfTable& table_choices, const TableChoice& choice,
                                 PriceSums& least) {
  const std::uint32_t local = ranks_.ranks_per_host();
  const std::uint32_t size = table_choices.reach(choice, local);
  const bool apart = table_choices.distinct_ranks || choice.form == Form::kInOrder;
  double ways = 0;
  std::uint32_t least_ranks = ranks_.size();
  PriceSums here(prices_.size());
  std::fill(here_.begin(), here_.end(), std::uint8_t{0});
  for (Rank first = 0; first + size <= ranks_.size(); first += size) {
    std::fill(here.begin(), here.end(), 0);
    double product = 1;
    std::uint32_t needed = 0;
    for (std::size_t i = 0; i < choice.shards.size() && product > 0; i += choice.width(local)) {
      product *= price_shards(table_choices, choice, i, first, first + size, here);
      needed = apart ? needed + least_ranks_ : std::max(needed, least_ranks_);
    }
    if (product == 0) {
      std::fill_n(here_.begin() + first, size, std::uint8_t{0});
      continue;
    }
    ways += product;
    least_ranks = std::min(least_ranks, needed);
    for (std::size_t set = 0; set < least.size(); ++set)
      least[set] = std::min(least[set], here[set]);
  }
  least_ranks_ = least_ranks;
  return ways;
}

double ShardPrices::price_table(const ChoicesOfTable& table_choices, std::size_t table,
                                PriceSums& least) {
  find_joins(table);
  double ways = 0;
  std::uint32_t least_ranks = ranks_.size();
  for (const TableChoice& choice : table_choices.choices) {
    const double of_choice = price_choice(table_choices, choice, least);
    if (of_choice == 0) continue;
    ways += of_choice;
    least_ranks = std::min(least_ranks, least_ranks_);
    note_useful(table);
  }
  for (const std::size_t group : ranks_.groups_of(table)) {
    const std::uint32_t size = ranks_.groups()[group].ranks_per_place;
    apart_[group].needed += (least_ranks + size - 1) / size;
  }
  return ways;
}

double ShardPrices::price_alone(const ChoicesOfTable& table_choices, PriceSums& least) {
  double ways = 0;
  for (const TableChoice& choice : table_choices.choices)
    ways += price_choice(table_choices, choice, least);
  return ways;
}

// Marks the ranks where the choice priced last can be as useful.
void ShardPrices::note_useful(std::size_t table) {
  const auto add_to = [&](std::vector<std::uint8_t>& useful) {
    for (Rank rank = 0; rank < ranks_.size(); ++rank)
      useful[rank] |= here_[rank];
  };
  add_to(useful_);
  for (const std::size_t group : ranks_.groups_of(table))
    add_to(apart_[group].useful);
}

bool ShardPrices::can_be_apart() const {
  for (std::size_t group = 0; group < apart_.size(); ++group) {
    const RankContents::Group& own = ranks_.groups()[group];
    if (own.together) continue;
    std::uint32_t places = 0;
    for (Rank first = 0; first < ranks_.size(); first += own.ranks_per_place) {
      const auto begin = apart_[group].useful.begin() + first;
      places += std::find(begin, begin + own.ranks_per_place, 1) != begin + own.ranks_per_place;
    }
    if (apart_[group].needed > places) return false;
  }
  return true;
}

}  // namespace shardwright::embedding
