// Divisions of a proof's tree by where a table lies, where ranks are apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "core/embedding/bound/node/open_options.h"

namespace shardwright::embedding {

// Keeps the options of the table that have, or may have, a shard where the child says.
void keep_on_rank(OpenOptions& options, std::size_t table, const RankBranch& branch, bool is_first);

// The rank branches on the way from the root to a node, and which ranks a plan may exchange under
// them: what a node drops for other reasons is in no plan below the bound, exchanged or not.
// Thread safety: one thread at a time. Refers to its argument.
class RankBranches {
 public:
  explicit RankBranches(const CertifiedClasses& classes) : classes_(classes) {}

  std::size_t size() const { return named_.size(); }
  void enter(const RankBranch& branch, bool is_first);
  void leave(std::size_t size) { named_.resize(size); }
  // Says what is wrong, if the branch is not one of this node. O(ranks x (branches + ranks)).
  std::optional<std::string> refuse(const RankBranch& branch) const;

 private:
  bool can_exchange(std::uint32_t a, std::uint32_t b) const;
  bool are_equal(std::uint32_t a, std::uint32_t b) const;
  bool are_hosts_equal(std::uint32_t a, std::uint32_t b) const;
  std::uint32_t host_of(std::uint32_t rank) const;

  const CertifiedClasses& classes_;
  std::vector<std::uint32_t> named_;  // ranks as bits, by branch
};

}  // namespace shardwright::embedding
