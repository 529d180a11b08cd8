#include "search/embedding/compat/storage_reservations.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "search/embedding/compat/perf_estimator.h"

namespace shardwright::embedding {
namespace {

constexpr double kMostReservedBytes = 4611686018427387904.0;  // 2^62
// For training: two batches in the pipeline with ten internal copies each.
constexpr std::int64_t kTrainingKjtCopies = 20;
constexpr double kBytesPerDenseParameter = 4;

// The number of inputs of one local batch, over all tables, modules in declaration order. TorchRec
// ignores num_poolings here. It pairs a list of the factors of all tables with a list of their
// batch sizes, so unequal numbers of both in one table shift the pairs of later tables.
// Source: _get_batch_inputs_and_shardable_parameters,
// torchrec/distributed/planner/storage_reservations.py.
double batch_inputs(const Problem& problem) {
  std::vector<double> factors;
  std::vector<double> samples;
  factors.reserve(problem.tables().size());
  samples.reserve(problem.tables().size());
  const ParameterConstraints none;
  for (const Problem::Module& module : problem.modules()) {
    for (const TableId id : module.tables) {
      const auto& given = problem.table(id).constraints;
      const ParameterConstraints& constraints = given ? *given : none;
      factors.insert(factors.end(), constraints.pooling_factors.begin(),
                     constraints.pooling_factors.end());
      if (constraints.batch_sizes.empty()) {
        samples.insert(samples.end(), constraints.pooling_factors.size(),
                       static_cast<double>(problem.batch_size()));
      } else {
        samples.insert(samples.end(), constraints.batch_sizes.begin(),
                       constraints.batch_sizes.end());
      }
    }
  }
  double sum = 0;
  for (std::size_t i = 0; i < std::min(factors.size(), samples.size()); ++i)
    sum += factors[i] * samples[i];
  return sum;
}

// Returns `bytes` in the tier that holds data outside tables. On tpu TorchRec reserves nothing.
Storage on_rank(const Topology& topology, std::int64_t bytes) {
  if (topology.compute_device() == ComputeDevice::kTpu) return {};
  return topology.has_hbm() ? Storage{Bytes(bytes), Bytes(0)} : Storage{Bytes(0), Bytes(bytes)};
}

std::string gigabytes(std::int64_t bytes) {
  std::string text = std::to_string(static_cast<double>(bytes) / static_cast<double>(kGibibyte));
  return text.substr(0, text.find('.') + 4) + " GiB";
}

// Returns a text that names changes, each of which would leave rank 0 some HBM.
std::string advice(const Problem& problem, const Reservation& reserved, std::int64_t left) {
  const std::int64_t cap = problem.topology().storage().front().hbm.value();
  const std::int64_t dense = reserved.dense_storage->hbm.value();
  const std::int64_t inputs = reserved.kjt_storage->hbm.value();
  std::string text = "use ranks with more HBM";
  if (left + inputs > 0) text += ", or a smaller batch size";
  if (problem.spec().reservation.percentage > 0 && dense + inputs <= cap)
    text += ", or a smaller reservation percentage";
  if (left + dense >= 0) text += ", or a fixed reservation if the dense part is sharded elsewhere";
  return text;
}

Error negative(const Problem& problem, const Reservation& reserved) {
  const std::int64_t cap = problem.topology().storage().front().hbm.value();
  const std::int64_t left = reserved.topology.storage().front().hbm.value();
  return Error{ErrorCode::kInfeasible,
               "the reservation takes more HBM than rank 0 has, by " + std::to_string(-left) +
                   " bytes: of " + gigabytes(cap) + " it sets aside " +
                   std::to_string(problem.spec().reservation.percentage * 100).substr(0, 5) +
                   " % as margin, " + gigabytes(reserved.dense_storage->hbm.value()) +
                   " for dense parameters and " + gigabytes(reserved.kjt_storage->hbm.value()) +
                   " for inputs; " + advice(problem, reserved, left),
               ""};
}

Error nothing_left(const Problem& problem, const Reservation& reserved) {
  const ReservationSpec& spec = problem.spec().reservation;
  const std::string base = spec.model_base_bytes
                               ? gigabytes(*spec.model_base_bytes) + " for the model"
                               : gigabytes(spec.margin_bytes) + " as margin, " +
                                     gigabytes(reserved.dense_storage->hbm.value()) +
                                     " for dense parameters";
  return Error{ErrorCode::kInfeasible,
               "the reservation leaves rank 0 no HBM: of " +
                   gigabytes(problem.topology().storage().front().hbm.value()) + " it sets aside " +
                   base + ", " + gigabytes(spec.runtime_overhead_bytes) + " for the runtime and " +
                   gigabytes(reserved.kjt_storage->hbm.value()) +
                   " for inputs; use ranks with more HBM, a smaller batch size, or lower bytes",
               ""};
}

// Bytes of dense parameters and of the inputs of a batch on a rank.
struct OutsideTables {
  std::int64_t dense = 0;
  std::int64_t inputs = 0;
};

Result<OutsideTables> outside_tables(const Problem& problem) {
  const ReservationSpec& spec = problem.spec().reservation;
  const double multiplier = spec.parameter_multiplier.value_or(default_dense_multiplier(spec.type));
  double dense = std::nearbyint(
      multiplier * (static_cast<double>(problem.spec().dense_params) * kBytesPerDenseParameter));
  // TorchRec ignores an estimate of 0.
  if (spec.dense_tensor_estimate_bytes.value_or(0) != 0) {
    dense = static_cast<double>(*spec.dense_tensor_estimate_bytes);
  }
  const bool training = spec.type != ReservationSpec::Type::kInference;
  const double inputs = std::ceil(batch_inputs(problem) * kInputDataTypeSize) *
                        static_cast<double>(training ? kTrainingKjtCopies : 1);
  if (!(dense < kMostReservedBytes) || !(inputs < kMostReservedBytes)) {
    return invalid_input("/reservation",
                         "the reserved inputs or dense parameters exceed 2^62 bytes; "
                         "check batch size, pooling factors and dense_params");
  }
  return OutsideTables{static_cast<std::int64_t>(dense), static_cast<std::int64_t>(inputs)};
}

// Subtracts bytes of HBM from every rank, down to 0.
void take_floored(std::vector<Storage>& left, std::int64_t bytes) {
  for (Storage& rank : left)
    rank.hbm = Bytes(std::max<std::int64_t>(0, rank.hbm.value() - bytes));
}

// Returns the memory of every rank after a fixed reservation: a percentage, or bytes of HBM.
std::vector<Storage> after_fixed_part(const Problem& problem) {
  const ReservationSpec& spec = problem.spec().reservation;
  std::vector<Storage> left = problem.topology().storage();
  if (spec.takes_percentage()) {
    for (Storage& rank : left) {
      rank.hbm = Bytes(
          static_cast<std::int64_t>((1 - spec.percentage) * static_cast<double>(rank.hbm.value())));
    }
  } else if (spec.type == ReservationSpec::Type::kFixedAbsolute) {
    take_floored(left, spec.hbm_reserved_bytes);
  } else if (spec.type == ReservationSpec::Type::kSkuAware) {
    take_floored(left, spec.model_base_bytes.value_or(spec.margin_bytes));
    take_floored(left, spec.runtime_overhead_bytes);
  }
  return left;
}

Result<Reservation> apply_reservation(const Problem& problem) {
  using Type = ReservationSpec::Type;
  const ReservationSpec& spec = problem.spec().reservation;
  const Topology& topology = problem.topology();
  if (spec.type == Type::kNone) return Reservation{topology, {}, {}, {}};
  std::vector<Storage> left = after_fixed_part(problem);
  if (spec.type == Type::kFixed || spec.type == Type::kFixedAbsolute)
    return Reservation{topology.with_storage(std::move(left)), {}, {}, {}};

  SHARDWRIGHT_ASSIGN_OR_RETURN(const OutsideTables outside, outside_tables(problem));
  Reservation reserved{topology, {}, on_rank(topology, outside.inputs), {}};
  if (spec.type != Type::kSkuAware || !spec.model_base_bytes)
    reserved.dense_storage = on_rank(topology, outside.dense);
  for (Storage& rank : left) {
    rank -= reserved.dense_storage.value_or(Storage{});
    rank -= *reserved.kjt_storage;
  }
  const Bytes first = left.front().hbm;
  reserved.topology = topology.with_storage(std::move(left));
  if (spec.type == Type::kHeuristical && first < Bytes(0)) return negative(problem, reserved);
  if (spec.type == Type::kSkuAware && first <= Bytes(0)) return nothing_left(problem, reserved);
  return reserved;
}

}  // namespace

Result<Reservation> reserve(const Problem& problem) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_layout(problem));
  SHARDWRIGHT_ASSIGN_OR_RETURN(Reservation reserved, apply_reservation(problem));
  const MemoryLimits& limits = problem.spec().memory;
  if (!limits.any_reserved() && !limits.any_margin()) return reserved;
  std::vector<Storage> left = reserved.topology.storage();
  for (std::uint32_t rank = 0; rank < left.size(); ++rank) {
    left[rank] -= limits.reserved(rank);
    if (!limits.any_margin()) continue;
    reserved.margin.push_back(limits.margin(left[rank]));
    left[rank] -= reserved.margin.back();
  }
  reserved.topology = reserved.topology.with_storage(std::move(left));
  return reserved;
}

}  // namespace shardwright::embedding
