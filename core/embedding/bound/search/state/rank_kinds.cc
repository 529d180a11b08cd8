#include "core/embedding/bound/search/state/rank_kinds.h"

#include <algorithm>
#include <map>
#include <utility>

namespace shardwright::embedding {
namespace {

// What a table may put on a rank.
using Signature = std::vector<double>;

std::vector<Signature> signatures(const ChoicesOfTable& table, std::size_t ranks,
                                  std::uint32_t ranks_per_host) {
  std::vector<Signature> all(ranks);
  for (std::size_t c = 0; c < table.choices.size(); ++c) {
    const TableChoice& choice = table.choices[c];
    for (std::size_t i = 0; i < choice.shards.size(); ++i) {
      const EqualShards& shards = choice.shards[i];
      // Shard i of an option in rank order is to one rank what shard j is to another, and the same
      // holds for the shards of a block. Other shards may be on any rank.
      std::size_t number = i;
      if (choice.form == Form::kInOrder) number = 0;
      if (choice.form == Form::kWholeHosts) number = i / ranks_per_host;
      for (std::size_t place = 0; place < shards.ranks.size(); ++place) {
        Signature& own = all[shards.ranks[place]];
        own.insert(own.end(),
                   {static_cast<double>(c), static_cast<double>(number), shards.load,
                    shards.bytes.hbm, shards.bytes.ddr, shards.bytes.ssd, shards.charge(place)});
      }
    }
  }
  return all;
}

// Numbers equal values alike.
template <class Value>
std::vector<std::uint32_t> numbered(const std::vector<Value>& values) {
  std::map<Value, std::uint32_t> known;
  std::vector<std::uint32_t> numbers;
  numbers.reserve(values.size());
  for (const Value& value : values)
    numbers.push_back(
        known.try_emplace(value, static_cast<std::uint32_t>(known.size())).first->second);
  return numbers;
}

std::vector<std::uint32_t> kinds_of(const std::vector<RankTraits>& traits) {
  std::vector<Signature> values;
  values.reserve(traits.size());
  for (const RankTraits& own : traits)
    values.push_back({own.bytes.hbm, own.bytes.ddr, own.bytes.ssd, own.scale});
  return numbered(values);
}

}  // namespace

RankKinds::RankKinds(const std::vector<RankTraits>& traits, std::uint32_t ranks_per_host,
                     const std::vector<ChoicesOfTable>& tables)
    : kind_(kinds_of(traits)) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> both(kind_.size());
  for (const ChoicesOfTable& table : tables) {
    const std::vector<std::uint32_t> own =
        numbered(signatures(table, kind_.size(), ranks_per_host));
    for (std::size_t rank = 0; rank < kind_.size(); ++rank)
      both[rank] = {kind_[rank], own[rank]};
    kind_ = numbered(both);
  }
  num_kinds_ = *std::max_element(kind_.begin(), kind_.end()) + std::size_t{1};
  tell_apart(traits, ranks_per_host, tables);
}

void RankKinds::tell_apart(const std::vector<RankTraits>& traits, std::uint32_t ranks_per_host,
                           const std::vector<ChoicesOfTable>& tables) {
  constexpr std::size_t kMostKinds = 256;
  if (num_kinds_ == 1 || num_kinds_ > kMostKinds) return;
  std::vector<std::size_t> first(num_kinds_);  // rank of each kind
  for (std::size_t rank = kind_.size(); rank > 0; --rank)
    first[kind_[rank - 1]] = rank - 1;
  told_apart_by_.assign(num_kinds_ * num_kinds_, TableSet(tables.size()));
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const std::vector<Signature> own = signatures(tables[t], kind_.size(), ranks_per_host);
    for (std::size_t a = 0; a < num_kinds_; ++a) {
      for (std::size_t b = 0; b < num_kinds_; ++b) {
        if (!(traits[first[a]] == traits[first[b]]) || own[first[a]] != own[first[b]])
          told_apart_by_[a * num_kinds_ + b].insert(t);
      }
    }
  }
}

}  // namespace shardwright::embedding
