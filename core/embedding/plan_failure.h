// Why there is no plan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace shardwright {

// The class of error that TorchRec reports.
enum class FailureType : std::uint8_t {
  kInsufficientStorage,
  kStrictConstraints,
  kPartition,
  kOther,
};

// The true reason, finer than the class.
enum class FailureReason : std::uint8_t {
  kTableFitsNowhere,     // one table fits no rank with any of its options
  kNotEnoughMemory,      // all tables together need more than all ranks have
  kDoesNotPack,          // tables fit alone and in total, but not rank by rank
  kNegativeReservation,  // the reservation takes more than a rank has
  kPlacementRules,       // the rules leave a table without an option
  kNothingProposed,
  kNothingPlaced,    // by the caller's own partitioner
  kRatingsTooLarge,  // proposals fit, but take more than 2^63 ms
  kNoPlanExists,     // best mode tried everything
  kNothingFound,     // and nothing was proved impossible
  kStopped,          // the work limit came before a plan that fits
};

// In the order of the enumerations.
inline constexpr std::array<std::string_view, 4> kFailureTypeNames{
    "insufficient_storage", "strict_constraints", "partition", "other"};
inline constexpr std::array<std::string_view, 11> kFailureReasonNames{
    "table_fits_nowhere", "not_enough_memory", "does_not_pack",  "negative_reservation",
    "placement_rules",    "nothing_proposed",  "nothing_placed", "ratings_too_large",
    "no_plan_exists",     "nothing_found",     "stopped"};

constexpr std::string_view name_of(FailureType type) {
  return kFailureTypeNames[static_cast<std::size_t>(type)];
}
constexpr std::string_view name_of(FailureReason reason) {
  return kFailureReasonNames[static_cast<std::size_t>(reason)];
}

// `message` is a few sentences with names, bytes and remedies.
struct PlanFailure {
  FailureType type = FailureType::kOther;
  FailureReason reason = FailureReason::kNothingFound;
  std::string message{};
};

}  // namespace shardwright
