#include "search/embedding/best/whole/whole_state.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <span>

namespace shardwright::embedding {
namespace {

// Loads that differ by less, relative to the least rating, are the same but for the order of
// summation. Even one such difference per table is less than WholeSearch::kLeastGain.
constexpr double kSameLoad = 1e-14;
constexpr double kTiniestLoad = 1e-300;

}  // namespace

WholeState::WholeState(const WholeModel& model)
    : model_(&model),
      ranks_(model.num_ranks()),
      apart_(std::size_t{model.num_ranks()} * model.num_ranks()),
      least_load_(std::max(model.context().bound() * kSameLoad, kTiniestLoad)),
      keys_(model.num_ranks()) {
  for (Rank rank = 0; rank < model.num_ranks(); ++rank) {
    capacity_.push_back(as_doubles(model.model().room()[rank]));
    scale_.push_back(model.model().time_scale(rank));
  }
  tell_ranks_apart();
  if (model.model().is_one_host()) return;
  for (std::size_t t = 0; t < model.tables().size(); ++t) {
    const WholeTable& table = model.tables()[t];
    for (std::uint32_t c = table.first_choice; c < table.end_choice; ++c) {
      const Reach reach = model.choices()[c].reach;
      if (reach == Reach::kHost || reach == Reach::kWholeHosts) on_hosts_ |= std::uint64_t{1} << t;
    }
  }
}

// What the table may do on the rank, and what the rank is.
std::vector<double> WholeState::signature(const WholeTable& table, Rank rank) const {
  const PerTier<double>& capacity = capacity_[rank];
  std::vector<double> own{capacity.hbm, capacity.ddr, capacity.ssd, scale_[rank]};
  const std::uint32_t local = model_->ranks_per_host();
  for (std::uint32_t c = table.first_choice; c < table.end_choice; ++c) {
    const WholeChoice& choice = model_->choices()[c];
    for (std::uint32_t p = choice.first_piece; p < choice.end_piece; ++p) {
      const std::uint32_t shard = p - choice.first_piece;
      if (choice.reach == Reach::kAllRanks && rank != shard) continue;
      if (choice.reach == Reach::kWholeHosts && rank % local != shard % local) continue;
      const WholePiece& piece = model_->pieces()[p];
      own.push_back(model_->allows(p, rank) ? 1 : 0);
      own.push_back(piece.load);
      own.insert(own.end(), {piece.bytes.hbm, piece.bytes.ddr, piece.bytes.ssd});
    }
  }
  return own;
}

void WholeState::tell_ranks_apart() {
  const std::size_t size = ranks_.size();
  std::vector<std::uint32_t> number_of(size);
  for (std::size_t t = 0; t < model_->tables().size(); ++t) {
    std::map<std::vector<double>, std::uint32_t> number;
    for (Rank rank = 0; rank < size; ++rank) {
      const auto next = static_cast<std::uint32_t>(number.size());
      number_of[rank] =
          number.try_emplace(signature(model_->tables()[t], rank), next).first->second;
    }
    for (Rank a = 0; a < size; ++a) {
      for (Rank b = 0; b < size; ++b) {
        if (number_of[a] != number_of[b]) apart_[a * size + b] |= std::uint64_t{1} << t;
      }
    }
  }
}

void WholeState::find_open(std::size_t table, std::uint64_t decided,
                           std::vector<std::uint8_t>& open) const {
  open.assign(ranks_.size(), 1);
  for (const WholeModel::Group& group : model_->groups()) {
    const std::uint64_t others = group.tables & decided;
    if ((group.tables >> table & 1) == 0 || others == 0) continue;
    const std::uint32_t size = group.ranks_per_place;
    for (Rank first = 0; first < ranks_.size(); first += size) {
      bool present = false;
      for (Rank rank = first; rank < first + size; ++rank)
        present = present || (ranks_[rank].tables & others) != 0;
      if (present != group.together) std::fill_n(open.begin() + first, size, std::uint8_t{0});
    }
  }
}

WholeState::Future WholeState::future(std::size_t now, std::uint64_t remaining) const {
  Future future{remaining, 0, do_hosts_matter(remaining)};
  for (const WholeModel::Group& group : model_->groups()) {
    if ((group.tables & remaining) != 0) future.relevant |= group.tables;
  }
  if (model_->tables()[now].distinct) future.relevant |= std::uint64_t{1} << now;
  return future;
}

bool WholeState::are_twins(const Future& future, Rank a, Rank b) const {
  if (!hold_the_same(future, a, b)) return false;
  const std::uint32_t local = model_->ranks_per_host();
  if (a / local == b / local || !future.hosts_matter) return true;
  return are_twin_hosts(future, a / local, b / local);
}

// The ranks of one host match those of the other in some order.
bool WholeState::are_twin_hosts(const Future& future, std::uint32_t a, std::uint32_t b) const {
  const std::uint32_t local = model_->ranks_per_host();
  if (std::max(a, b) >= model_->model().num_hosts()) return false;
  std::uint64_t matched = 0;
  for (std::uint32_t i = 0; i < local; ++i) {
    bool found = false;
    for (std::uint32_t k = 0; k < local && !found; ++k) {
      found = (matched >> k & 1) == 0 && hold_the_same(future, a * local + i, b * local + k);
      if (found) matched |= std::uint64_t{1} << k;
    }
    if (!found) return false;
  }
  return true;
}

// Which groups of remaining tables have a table on the rank.
std::uint64_t WholeState::groups_on(Rank rank, std::uint64_t remaining) const {
  constexpr std::size_t kBits = 64;
  const std::span<const WholeModel::Group> groups = model_->groups();
  if (groups.size() > kBits) return ranks_[rank].tables;
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if ((groups[i].tables & remaining) != 0 && (groups[i].tables & ranks_[rank].tables) != 0)
      bits |= std::uint64_t{1} << i;
  }
  return bits;
}

