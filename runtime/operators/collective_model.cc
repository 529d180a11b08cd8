#include "runtime/operators/collective_model.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/redistribution/cost/collective_costs.h"
#include "core/redistribution/cost/nccl_costs.h"

namespace shardwright {
namespace {

using namespace redistribution;
using Made = Result<std::shared_ptr<const CollectiveCosts>>;

// Moves the places of errors below "/collectives", except errors about the mesh.
template <class Costs>
Made shared(Result<Costs> costs) {
  if (!costs.ok()) {
    Error error = costs.error();
    if (error.where != "/mesh") error.where = "/collectives" + error.where;
    return error;
  }
  return std::shared_ptr<const CollectiveCosts>(
      std::make_shared<const Costs>(std::move(costs).value()));
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return result;
}

Made nccl_model(const MeshShape& mesh, std::string_view device_name) {
  const std::optional<NcclConfig> config = find_nccl_config(upper(device_name), mesh);
  if (!config) {
    return invalid_input("/collectives/model",
                         "NCCL's model does not know " + std::string(device_name) +
                             " on a mesh that does not fill its nodes; use flat");
  }
  return shared(NcclCosts::make(mesh, *config));
}

}  // namespace

Made make_collectives(const CollectiveModel& model, const MeshShape& mesh,
                      std::string_view device_name) {
  using Kind = CollectiveModel::Kind;
  if (!model.links.empty() && model.kind != Kind::kRings)
    return invalid_input("/collectives/links", "belong to the model \"rings\"");
  if (!model.tables.empty() && model.kind != Kind::kMeasured)
    return invalid_input("/collectives/tables", "belong to the model \"measured\"");
  switch (model.kind) {
    case Kind::kAuto:
      if (find_nccl_config(upper(device_name), mesh)) return nccl_model(mesh, device_name);
      return shared(FlatCosts::make(mesh, model.devices_per_host));
    case Kind::kFlat:
      return shared(FlatCosts::make(mesh, model.devices_per_host));
    case Kind::kNccl:
      return nccl_model(mesh, device_name);
    case Kind::kDTensor:
      return shared(DTensorCosts::make(mesh, model.devices_per_host));
    case Kind::kRings:
      return shared(TopologyCosts::make(mesh, model.links));
    case Kind::kMeasured:
      return shared(MeasuredCosts::make(mesh, model.tables));
  }
  return invalid_input("/collectives/model", "is unknown");
}

}  // namespace shardwright
