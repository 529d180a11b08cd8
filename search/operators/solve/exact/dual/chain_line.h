// What the minima of the chains of a MessagePassing say about prices: a line.
#pragma once

#include <cstdint>
#include <vector>

#include "search/operators/solve/exact/dual/message_passing.h"

namespace shardwright::operators {

// A strategy for every chain at every node that it passes, by the places of chains. The chains of a
// node may differ.
using ChainChoice = std::vector<std::uint32_t>;

// The cheapest choice of every chain. Precondition: the last pass went backward.
// Cost: the sum of strategies over all edges.
ChainChoice cheapest_chains(const MessagePassing& messages);

// The sum of what the chains cost with the messages and prices of now, less what the limits grant.
// The bound is the least over all choices. Precondition: the last pass went backward.
double chain_bound(const MessagePassing& messages, const ChainChoice& choice);

// By time point, the bytes that nodes hold beyond the limit; a node holds the mean of its chains.
std::vector<double> chain_excess(const MessagePassing& messages, const ChainChoice& choice);

}  // namespace shardwright::operators
