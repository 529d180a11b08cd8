#include "core/embedding/bound/search/tree/tried_states.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardwright::embedding {
namespace {

constexpr Rank kMostRanks = 64;
constexpr std::size_t kMostGroups = 64;
constexpr std::size_t kMostBytes = std::size_t{1} << 25;
constexpr std::size_t kBytesPerState = 64;  // beside the state itself, roughly
constexpr double kSameLoad = 1e-14;

template <class Value>
void append(std::string& bytes, Value value) {
  const auto* const begin = reinterpret_cast<const char*>(&value);
  bytes.append(begin, sizeof value);
}

}  // namespace

TriedStates::TriedStates(const RankContents& ranks, double target, StepLimit& limit)
    : ranks_(ranks), limit_(limit), unit_(target * kSameLoad) {
  if (ranks.size() <= kMostRanks && ranks.groups().size() <= kMostGroups)
    keys_.resize(ranks.size());
}

TriedStates::RankKey TriedStates::key_of(Rank rank, const Outlook& outlook) const {
  RankKey key;
  while (!ranks_.are_of_one_kind(rank, key.kind, outlook.remaining))
    ++key.kind;
  const RankContent& own = ranks_[rank];
  key.load = std::nearbyint(own.load / unit_);
  key.bytes = own.bytes;
  for (std::size_t i = 0; i < ranks_.groups().size(); ++i) {
    const RankContents::Group& group = ranks_.groups()[i];
    if (group.held_here[rank / group.ranks_per_place] > 0 &&
        group.tables.intersects(outlook.remaining))
      key.groups |= std::uint64_t{1} << i;
  }
  return key;
}

// Hosts are few: they are sorted by insertion. Ranks on no host stay behind them.
void TriedStates::sort_keys(const Outlook& outlook) {
  const auto size =
      static_cast<std::ptrdiff_t>(outlook.hosts_matter ? ranks_.ranks_per_host() : ranks_.size());
  auto host = keys_.begin();
  for (; keys_.end() - host >= size; host += size) {
    std::sort(host, host + size);
    for (auto at = host; at != keys_.begin(); at -= size) {
      if (!std::lexicographical_compare(at, at + size, at - size, at)) break;
      std::swap_ranges(at, at + size, at - size);
    }
  }
  std::sort(host, keys_.end());
}

TriedStates::State TriedStates::state(const TableSet& remaining, const Outlook& outlook) {
  State state;
  if (keys_.empty()) return state;
  limit_.spend(keys_.size());
  for (Rank rank = 0; rank < ranks_.size(); ++rank)
    keys_[rank] = key_of(rank, outlook);
  sort_keys(outlook);
  for (const std::uint64_t word : remaining.words())
    append(state, word);
  append(state, std::nearbyint(ranks_.charged() / unit_));
  for (const RankKey& key : keys_) {
    append(state, key.kind);
    append(state, key.load);
    append(state, key.bytes);
    append(state, key.groups);
  }
  return state;
}

void TriedStates::insert(State state) {
  if (state.empty() || bytes_ > kMostBytes) return;
  bytes_ += state.size() + kBytesPerState;
  states_.insert(std::move(state));
}

}  // namespace shardwright::embedding
