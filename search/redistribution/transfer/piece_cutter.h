// Turns shares of bytes into boxes.
#pragma once

#include <vector>

#include "core/redistribution/transfer/transfer_plan.h"
#include "search/redistribution/transfer/demands/demands.h"
#include "search/redistribution/transfer/senders/sender_choice.h"

namespace shardwright::redistribution {

// Lays the pieces of each need end to end and gives each sender the next stretch, so that a
// receiver has few senders and only pieces at the ends of stretches are cut. A cut is between two
// tensors or across the longest dimension of a box, at the element that is closest to the share.
// Adds what ranks keep. Returns transfers with pieces and bytes, in order, without messages.
std::vector<Transfer> cut_pieces(const TransferProblem& problem, const Demands& demands,
                                 const SenderChoice& choice);

}  // namespace shardwright::redistribution
