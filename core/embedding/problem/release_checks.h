// What problems may ask for that an older release of TorchRec does not know.
#pragma once

#include "core/embedding/problem/problem.h"

namespace shardwright::embedding {

// Errors of both: kInvalidInput with the place in the problem file. Devices, reservations and
// estimators.
Status check_known_to_release(const ProblemSpec& spec);
// What TorchRec plans for ranks on no host is known of the releases that were compared with it.
Status check_known_to_release(const Topology& topology, TorchRecRelease release);

}  // namespace shardwright::embedding
