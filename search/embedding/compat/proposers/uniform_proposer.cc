#include "search/embedding/compat/proposers/uniform_proposer.h"

#include <algorithm>
#include <array>

namespace shardwright::embedding {
namespace {

constexpr std::size_t kNumTypes = EnumNames<ShardingType>::kNames.size();

// The best option of every table for one sharding type.
struct TypeGroup {
  std::vector<OptionId> best;                // in order of the tables' first appearance
  std::vector<std::uint32_t> slot_of_table;  // ~0 = the table has not appeared
};

}  // namespace

UniformProposer::UniformProposer(const ProposerSpec& spec, const OptionPool& pool) {
  const auto score = [&](OptionId id) {
    const OptionRow& row = pool.row(id);
    return spec.use_depth ? row.max_shard_perf_ms : row.perf_ms;
  };
  std::array<TypeGroup, kNumTypes> groups;
  std::vector<std::size_t> appearance;
  for (std::size_t i = 0; i < pool.space().size(); ++i) {
    const OptionId id(i);
    const auto type = static_cast<std::size_t>(pool.row(id).sharding_type);
    TypeGroup& group = groups[type];
    if (group.slot_of_table.empty()) {
      group.slot_of_table.assign(pool.problem().tables().size(), ~std::uint32_t{0});
      appearance.push_back(type);
    }
    std::uint32_t& slot = group.slot_of_table[pool.row(id).table];
    if (slot == ~std::uint32_t{0}) {
      slot = static_cast<std::uint32_t>(group.best.size());
      group.best.push_back(id);
    } else if (score(id) < score(group.best[slot])) {
      group.best[slot] = id;
    }
  }
  for (const std::size_t type : appearance) {
    if (groups[type].best.size() == pool.tables().size()) {
      proposals_.push_back(std::move(groups[type].best));
    }
  }
}

void UniformProposer::propose(std::size_t limit, OptionPool&, ProposalBatch& batch) {
  while (next_ < proposals_.size() && batch.size() < limit)
    batch.push_full(proposals_[next_++]);
}

}  // namespace shardwright::embedding
