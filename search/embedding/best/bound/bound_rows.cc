#include "search/embedding/best/bound/bound_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace shardwright::embedding {

bool BoundRows::can_part_hosts(const ChoiceModel& model) {
  return model.num_hosts() > 1 && model.num_hosts() <= kMostHosts &&
         std::any_of(model.choices().begin(), model.choices().end(), [&](const Choice& choice) {
           return choice.reach == Reach::kHost || (choice.reach == Reach::kWholeHosts &&
                                                   choice.num_shards == model.local_world_size());
         });
}

BoundRows::BoundRows(const ChoiceModel& model, bool part_hosts) : model_(&model) {
  make_classes(part_hosts);
  first_row_.push_back(0);
  for (std::uint32_t choice = 0; choice < model.choices().size(); ++choice) {
    add_rows(choice);
    first_row_.push_back(static_cast<std::uint32_t>(rows_.size()));
  }
}

void BoundRows::make_classes(bool part_hosts) {
  const std::span<const Storage> room = model_->room();
  std::map<std::pair<Storage, double>, std::uint64_t> rooms;
  const auto kind = [&](std::size_t rank) {
    return std::pair(room[rank], model_->time_scale(static_cast<Rank>(rank)));
  };
  for (std::size_t rank = 0; rank < room.size(); ++rank)
    rooms.try_emplace(kind(rank), rooms.size());
  std::vector<std::uint64_t> signature(room.size(), 0);
  if (rooms.size() <= kMostClasses) {
    for (std::size_t rank = 0; rank < room.size(); ++rank)
      signature[rank] = rooms[kind(rank)];
  }
  if (part_hosts) {
    for (std::size_t rank = 0; rank < room.size(); ++rank)
      signature[rank] = signature[rank] * model_->num_hosts() + rank / model_->local_world_size();
  }
  split_by_load(signature);
  std::map<std::uint64_t, std::uint32_t> number;
  for (std::size_t rank = 0; rank < room.size(); ++rank) {
    const auto [found, added] =
        number.try_emplace(signature[rank], static_cast<std::uint32_t>(classes_.size()));
    const double scale = model_->time_scale(static_cast<Rank>(rank));
    if (added) classes_.push_back({0, {}, scale});
    RankClass& own = classes_[found->second];
    own.scale = std::min(own.scale, scale);
    ++own.size;
    own.room.hbm = std::max(own.room.hbm, room[rank].hbm);
    own.room.ddr = std::max(own.room.ddr, room[rank].ddr);
    class_of_rank_.push_back(found->second);
  }
  for (std::size_t c = 0; c < classes_.size(); ++c)
    class_places_.push_back(Zone{1} << c);
  host_places_.assign(part_hosts ? model_->num_hosts() : 0, 0);
  for (std::size_t rank = 0; rank < room.size() && part_hosts; ++rank)
    host_places_[rank / model_->local_world_size()] |= Zone{1} << class_of_rank_[rank];
}

std::span<const Zone> BoundRows::places(std::uint32_t index) const {
  const Choice& choice = model_->choices()[index];
  if (choice.reach == Reach::kDevice && choice.num_shards == 1) return class_places_;
  if (choice.reach == Reach::kHost ||
      (choice.reach == Reach::kWholeHosts && choice.num_shards == model_->local_world_size())) {
    return host_places_;
  }
  return {};
}

