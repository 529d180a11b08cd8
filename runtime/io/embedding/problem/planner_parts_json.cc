#include "runtime/io/embedding/problem/planner_parts_json.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/io/embedding/problem/estimator_json.h"
#include "runtime/io/embedding/problem/problem_json.h"

namespace shardwright::internal {
namespace {

using embedding::CommCodec;
using embedding::DataType;
using embedding::PartitionerSpec;
using embedding::ProblemSpec;
using embedding::ProposerSpec;
using embedding::ReservationSpec;
using embedding::SharderSpec;

// Returns a function that reads one of `names`; name i stands for value i of the enumeration.
template <class Enum, std::size_t Size>
auto choice(std::string_view what, const std::array<std::string_view, Size>& names, Enum& out) {
  return [what, &names, &out](JsonValue value) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index, read_choice(value, what, names));
    out = static_cast<Enum>(index);
    return {};
  };
}

constexpr std::array<std::string_view, 2> kSharderTypes{"training", "quant"};
constexpr std::array<std::string_view, 5> kProposerTypes{"grid", "greedy", "uniform", "dp",
                                                         "scaleup"};
constexpr std::array<std::string_view, 2> kPartitionerTypes{"greedy", "memory_balanced"};
constexpr std::array<std::string_view, 2> kSortBy{"storage", "perf"};
constexpr std::array<std::string_view, 2> kPerfModels{"perf", "storage"};

// TorchRec's codecs leave a direction that nobody names as it is, which they call torch.float.
// Source: QuantizedCommCodecs, NoOpQuantizedCommCodec, torchrec/distributed/types.py.
Status read_codec(JsonValue value, CommCodec& codec) {
  if (value.is_null()) return {};
  codec = {DataType::kFp32, DataType::kFp32};
  return ObjectReader(value)
      .optional("forward", codec.forward)
      .optional("backward", codec.backward)
      .finish();
}

Status read_codecs(JsonValue value, SharderSpec& sharder) {
  if (value.is_null()) return {};
  return ObjectReader(value)
      .optional_with("pooled_all_to_all",
                     [&](JsonValue v) { return read_codec(v, sharder.pooled_all_to_all); })
      .optional_with("sequence_all_to_all",
                     [&](JsonValue v) { return read_codec(v, sharder.sequence_all_to_all); })
      .optional_with("pooled_reduce_scatter",
                     [&](JsonValue v) { return read_codec(v, sharder.pooled_reduce_scatter); })
      .finish();
}

Status read_passes(JsonValue value, std::optional<int>& passes) {
  if (value.is_null()) return {};
  return ObjectReader(value).required("num_passes", passes).finish();
}

Status read_fused_params(JsonValue value, SharderSpec& sharder) {
  if (value.is_null()) return {};
  return ObjectReader(value)
      .optional("cache_load_factor", sharder.cache_load_factor)
      .optional("prefetch_pipeline", sharder.prefetch_pipeline)
      .optional_with("multipass_prefetch_config",
                     [&](JsonValue v) { return read_passes(v, sharder.prefetch_passes); })
      .finish();
}

Status read_sharder(JsonValue value, SharderSpec& sharder) {
  return ObjectReader(value)
      .optional_with("type", choice("sharder type", kSharderTypes, sharder.type))
      .optional_with("fused_params", [&](JsonValue v) { return read_fused_params(v, sharder); })
      .optional_with("qcomm_codecs", [&](JsonValue v) { return read_codecs(v, sharder); })
      .finish();
}

Status read_reservation(JsonValue value, ReservationSpec& reservation) {
  return ObjectReader(value)
      .optional_with("type", choice("reservation type", kReservationTypeNames, reservation.type))
      .optional("percentage", reservation.percentage)
      .optional("parameter_multiplier", reservation.parameter_multiplier)
      .optional("dense_tensor_estimate", reservation.dense_tensor_estimate_bytes)
      .optional("hbm_reserved_bytes", reservation.hbm_reserved_bytes)
      .optional("margin_bytes", reservation.margin_bytes)
      .optional("runtime_overhead_bytes", reservation.runtime_overhead_bytes)
      .optional("model_base_bytes", reservation.model_base_bytes)
      .finish();
}

Status read_proposers(JsonValue list, std::vector<ProposerSpec>& proposers) {
  if (list.is_null()) return {};
  if (!list.is_array()) return list.expected("a list of proposers");
  if (list.size() == 0) return list.error("names no proposer; leave it out for the default four");
  for (std::size_t i = 0; i < list.size(); ++i) {
    ProposerSpec& proposer = proposers.emplace_back();
    SHARDWRIGHT_RETURN_IF_ERROR(
        ObjectReader(list[i])
            .required_with("type", choice("proposer", kProposerTypes, proposer.type))
            .optional("use_depth", proposer.use_depth)
            .optional("threshold", proposer.threshold)
            .optional("hbm_bins_per_device", proposer.hbm_bins_per_device)
            .optional("max_proposals", proposer.max_proposals)
            .finish());
  }
  return {};
}

Status read_partitioner(JsonValue value, PartitionerSpec& partitioner) {
  return ObjectReader(value)
      .optional_with("type", choice("partitioner", kPartitionerTypes, partitioner.type))
      .optional_with("sort_by", choice("order", kSortBy, partitioner.sort_by))
      .optional("balance_modules", partitioner.balance_modules)
      .optional("max_search_count", partitioner.max_search_count)
      .optional("tolerance", partitioner.tolerance)
      .finish();
}

}  // namespace

void read_planner_parts(ObjectReader& reader, ProblemSpec& spec) {
  reader.optional_with("sharder", [&](JsonValue v) { return read_sharder(v, spec.sharder); })
      .optional_with("reservation",
                     [&](JsonValue v) { return read_reservation(v, spec.reservation); })
      .optional_with("proposers", [&](JsonValue v) { return read_proposers(v, spec.proposers); })
      .optional_with("partitioner",
                     [&](JsonValue v) { return read_partitioner(v, spec.partitioner); })
      .optional_with("perf_model", choice("perf model", kPerfModels, spec.perf_model))
      .optional_with("storage_estimator",
                     [&](JsonValue v) { return read_storage_estimator(v, spec.storage_estimator); })
      .optional_with("perf_estimator",
                     [&](JsonValue v) { return read_perf_estimator(v, spec.perf_estimator); });
}

}  // namespace shardwright::internal
