// Leaves out ranks and hosts that are like one that was tried.
#pragma once

#include <cstdint>

#include <boost/container/small_vector.hpp>

#include "core/embedding/bound/pricing/step_limit.h"
#include "core/embedding/bound/search/state/rank_contents.h"

namespace shardwright::embedding {

// Sees ranks, or hosts, in ascending order, and keeps the first of those that are alike.
// Thread safety: one thread at a time. Refers to its arguments.
class Twins {
 public:
  Twins(const RankContents& ranks, const Outlook& outlook, StepLimit& limit)
      : ranks_(ranks), outlook_(outlook), limit_(limit) {}

  // Returns true if no earlier rank is like this one.
  bool is_new(Rank rank);
  bool is_new_host(std::uint32_t host);

 private:
  const RankContents& ranks_;
  const Outlook& outlook_;
  StepLimit& limit_;
  boost::container::small_vector<Rank, 16> kept_;  // on the last host only where hosts matter
  boost::container::small_vector<std::uint32_t, 16> hosts_;
  std::uint32_t last_host_ = 0;
  bool seen_host_ = false;
  bool last_is_new_ = false;
};

}  // namespace shardwright::embedding
