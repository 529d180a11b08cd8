// A certificate of a bound on rating plus moves.
#pragma once

#include <optional>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "core/embedding/moves/held_plan.h"
#include "search/budget.h"
#include "search/embedding/questions/replan/moves/move_search.h"

namespace shardwright::embedding {

struct MoveProof {
  double bound = 0;
  std::optional<BoundCertificate> certificate;  // absent if it is the bound on ratings
};

// The highest bound of the search that core's check accepts for the search space: the one that
// trying all plans gave, that of the prices, or `rating_bound`, which needs no proof here. Nothing
// is tried once the budget is interrupted.
// Time: at most about 0.2 s for each of the two.
MoveProof prove_moves(const MoveSearch& search, const ChoiceModel& model, const HeldPlan& held,
                      double rating_bound, Budget& budget);

}  // namespace shardwright::embedding
