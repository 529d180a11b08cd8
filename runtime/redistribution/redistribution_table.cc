#include "runtime/redistribution/redistribution_table.h"

#include <utility>

#include "core/interner.h"

namespace shardwright {

std::uint64_t RedistributionTable::CaseHash::operator()(const RedistributionCase& request) const {
  std::uint64_t hash = hash_mix(request.mesh.size(), static_cast<std::uint64_t>(request.itemsize));
  for (const std::int64_t devices : request.mesh)
    hash = hash_mix(hash, static_cast<std::uint64_t>(devices));
  for (const std::int64_t size : request.shape)
    hash = hash_mix(hash, static_cast<std::uint64_t>(size));
  return hash_mix(hash_mix(hash, request.source.code()), request.target.code());
}

RedistributionTable::RedistributionTable(RedistributionOptions options)
    : options_(std::move(options)) {}

Result<const PlannedRedistribution*> RedistributionTable::plan(const RedistributionCase& request) {
  if (const PlannedRedistribution* const known = answers_.find(request)) return known;
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlannedRedistribution planned,
                               plan_redistribution(request, options_));
  return &answers_.keep(request, std::move(planned));
}

}  // namespace shardwright
