#include "core/embedding/bound/divisions/rank_branches.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/embedding/bound/options/bound_options.h"

namespace shardwright::embedding {
namespace {

// Narrows an option to plans with a shard on the rank. Returns false if there are none.
bool hold(const OpenOptions& options, std::uint32_t rank, OpenOption& own) {
  const ShardingOption& option = options.space().option(own.option);
  const Topology& topology = options.topology();
  if (is_on_all_ranks(option, topology)) return true;
  const std::uint32_t bit = std::uint32_t{1} << rank;
  if ((own.classes & bit) == 0) return false;
  own.held |= bit;
  const bool fills = fills_hosts(option, topology);
  const std::uint32_t host = options.classes().whole_hosts(bit);
  if (fills ? option.num_shards() == topology.local_world_size() : !is_free(option, topology))
    own.classes &= host;
  const auto held = static_cast<std::uint32_t>(std::popcount(own.held));
  if (!fills && held == option.num_shards()) own.classes = own.held;
  return (own.held & ~own.classes) == 0 && held <= option.num_shards();
}

// Narrows an option to plans with no shard on these ranks. Returns false if there are none.
bool avoid(const OpenOptions& options, std::uint32_t ranks, OpenOption& own) {
  const ShardingOption& option = options.space().option(own.option);
  if (is_on_all_ranks(option, options.topology())) return false;
  const bool fills = fills_hosts(option, options.topology());
  own.classes &= ~(fills ? options.classes().whole_hosts(ranks) : ranks);
  return own.classes != 0 && (own.held & ~own.classes) == 0;
}

}  // namespace

void keep_on_rank(OpenOptions& options, std::size_t table, const RankBranch& branch,
                  bool is_first) {
  std::vector<OpenOption> kept;
  for (OpenOption own : options.of_table(table)) {
    if (is_first ? hold(options, branch.rank_class, own) : avoid(options, branch.orbit, own))
      kept.push_back(own);
  }
  options.set(table, std::move(kept));
}

void RankBranches::enter(const RankBranch& branch, bool is_first) {
  named_.push_back(is_first ? std::uint32_t{1} << branch.rank_class : branch.orbit);
}

std::optional<std::string> RankBranches::refuse(const RankBranch& branch) const {
  if (!classes_.ranks_apart()) return "a node divides by ranks, which are not apart";
  if (branch.rank_class >= classes_.size() || (branch.orbit & ~classes_.all()) != 0 ||
      (branch.orbit >> branch.rank_class & 1) == 0)
    return "a node divides by a rank that does not exist";
  for (std::uint32_t c = 0; c < classes_.size(); ++c) {
    if ((branch.orbit >> c & 1) != 0 && !can_exchange(branch.rank_class, c))
      return "a node divides by ranks that a plan may not exchange";
  }
  return std::nullopt;
}

bool RankBranches::can_exchange(std::uint32_t a, std::uint32_t b) const {
  if (a == b) return true;
  const std::uint32_t host_a = host_of(a);
  const std::uint32_t host_b = host_of(b);
  return are_equal(a, b) && (host_a == host_b || are_hosts_equal(host_a, host_b));
}

// The same capacity, and no branch tells them apart.
bool RankBranches::are_equal(std::uint32_t a, std::uint32_t b) const {
  return classes_.room(a) == classes_.room(b) && classes_.load_limit(a) == classes_.load_limit(b) &&
         std::all_of(named_.begin(), named_.end(),
                     [&](std::uint32_t ranks) { return (ranks >> a & 1) == (ranks >> b & 1); });
}

// Every rank of one host has its like on the other one.
bool RankBranches::are_hosts_equal(std::uint32_t a, std::uint32_t b) const {
  if (std::popcount(a) != std::popcount(b)) return false;
  std::uint32_t left = b;
  for (std::uint32_t rank = 0; rank < classes_.size(); ++rank) {
    if ((a >> rank & 1) == 0) continue;
    std::uint32_t other = 0;
    while (other < classes_.size() && ((left >> other & 1) == 0 || !are_equal(rank, other)))
      ++other;
    if (other == classes_.size()) return false;
    left &= ~(std::uint32_t{1} << other);
  }
  return true;
}

std::uint32_t RankBranches::host_of(std::uint32_t rank) const {
  return classes_.whole_hosts(std::uint32_t{1} << rank);
}

}  // namespace shardwright::embedding
