#include "search/embedding/model/rank_state/rank_loads.h"

#include <limits>

namespace shardwright::embedding {
namespace {

// The journal starts with space for this many changes per rank: replacing one table on all ranks by
// another changes every rank twice.
constexpr std::size_t kReservedChanges = 4;

}  // namespace

RankLoads::RankLoads(const ChoiceModel& model)
    : model_(&model),
      scales_(model.time_scale()),
      rules_(model),
      ranks_(model.world_size()),
      bar_(std::numeric_limits<double>::infinity()) {
  double hbm = 0;
  double ddr = 0;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const Storage& room = model.room()[rank];
    ranks_[rank].hbm_capacity = room.hbm.value();
    ranks_[rank].ddr_capacity = room.ddr.value();
    hbm += static_cast<double>(std::max<std::int64_t>(room.hbm.value(), 0));
    ddr += static_cast<double>(std::max<std::int64_t>(room.ddr.value(), 0));
  }
  mean_hbm_ = std::max(hbm / static_cast<double>(ranks_.size()), 1.0);
  mean_ddr_ = std::max(ddr / static_cast<double>(ranks_.size()), 1.0);
  journal_.reserve(kReservedChanges * ranks_.size());
}

double RankLoads::memory_energy(const RankLoad& at, std::int64_t hbm, std::int64_t ddr) const {
  if (hbm == 0 && ddr == 0) return 0;  // a rank that holds nothing fits anywhere
  return hbm_weight_ * static_cast<double>(std::max<std::int64_t>(hbm - at.hbm_capacity, 0)) +
         ddr_weight_ * static_cast<double>(std::max<std::int64_t>(ddr - at.ddr_capacity, 0));
}

void RankLoads::clear_ranks() {
  journal_.clear();
  rules_.clear();
  for (RankLoad& at : ranks_)
    at.clear();
}

void RankLoads::fill(Rank rank, const ShardUse& use) {
  ranks_[rank].change(1, scaled(rank, use.load), use.hbm_bytes, use.ddr_bytes);
  if (use.table != ShardUse::kUnruled) rules_.change(1, use.table, use.shard, rank, 0);
}

void RankLoads::end_filling() {
  rules_.keep();
  refresh();
}

void RankLoads::refresh() {
  bad_ = 0;
  slope_ = 0;
  for (Rank rank = 0; rank < ranks_.size(); ++rank) {
    RankLoad& at = ranks_[rank];
    at.slope = scaled(rank, slope_of(at.load));
    slope_ += at.slope;
    at.energy = energy_of(at, at.load, at.hbm_bytes, at.ddr_bytes);
    at.bad = is_bad(at);
    bad_ += at.bad ? 1U : 0U;
  }
}

void RankLoads::set_goal(const Goal& goal) {
  goal_ = goal;
  inverse_scale_ = goal.scale > 0 ? 1 / goal.scale : 1;
  hbm_weight_ = goal.memory_weight / mean_hbm_;
  ddr_weight_ = goal.memory_weight / mean_ddr_;
  refresh();
}

void RankLoads::set_bar(double bar) {
  bar_ = bar;
  refresh();
}

double RankLoads::max_load() const {
  double most = 0;
  for (const RankLoad& at : ranks_)
    most = std::max(most, at.load);
  return most;
}

std::int64_t RankLoads::peak_hbm() const {
  std::int64_t most = 0;
  for (const RankLoad& at : ranks_)
    most = std::max(most, at.hbm_bytes);
  return most;
}

double RankLoads::change(Rank rank, int sign, const ShardUse& use) {
  RankLoad& at = ranks_[rank];
  journal_.push_back({rank, at});
  at.change(sign, scaled(rank, use.load), use.hbm_bytes, use.ddr_bytes);
  const double before = at.energy;
  at.energy = energy_of(at, at.load, at.hbm_bytes, at.ddr_bytes);
  slope_ -= at.slope;
  at.slope = scaled(rank, slope_of(at.load));
  slope_ += at.slope;
  const bool bad = is_bad(at);
  bad_ += (bad ? 1U : 0U) - (at.bad ? 1U : 0U);
  at.bad = bad;
  const double gained = at.energy - before;
  if (use.table == ShardUse::kUnruled) [[likely]]
    return gained;
  const int more = rules_.change(sign, use.table, use.shard, rank, journal_.size() - 1);
  return gained + goal_.rule_weight * more;
}

double RankLoads::change_everywhere(int sign, const Choice& choice) {
  double gained = 0;
  Rank rank = 0;
  for (const ChoiceRun& run : model().runs(choice)) {
    const ShardUse use{run.load, run.hbm_bytes, run.ddr_bytes};
    for (std::uint32_t k = 0; k < run.count; ++k)
      gained += change(rank++, sign, use);
  }
  return gained;
}

std::int64_t RankLoads::tentative_peak_hbm() const {
  std::int64_t most = 0;
  for (const Saved& saved : journal_)
    most = std::max(most, ranks_[saved.rank].hbm_bytes);
  return most;
}

void RankLoads::take_back(std::size_t count) {
  while (journal_.size() > count) {
    const Saved& saved = journal_.back();
    RankLoad& at = ranks_[saved.rank];
    bad_ += (saved.load.bad ? 1U : 0U) - (at.bad ? 1U : 0U);
    slope_ += saved.load.slope - at.slope;
    at = saved.load;
    journal_.pop_back();
  }
  rules_.take_back(count);
}

}  // namespace shardwright::embedding
