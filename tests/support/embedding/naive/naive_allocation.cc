#include "tests/support/embedding/naive/naive_allocation.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace shardwright::test_support {

using namespace embedding;

namespace {

struct Held {
  double load = 0;
  Storage storage;
};

class EveryAllocation {
 public:
  explicit EveryAllocation(const ChoiceModel& model) : model_(model), ranks_(model.world_size()) {}

  std::optional<double> least() {
    place_table(0);
    return least_;
  }

 private:
  void place_table(std::size_t table) {
    if (table == model_.num_tables()) return rate();
    for (const Choice& choice : model_.choices(table)) {
      std::vector<Held> shards;
      for (const ChoiceRun& run : model_.runs(choice))
        shards.insert(shards.end(), run.count, Held{run.load, run.storage});
      place_shard(table, choice, shards, 0, 0);
    }
  }

  // Tries all ranks for shard i and the shards after it. `before` is the rank of shard i - 1.
  void place_shard(std::size_t table, const Choice& choice, const std::vector<Held>& shards,
                   std::size_t i, Rank before) {
    if (i == shards.size()) {
      if (groups_obeyed()) place_table(table + 1);
      return;
    }
    const PlacementRules& rules = model_.rules();
    const TableId id = model_.table(table);
    const RankSet* const own = rules.allowed(id, static_cast<std::uint32_t>(i));
    const std::uint32_t local = model_.local_world_size();
    for (Rank rank = 0; rank < ranks_.size(); ++rank) {
      const bool begins = i % local == 0;
      bool allowed = true;
      if (choice.reach == Reach::kAllRanks) allowed = rank == i;
      if (choice.reach == Reach::kHost) allowed = i == 0 || rank / local == before / local;
      if (choice.reach == Reach::kWholeHosts)
        allowed = begins ? rank % local == 0 : rank == before + 1;
      if (own != nullptr && !own->contains(rank)) allowed = false;
      for (const auto& [other, there] : placed_)
        allowed = allowed && !(rules.distinct_ranks(id) && other == id && there == rank);
      if (!allowed) continue;
      const Held saved = ranks_[rank];
      ranks_[rank].load += shards[i].load;
      ranks_[rank].storage += shards[i].storage;
      placed_.emplace_back(id, rank);
      place_shard(table, choice, shards, i + 1, rank);
      placed_.pop_back();
      ranks_[rank] = saved;
    }
  }

  // Checks every pair of placed shards against every keep_together and keep_apart group.
  bool groups_obeyed() const {
    for (const PlacementRules::Group& group : model_.rules().groups()) {
      const auto in = [&](TableId id) {
        return std::find(group.tables.begin(), group.tables.end(), id) != group.tables.end();
      };
      const std::uint32_t local = group.on == GroupScope::kRank ? 1 : model_.local_world_size();
      for (const auto& [a, rank_a] : placed_) {
        for (const auto& [b, rank_b] : placed_) {
          if (!in(a) || !in(b)) continue;
          const bool same = rank_a / local == rank_b / local;
          if (group.together ? !same : same && a != b) return false;
        }
      }
    }
    return true;
  }

  void rate() {
    double rating = 0;
    for (Rank rank = 0; rank < ranks_.size(); ++rank) {
      const Held& held = ranks_[rank];
      if (held.storage != Storage() && !held.storage.fits_in(model_.room()[rank])) return;
      rating = std::max(rating, held.load * model_.time_scale(rank));
    }
    if (!least_ || rating < *least_) least_ = rating;
  }

  const ChoiceModel& model_;
  std::vector<Held> ranks_;
  std::vector<std::pair<TableId, Rank>> placed_;
  std::optional<double> least_;
};

}  // namespace

std::optional<double> least_rating(const ChoiceModel& model) {
  return EveryAllocation(model).least();
}

}  // namespace shardwright::test_support