void WholeState::add_to(WholeDigest& digest, std::uint64_t remaining) {
  const auto size = static_cast<Rank>(ranks_.size());
  for (Rank rank = 0; rank < size; ++rank) {
    RankKey& key = keys_[rank];
    key.kind = 0;
    while ((apart_[rank * size + key.kind] & remaining) != 0)
      ++key.kind;
    key.groups = groups_on(rank, remaining);
    key.load = std::nearbyint(ranks_[rank].load / least_load_);
    key.bytes = ranks_[rank].bytes;
  }
  const Rank local = do_hosts_matter(remaining) ? model_->ranks_per_host() : size;
  const auto host = [&](Rank first) { return keys_.begin() + first; };
  for (Rank first = 0; first < size; first += local)
    std::sort(host(first), host(std::min(first + local, size)));
  sort_hosts(local);
  for (const RankKey& key : keys_) {
    digest.add(key.kind);
    digest.add(key.groups);
    digest.add(std::bit_cast<std::uint64_t>(key.load));
    for (const MemoryTier tier : model_->model().tiers())
      digest.add(std::bit_cast<std::uint64_t>(key.bytes[tier]));
  }
}

// By insertion: they are few. Ranks on no host stay behind them.
void WholeState::sort_hosts(std::uint32_t local) {
  for (auto own = keys_.begin(); keys_.end() - own >= local; own += local) {
    for (auto at = own; at != keys_.begin(); at -= local) {
      if (!std::lexicographical_compare(at, at + local, at - local, at)) break;
      std::swap_ranges(at, at + local, at - local);
    }
  }
}

bool WholeState::do_hosts_matter(std::uint64_t remaining) const {
  if ((on_hosts_ & remaining) != 0) return true;
  const std::span<const WholeModel::Group> groups = model_->groups();
  return model_->model().num_hosts() > 1 &&
         std::any_of(groups.begin(), groups.end(), [&](const WholeModel::Group& group) {
           return group.ranks_per_place > 1 && (group.tables & remaining) != 0;
         });
}

}  // namespace shardwright::embedding
