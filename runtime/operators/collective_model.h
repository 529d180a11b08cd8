// The cost models of collectives that a user can choose by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/redistribution/cost/collective_costs.h"
#include "core/redistribution/cost/measured_costs.h"
#include "core/redistribution/cost/topology_costs.h"
#include "core/status.h"

namespace shardwright {

// Thread safety: a value.
struct CollectiveModel {
  enum class Kind : std::uint8_t {
    kAuto,      // kNccl if AutoParallel knows device and mesh, otherwise kFlat
    kFlat,      // AutoParallel's default model
    kNccl,      // AutoParallel's model of NCCL
    kDTensor,   // the model of PyTorch's DTensor
    kRings,     // rings on the links that the user describes
    kMeasured,  // times that the user measured
  };
  Kind kind = Kind::kAuto;
  std::int64_t devices_per_host = 8;                  // for kFlat and kDTensor
  std::vector<redistribution::AxisLink> links;        // for kRings
  std::vector<redistribution::MeasuredTable> tables;  // for kMeasured
};

// Makes the chosen model. Errors: as the model's make(), at places below `/collectives`;
// kInvalidInput below `/collectives` for links or tables of another kind, and for devices unknown
// to kNccl.
Result<std::shared_ptr<const redistribution::CollectiveCosts>> make_collectives(
    const CollectiveModel& model, const redistribution::MeshShape& mesh,
    std::string_view device_name);

}  // namespace shardwright