// Cuts the ranks where neighbours differ in the load of a choice that is on all of them, the
// largest differences first, while there are few classes.
void BoundRows::split_by_load(std::vector<std::uint64_t>& signature) const {
  constexpr double kMatters = 1e-3;      // of the larger load
  std::map<std::uint32_t, double> cuts;  // rank at which a run begins -> largest difference
  for (const Choice& choice : model_->choices()) {
    if (choice.reach != Reach::kAllRanks) continue;
    const std::span<const ChoiceRun> runs = model_->runs(choice);
    std::uint32_t rank = 0;
    for (std::size_t run = 0; run + 1 < runs.size(); ++run) {
      rank += runs[run].count;
      const double difference = std::abs(runs[run].load - runs[run + 1].load);
      if (difference > kMatters * std::max(runs[run].load, runs[run + 1].load))
        cuts[rank] = std::max(cuts[rank], difference);
    }
  }
  std::vector<std::pair<double, std::uint32_t>> largest;
  for (const auto& [rank, difference] : cuts)
    largest.emplace_back(-difference, rank);
  std::sort(largest.begin(), largest.end());
  const auto count = [&] {
    std::vector<std::uint64_t> values = signature;
    std::sort(values.begin(), values.end());
    return static_cast<std::size_t>(std::unique(values.begin(), values.end()) - values.begin());
  };
  for (const auto& [difference, rank] : largest) {
    const std::vector<std::uint64_t> before = signature;
    for (std::size_t r = 0; r < signature.size(); ++r)
      signature[r] = 2 * signature[r] + (r >= rank ? 1 : 0);
    if (count() > kMostClasses * kMostHosts / 2) {
      signature = before;
      return;
    }
    // Numbers stay small: their order is all that counts.
    std::vector<std::uint64_t> values = signature;
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    for (std::uint64_t& value : signature) {
      value = static_cast<std::uint64_t>(std::lower_bound(values.begin(), values.end(), value) -
                                         values.begin());
    }
  }
}

void BoundRows::add_rows(std::uint32_t index) {
  const Choice& choice = model_->choices()[index];
  const std::span<const ChoiceRun> runs = model_->runs(choice);
  const auto lessen = [](BoundRow& row, const ChoiceRun& run) {
    row.load = std::min(row.load, run.load);
    row.hbm_bytes = std::min(row.hbm_bytes, run.hbm_bytes);
    row.ddr_bytes = std::min(row.ddr_bytes, run.ddr_bytes);
  };
  const auto row_of = [&](std::uint32_t run, std::uint32_t need, std::uint32_t most) {
    return BoundRow{
        index, run, false, need, most, runs[run].load, runs[run].hbm_bytes, runs[run].ddr_bytes};
  };
  switch (choice.reach) {
    case Reach::kAllRanks: {
      std::vector<BoundRow> by_class(classes_.size());
      std::uint32_t rank = 0;
      for (std::uint32_t run = 0; run < runs.size(); ++run) {
        for (std::uint32_t k = 0; k < runs[run].count; ++k) {
          const std::uint32_t c = class_of_rank_[rank++];
          if (by_class[c].need == 0) {
            by_class[c] = row_of(run, classes_[c].size, 1);
            by_class[c].run = c;
            by_class[c].in_class = true;
          }
          lessen(by_class[c], runs[run]);
        }
      }
      rows_.insert(rows_.end(), by_class.begin(), by_class.end());
      break;
    }
    case Reach::kWholeHosts: {
      BoundRow row = row_of(0, choice.num_shards, choice.num_shards / model_->local_world_size());
      for (const ChoiceRun& run : runs)
        lessen(row, run);
      rows_.push_back(row);
      break;
    }
    case Reach::kHost:
    case Reach::kDevice:
      for (std::uint32_t run = 0; run < runs.size(); ++run) {
        if (runs[run].count > 0) rows_.push_back(row_of(run, runs[run].count, runs[run].count));
      }
      break;
  }
}

bool BoundRows::is_possible(std::uint32_t choice, double target) const {
  double most = 0;
  for (std::uint32_t c = 0; c < classes_.size(); ++c)
    most = std::max(most, limit(c, target));
  if (model_->choices()[choice].max_load >= most) return false;
  for (const BoundRow& row : rows_of(choice)) {
    bool somewhere = false;
    for (std::uint32_t c = 0; c < classes_.size() && !somewhere; ++c)
      somewhere = fits(row, c) && row.load < limit(c, target);
    if (!somewhere) return false;
  }
  return true;
}

}  // namespace shardwright::embedding
