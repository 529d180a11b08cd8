#include "core/embedding/rank_worth.h"

#include <algorithm>

#include "core/directed_rounding.h"

namespace shardwright::embedding {
namespace {

constexpr std::size_t kMostWays = 4096;  // of one table on one rank

bool dominates(const Holding& a, const Holding& b) {
  return a.worth >= b.worth && a.load <= b.load && a.hbm_bytes <= b.hbm_bytes &&
         a.ddr_bytes <= b.ddr_bytes;
}

Holding together(const Holding& a, const Holding& b) {
  return {add_up(a.worth, b.worth), add_down(a.load, b.load), a.hbm_bytes + b.hbm_bytes,
          a.ddr_bytes + b.ddr_bytes};
}

}  // namespace

bool is_on_all_ranks(const ShardingOption& option, const Topology& topology) {
  return option.num_shards() == topology.world_size() &&
         (option.partition_by() == PartitionBy::kUniform ||
          (topology.num_hosts() == 1 && option.sharding_type == ShardingType::kTableRowWise));
}

bool fills_hosts(const ShardingOption& option, const Topology& topology) {
  return !is_on_all_ranks(option, topology) &&
         (option.partition_by() == PartitionBy::kMultiHost ||
          option.sharding_type == ShardingType::kTableRowWise);
}

bool is_free(const ShardingOption& option, const Topology& topology) {
  if (is_on_all_ranks(option, topology) || fills_hosts(option, topology)) return false;
  return option.partition_by() == PartitionBy::kDevice || topology.num_hosts() == 1 ||
         option.num_shards() == 1;
}

Holding lesser(const Holding& a, const Holding& b) {
  return {a.worth, std::min(a.load, b.load), std::min(a.hbm_bytes, b.hbm_bytes),
          std::min(a.ddr_bytes, b.ddr_bytes)};
}

bool RankWorth::fits(const Holding& held) const {
  return held.load <= target_ && held.hbm_bytes <= room_.hbm.value() &&
         held.ddr_bytes <= room_.ddr.value();
}

double RankWorth::gain(const Holding& held) const {
  double taken = multiply_down(prices_.load, held.load);
  taken = add_down(taken, multiply_down(prices_.hbm, static_cast<double>(held.hbm_bytes)));
  taken = add_down(taken, multiply_down(prices_.ddr, static_cast<double>(held.ddr_bytes)));
  return add_up(held.worth, -taken);
}

bool RankWorth::add(const std::vector<Holding>& runs, const std::vector<std::uint32_t>& counts) {
  std::vector<Holding> ways{Holding{}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t before = ways.size();
    for (std::size_t w = 0; w < before; ++w) {
      Holding more = ways[w];
      for (std::uint32_t k = 0; k < counts[i]; ++k) {
        more = together(more, runs[i]);
        if (!fits(more)) break;
        ways.push_back(more);
        if (ways.size() > kMostWays) return false;
      }
    }
  }
  Table& table = tables_.back();
  for (std::size_t w = 1; w < ways.size(); ++w) {
    if (ways[w].worth <= 0) continue;
    table.ways.push_back({ways[w], gain(ways[w])});
    table.best_gain = std::max(table.best_gain, table.ways.back().gain);
  }
  return true;
}

RankWorth::Answer RankWorth::check(double most, std::uint64_t& work_left) {
  // What promises most comes first, so that what is left bounds the labels closely early on.
  std::stable_sort(tables_.begin(), tables_.end(),
                   [](const Table& a, const Table& b) { return a.best_gain > b.best_gain; });
  double rest = multiply_up(prices_.load, target_);
  rest = add_up(
      rest,
      multiply_up(prices_.hbm, static_cast<double>(std::max<std::int64_t>(0, room_.hbm.value()))));
  rest = add_up(
      rest,
      multiply_up(prices_.ddr, static_cast<double>(std::max<std::int64_t>(0, room_.ddr.value()))));
  std::vector<double> rests(tables_.size() + 1, rest);  // room at its prices, and the gains to come
  for (std::size_t t = tables_.size(); t-- > 0;)
    rests[t] = add_up(rests[t + 1], tables_[t].best_gain);

  labels_.assign(1, Label{});
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    extend(tables_[t], rests[t + 1], most, work_left);
    if (work_left == 0) return Answer::kGivenUp;
  }
  const bool exceeded = std::any_of(labels_.begin(), labels_.end(),
                                    [&](const Label& label) { return label.held.worth > most; });
  return exceeded ? Answer::kExceeded : Answer::kHolds;
}

// Every label with and without each way of the table. `rest` is what may still be gained beyond it.
void RankWorth::extend(const Table& table, double rest, double most, std::uint64_t& work_left) {
  next_.clear();
  const auto keep = [&](const Label& label) {
    if (add_up(label.gain, rest) > most) next_.push_back(label);
  };
  for (const Label& label : labels_) {
    const std::uint64_t steps = table.ways.size() + 1;
    work_left -= std::min(work_left, steps);
    if (work_left == 0) return;
    keep(label);
    for (const Label& way : table.ways) {
      const Label more{together(label.held, way.held), add_up(label.gain, way.gain)};
      if (fits(more.held)) keep(more);
    }
  }
  labels_.swap(next_);
  drop_dominated();
}

void RankWorth::drop_dominated() {
  constexpr std::size_t kCompared = 64;  // to how many kept ones before it
  std::sort(labels_.begin(), labels_.end(), [](const Label& a, const Label& b) {
    if (a.held.load != b.held.load) return a.held.load < b.held.load;
    return a.held.worth > b.held.worth;
  });
  next_.clear();
  for (const Label& label : labels_) {
    const std::size_t from = next_.size() > kCompared ? next_.size() - kCompared : 0;
    const bool dominated =
        std::any_of(next_.begin() + static_cast<std::ptrdiff_t>(from), next_.end(),
                    [&](const Label& other) { return dominates(other.held, label.held); });
    if (!dominated) next_.push_back(label);
  }
  labels_.swap(next_);
}

}  // namespace shardwright::embedding
