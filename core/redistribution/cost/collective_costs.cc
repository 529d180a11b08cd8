#include "core/redistribution/cost/collective_costs.h"

#include <string>

namespace shardwright::redistribution {
namespace {

constexpr std::int64_t kMaxDevices = std::int64_t{1} << 31;

}  // namespace

const char* name_of(Collective collective) {
  switch (collective) {
    case Collective::kAllGather:
      return "all-gather";
    case Collective::kReduceScatter:
      return "reduce-scatter";
    case Collective::kAllReduce:
      return "all-reduce";
    case Collective::kAllToAll:
      return "all-to-all";
  }
  return "";
}

Status check_mesh(const MeshShape& mesh) {
  if (mesh.empty()) return invalid_input("/mesh", "a mesh has at least one axis");
  std::int64_t devices = 1;
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    if (mesh[axis] < 1) {
      return invalid_input("/mesh/" + std::to_string(axis), "the axis has no device");
    }
    if (mesh[axis] > kMaxDevices / devices) {
      return invalid_input("/mesh", "more than 2^31 devices");
    }
    devices *= mesh[axis];
  }
  return {};
}

bool leaves_host(const MeshShape& mesh, std::size_t axis, std::int64_t devices_per_host) {
  std::int64_t devices = 1;
  for (std::size_t inside = axis; inside < mesh.size(); ++inside)
    devices *= mesh[inside];
  return devices > devices_per_host;
}

}  // namespace shardwright::redistribution
