// The certificate of a tree over ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "search/embedding/best/bound/ranks/rank_model.h"
#include "search/embedding/best/bound/ranks/tree/rank_nodes.h"
#include "search/embedding/best/bound/relaxation/domain_reduction.h"

namespace shardwright::embedding {

// `visited`: all nodes that were, by number.

// The highest bound, up to this one, of which a certificate takes no more than about so many steps
// to check. O(nodes x log(nodes)).
double affordable_bound(const std::vector<const RankNode*>& visited, double bound,
                        std::uint64_t check_steps);

// Of a bound that all leaves have. Nodes whose own bound suffices are leaves of it. `fixing`: of
// the root, before it was visited. O(nodes x log(nodes)).
BoundCertificate rank_certificate(const RankModel& model, const MultiplierList& fixing,
                                  const std::vector<const RankNode*>& visited, double bound);

}  // namespace shardwright::embedding
