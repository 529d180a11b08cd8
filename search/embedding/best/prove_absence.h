// Proves that no plan exists.
#pragma once

#include <cstdint>
#include <optional>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "core/embedding/problem/topology.h"
#include "search/budget.h"
#include "search/embedding/best/parameters/bound_parameters.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright {

// Returns a certificate with an infinite bound that the check of core has accepted, or nothing if
// none was found with `work` steps. It proves that no plan rates below a rating that none can
// exceed: a table has no place, or memory does not suffice (bound/README.md). Placement rules of
// single tables count, rules about groups do not. Spends its steps from `budget`.
std::optional<embedding::BoundCertificate> prove_absence(
    const embedding::OptionPool& pool, const embedding::Topology& available, std::uint64_t work,
    Budget& budget, const embedding::BoundParameters& parameters = {});

}  // namespace shardwright
