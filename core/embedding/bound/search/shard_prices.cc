#include "core/embedding/bound/search/shard_prices.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace shardwright::embedding {
namespace {

// Relative to all that the ranks are worth. Far above the rounding of sums over ranks and tables,
// far below kRatingSlack.
constexpr double kSumSlack = 1e-11;

}  // namespace

ShardPrices::ShardPrices(const RankContents& ranks, double target, std::vector<RankPriceSet> prices,
                         std::uint64_t& work)
    : ranks_(ranks),
      target_(target),
      prices_(std::move(prices)),
      work_(work),
      joins_(ranks.size(), 1),
      useful_(ranks.size(), 1) {
  slack_ = worth_of_useful();
  for (double& slack : slack_)
    slack *= kSumSlack;
}

double ShardPrices::worth(std::size_t set, Rank rank) const {
  const CapacityMultipliers& own = prices_[set][rank];
  return own.load * (target_ - ranks_[rank].load) / ranks_.scale(rank) +
         own.hbm * std::max(ranks_.free_hbm(rank), 0.0) +
         own.ddr * std::max(ranks_.free_ddr(rank), 0.0);
}

PriceSums ShardPrices::worth_of_useful() const {
  PriceSums sums(prices_.size(), 0);
  for (Rank rank = 0; rank < ranks_.size(); ++rank) {
    for (std::size_t set = 0; set < sums.size() && useful_[rank] != 0; ++set)
      sums[set] += worth(set, rank);
  }
  return sums;
}

bool ShardPrices::is_too_much(const PriceSums& needed, const PriceSums& left) const {
  for (std::size_t set = 0; set < needed.size(); ++set) {
    if (needed[set] > left[set] + slack_[set]) return true;
  }
  return false;
}

void ShardPrices::begin() { std::fill(useful_.begin(), useful_.end(), std::uint8_t{0}); }

void ShardPrices::find_joins(std::size_t table) {
  for (Rank rank = 0; rank < ranks_.size(); ++rank)
    joins_[rank] = ranks_.may_join(rank, table) ? 1 : 0;
}

// At most how many of the equal shards fit on the rank. Precondition: one does.
std::uint32_t ShardPrices::most_on(Rank rank, const EqualShards& shards, bool distinct) const {
  double most = distinct ? 1 : shards.count;
  const auto limit = [&](double room, double each) {
    if (each > 0) most = std::min(most, room / each * (1 + kSumSlack));
  };
  limit(target_ - ranks_[rank].load, shards.load * ranks_.scale(rank));
  limit(ranks_.free_hbm(rank), shards.hbm);
  limit(ranks_.free_ddr(rank), shards.ddr);
  return static_cast<std::uint32_t>(std::max(most, 1.0));
}

double ShardPrices::price_shards(const ChoicesOfTable& own, const EqualShards& shards, Rank first,
                                 Rank end, PriceSums& sums) {
  cheapest_.assign(prices_.size(), std::numeric_limits<double>::infinity());
  std::uint32_t places = 0;
  std::uint64_t room = 0;
  work_ -= std::min<std::uint64_t>(work_, end - first);
  for (Rank rank = first; rank < end; ++rank) {
    if (shards.ranks[rank] == 0 || joins_[rank] == 0 || !ranks_.has_room(rank, shards, target_))
      continue;
    ++places;
    room += shards.count == 1 ? 1 : most_on(rank, shards, own.distinct_ranks);
    useful_[rank] = 1;
    for (std::size_t set = 0; set < cheapest_.size(); ++set)
      cheapest_[set] = std::min(cheapest_[set], cost(set, rank, shards));
  }
  if (room < shards.count) return 0;
  for (std::size_t set = 0; set < cheapest_.size(); ++set)
    sums[set] += shards.count * cheapest_[set];
  double ways = 1;
  for (std::uint32_t i = 1; i < places; ++i)
    ways *= (static_cast<double>(shards.count) + i) / i;
  return ways;
}

double ShardPrices::price_choice(const ChoicesOfTable& own, const TableChoice& choice,
                                 PriceSums& least) {
  const std::uint32_t local = ranks_.ranks_per_host();
  const std::uint32_t size = choice.form == Form::kOneHost ? local : ranks_.size();
  double ways = 0;
  PriceSums here(prices_.size());
  for (Rank first = 0; first < ranks_.size(); first += size) {
    std::fill(here.begin(), here.end(), 0);
    double product = 1;
    for (std::size_t i = 0; i < choice.shards.size() && product > 0; ++i) {
      const double of_shards = price_shards(own, choice.shards[i], first, first + size, here);
      const bool follows = choice.form == Form::kWholeHosts && i % local != 0 && of_shards > 0;
      product *= follows ? 1 : of_shards;
    }
    ways += product;
    for (std::size_t set = 0; set < least.size() && product > 0; ++set)
      least[set] = std::min(least[set], here[set]);
  }
  return ways;
}

double ShardPrices::price_table(const ChoicesOfTable& own, std::size_t table, PriceSums& least) {
  find_joins(table);
  double ways = 0;
  for (const TableChoice& choice : own.choices)
    ways += price_choice(own, choice, least);
  return ways;
}

}  // namespace shardwright::embedding
