// The model of collectives that a user chooses by name.
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
    kAuto,      // NCCL where AutoParallel knows the device and the mesh fills its nodes, else flat
    kFlat,      // AutoParallel's default
    kNccl,      // AutoParallel's model of NCCL on the device
    kDTensor,   // PyTorch's own
    kRings,     // rings on the user's links
    kMeasured,  // times that the user measured
  };
  Kind kind = Kind::kAuto;
  std::int64_t devices_per_host = 8;                  // flat, DTensor
  std::vector<redistribution::AxisLink> links;        // rings
  std::vector<redistribution::MeasuredTable> tables;  // measured
};

// Makes the chosen model. Errors: those of the models' make(), at places below `/collectives`;
// kInvalidInput below `/collectives` for links, tables or a device that do not fit the kind.
Result<std::shared_ptr<const redistribution::CollectiveCosts>> make_collectives(
    const CollectiveModel& model, const redistribution::MeshShape& mesh,
    std::string_view device_name);

}  // namespace shardwright
