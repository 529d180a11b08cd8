// Turns the bytes that each rank sends into boxes of elements.
#pragma once

#include <cstdint>
#include <vector>

#include "core/redistribution/transfer/transfer_plan.h"
#include "search/redistribution/transfer/demands.h"
#include "search/redistribution/transfer/plan_transfer.h"
#include "search/redistribution/transfer/senders.h"

namespace shardwright::redistribution {

struct CutTransfers {
  std::vector<Transfer> transfers;
  std::vector<std::vector<StreamWait>> waits;  // by transfer; see assign_rounds()
};

// Lays the pieces of each need end to end and gives each sender the next stretch of bytes. So a
// receiver has few senders, and only pieces at the ends of stretches are cut. A cut is between two
// tensors, or between two rows of the longest dimension of a box, as close to the sender's share as
// possible. Also adds the pieces that ranks keep. Pieces that a rank passes on are cut into parts
// of about `passed_bytes`; each part is sent on once it has arrived. Returns transfers in order,
// with pieces and bytes but without runs.
CutTransfers cut_pieces(const TransferProblem& problem, const Demands& demands,
                        const SenderChoice& choice, std::int64_t passed_bytes);

}  // namespace shardwright::redistribution
