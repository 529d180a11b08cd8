// Which ranks send how much of every need.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/redistribution/transfer/transfer_plan.h"
#include "search/budget.h"
#include "search/redistribution/transfer/demands/demands.h"

namespace shardwright::redistribution {

struct SenderShare {
  std::uint32_t from = 0;  // place in TransferProblem::ranks()
  std::int64_t bytes = 0;
};

struct SenderChoice {
  // By need: what holders send of it.
  std::vector<std::vector<SenderShare>> shares;
  // By Demands::shared: how much of one copy each rank receives first and passes on to all others.
  // Empty if no rank passes anything on. With the shares, every receiver gets its copy.
  std::vector<std::vector<SenderShare>> passed;
  std::vector<TransferBound> bounds;
};

// Without hosts: the busiest sender carries as little as possible, the next one too, and so on.
// With hosts: elements come from the receiver's host where a rank of it holds them, unless its
// senders would be the busiest ports of all; then as much comes from other hosts as evens that out.
// What comes from other hosts loads their links, and then their ranks, as evenly as possible.
// Where that takes less time, ranks pass on within their host (without hosts to any rank) what they
// want and have received, so that a host receives every element once. Bounds hold for plans that do
// so, too.
// Returns nullopt if the budget was interrupted. `work` counts steps of flows.
std::optional<SenderChoice> choose_senders(const TransferProblem& problem, const Demands& demands,
                                           const Budget& budget, std::uint64_t& work);

}  // namespace shardwright::redistribution
