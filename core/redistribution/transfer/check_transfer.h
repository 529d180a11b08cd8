// Checks every claim of a transfer plan.
#pragma once

#include <vector>

#include "core/redistribution/placement/placement.h"
#include "core/redistribution/transfer/transfer_plan.h"
#include "core/status.h"

namespace shardwright::redistribution {

// Returns true if every element of `whole` is in exactly one of the boxes, and all boxes lie within
// `whole`. Ignores boxes without elements. Cuts recursively at a median boundary of the boxes: O(n
// log n) for n boxes of a grid.
bool covers_exactly(std::vector<Box> boxes, const Box& whole);

// Checks the plan without code of the planner. Errors (kVerificationFailed, `where` is the place in
// a plan file): transfers out of order or of ranks that do not exist; a piece with tensors that its
// group does not have; a piece with elements that the sender neither holds nor, if passed on, wants
// and received in earlier rounds; bytes that are not the sum of the pieces; runs that do not carry
// exactly the bytes of the transfer, or exceed the memory in a round; a rank that does not get each
// element of its target shards exactly once; a bound whose bytes differ from passing_bytes() of its
// ports. O(pieces log pieces + groups * source boxes * target ranks).
Status check_transfer(const TransferProblem& problem, const TransferPlan& plan);

}  // namespace shardwright::redistribution
