#include "core/embedding/bound/search/tree/twins.h"

#include <algorithm>

namespace shardwright::embedding {

bool Twins::is_new_host(std::uint32_t host) {
  limit_.spend(hosts_.size() * ranks_.ranks_per_host());
  const bool alike = std::any_of(hosts_.begin(), hosts_.end(), [&](std::uint32_t other) {
    return ranks_.are_hosts_alike(other, host, outlook_);
  });
  if (!alike) hosts_.push_back(host);
  return !alike;
}

bool Twins::is_new(Rank rank) {
  if (outlook_.hosts_matter) {
    const std::uint32_t host = rank / ranks_.ranks_per_host();
    if (!seen_host_ || host != last_host_) {
      seen_host_ = true;
      last_host_ = host;
      last_is_new_ = is_new_host(host);
      kept_.clear();
    }
    if (!last_is_new_) return false;
  }
  limit_.spend(kept_.size());
  const bool alike = std::any_of(kept_.begin(), kept_.end(), [&](Rank other) {
    return ranks_.are_alike(other, rank, outlook_);
  });
  if (!alike) kept_.push_back(rank);
  return !alike;
}

}  // namespace shardwright::embedding
