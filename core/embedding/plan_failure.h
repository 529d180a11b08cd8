// Reasons why a planning call returns no plan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardwright {

// The type of error that TorchRec reports in the same case.
enum class FailureType : std::uint8_t {
  kInsufficientStorage,
  kStrictConstraints,
  kPartition,
  kOther,
  kMissingModuleInPlan,
  kInvalidComputeKernel,
};

// The reason, which is more specific than FailureType.
enum class FailureReason : std::uint8_t {
  kTableFitsNowhere,     // one table fits no rank with any of its options
  kNotEnoughMemory,      // all tables together need more than all ranks have
  kDoesNotPack,          // tables fit alone and in total, but not onto single ranks
  kNegativeReservation,  // the reservation takes more than a rank has
  kPlacementRules,       // constraints leave a table without an option
  kNothingProposed,
  kNothingPlaced,    // the caller's own partitioner placed no proposal
  kRatingsTooLarge,  // proposals fit, but take more than 2^63 ms
  kNoPlanExists,     // best mode tried everything
  kNothingFound,     // no plan was found, and none was proved impossible
  kStopped,          // the work limit was reached before a plan was found
  // From TorchRec's check of a finished plan:
  kMissingModule,         // another device has all tables of a module
  kInvalidComputeKernel,  // a cache has the load factor 0 or 1
};

// Indexed by the enumerations.
inline constexpr std::array<std::string_view, 6> kFailureTypeNames{
    "insufficient_storage",   "strict_constraints",    "partition", "other",
    "missing_module_in_plan", "invalid_compute_kernel"};
inline constexpr std::array<std::string_view, 13> kFailureReasonNames{
    "table_fits_nowhere",    "not_enough_memory", "does_not_pack",  "negative_reservation",
    "placement_rules",       "nothing_proposed",  "nothing_placed", "ratings_too_large",
    "no_plan_exists",        "nothing_found",     "stopped",        "missing_module",
    "invalid_compute_kernel"};

constexpr std::string_view name_of(FailureType type) {
  return kFailureTypeNames[static_cast<std::size_t>(type)];
}
constexpr std::string_view name_of(FailureReason reason) {
  return kFailureReasonNames[static_cast<std::size_t>(reason)];
}

// Returns true if the reason proves that no plan exists, rather than that none was found.
constexpr bool implies_absence(FailureReason reason) {
  return reason == FailureReason::kTableFitsNowhere || reason == FailureReason::kNotEnoughMemory ||
         reason == FailureReason::kNegativeReservation ||
         reason == FailureReason::kPlacementRules || reason == FailureReason::kNoPlanExists;
}

// The way in which it was proved that no plan exists.
enum class AbsenceProof : std::uint8_t {
  kReservation,  // the reservation exceeds the memory
  kCertificate,  // a certificate without a bound (bound/bound_certificate.h)
  kSearch,       // every option of every table was tried on every rank
};
inline constexpr std::array<std::string_view, 3> kAbsenceProofNames{"reservation", "certificate",
                                                                    "search"};
constexpr std::string_view name_of(AbsenceProof proof) {
  return kAbsenceProofNames[static_cast<std::size_t>(proof)];
}

// `message` is a few sentences with names, bytes and remedies. Without `proof`, a plan may exist.
struct PlanFailure {
  FailureType type = FailureType::kOther;
  FailureReason reason = FailureReason::kNothingFound;
  std::string message{};
  std::optional<AbsenceProof> proof{};
};

}  // namespace shardwright
