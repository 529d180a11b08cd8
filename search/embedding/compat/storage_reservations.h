// TorchRec's storage reservations: the memory that tables do not get.
#pragma once

#include <optional>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/status.h"

namespace shardwright::embedding {

// The topology with the memory left, and the memory reserved on every rank for dense parameters and
// for KeyedJaggedTensor inputs (absent if the reservation does not compute these).
struct Reservation {
  Topology topology;
  std::optional<Storage> dense_storage;
  std::optional<Storage> kjt_storage;
  std::vector<Storage> margin;  // by rank, memory that must stay free; may be empty
};

// The memory of dense parameters / their size, if the problem names no multiplier.
constexpr double default_dense_multiplier(ReservationSpec::Type type) {
  // In training: parameters, gradients and optimizer state.
  return type == ReservationSpec::Type::kInference ? 1 : 6;
}

// Applies the problem's reservation, then its reserved memory, then its margin. Errors: kInfeasible
// if the heuristical reservation leaves rank 0 with negative HBM, or the SKU-aware one with none;
// kInvalidInput if a size exceeds 2^62 bytes.
// Source: HeuristicalStorageReservation, FixedPercentageStorageReservation,
// InferenceStorageReservation, FixedAbsoluteStorageReservation and SKUAwareStorageReservation,
// torchrec/distributed/planner/storage_reservations.py.
Result<Reservation> reserve(const Problem& problem);

}  // namespace shardwright::embedding
