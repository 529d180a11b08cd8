#include "search/embedding/compat/storage_estimator.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/numeric/exact_mean.h"

namespace shardwright::embedding {
namespace {

constexpr double kMaxBytes = 4611686018427387904.0;  // 2^62

// A sum of byte counts, which remembers whether it ever left the valid range.
class ByteCount {
 public:
  ByteCount() = default;
  static ByteCount ceil(double bytes) { return from(std::ceil(bytes)); }
  static ByteCount from(double whole) {
    ByteCount count;
    count.valid_ = whole >= 0 && whole < kMaxBytes;
    count.bytes_ = count.valid_ ? static_cast<std::int64_t>(whole) : 0;
    return count;
  }
  static ByteCount of(std::int64_t bytes) {
    ByteCount count;
    count.bytes_ = bytes;
    return count;
  }

  ByteCount operator+(ByteCount other) const {
    ByteCount sum;
    std::int64_t bytes = 0;
    sum.valid_ = valid_ && other.valid_ && !__builtin_add_overflow(bytes_, other.bytes_, &bytes) &&
                 static_cast<double>(bytes) < kMaxBytes;
    sum.bytes_ = sum.valid_ ? bytes : 0;
    return sum;
  }
  ByteCount times(std::int64_t factor) const {
    ByteCount product;
    std::int64_t bytes = 0;
    product.valid_ = valid_ && !__builtin_mul_overflow(bytes_, factor, &bytes);
    product.bytes_ = product.valid_ ? bytes : 0;
    return product;
  }
  bool valid() const { return valid_; }
  std::int64_t bytes() const { return bytes_; }
  double as_double() const { return static_cast<double>(bytes_); }

 private:
  std::int64_t bytes_ = 0;
  bool valid_ = true;
};

// Bytes of a whole table, by tier. Source: storage_usage of BaseEmbeddingSharder and
// BaseQuantEmbeddingSharder, torchrec/distributed/embedding_types.py.
struct TableBytes {
  std::int64_t hbm = 0;
  std::int64_t ddr = 0;
};

TableBytes table_bytes(const EstimateInputs& in) {
  const ComputeDevice device = in.problem->topology().compute_device();
  const bool quant = in.problem->spec().sharder.type == SharderSpec::Type::kQuant;
  // Quantised tables keep 4 bytes per row beside the weights.
  const std::int64_t bytes = in.tensor_bytes + (quant ? in.table->num_embeddings * 4 : 0);
  const bool uvm = quant ? in.compute_kernel == ComputeKernel::kQuantUvm ||
                               in.compute_kernel == ComputeKernel::kQuantUvmCaching
                         : in.compute_kernel == ComputeKernel::kFusedUvm ||
                               in.compute_kernel == ComputeKernel::kFusedUvmCaching;
  const bool on_device =
      device != ComputeDevice::kCpu && !(device == ComputeDevice::kMtia && quant);
  return !uvm && on_device ? TableBytes{bytes, 0} : TableBytes{0, bytes};
}

bool is_key_value(ComputeKernel kernel) {
  return kernel == ComputeKernel::kKeyValue || kernel == ComputeKernel::kSsdVirtualTable ||
         kernel == ComputeKernel::kDramVirtualTable ||
         kernel == ComputeKernel::kDramSsdVirtualTable;
}

bool is_cached(ComputeKernel kernel) {
  return kernel == ComputeKernel::kFusedUvmCaching || kernel == ComputeKernel::kQuantUvmCaching ||
         is_key_value(kernel);
}

// Bytes of optimizer state per byte of weights.
double optimizer_multiplier(const EstimateInputs& in) {
  switch (in.table->optimizer) {
    case Optimizer::kUnset:
    case Optimizer::kSgd:
      return 0;
    case Optimizer::kAdam:
      return 2;
    case Optimizer::kRowWiseAdagrad:
      return 1 / in.columns;
    case Optimizer::kAdagrad:
    case Optimizer::kOther:
      return 1;
  }
  return 0;
}

// The shard's part of a table that takes `storage` bytes, with optimizer and cache state.
// `cache_load_factor`: set for the tier that holds a cache.
ByteCount specific_size(const EstimateInputs& in, std::int64_t storage, const ShardExtent& extent,
                        std::optional<double> cache_load_factor) {
  ByteCount weights = ByteCount::of(storage);
  if (in.sharding_type != ShardingType::kDataParallel) {
    // The elements are below 2^60 and the bytes below 2^62, so the product is below 2^122.
    const auto part = static_cast<WideUnsigned>(extent.rows) *
                      static_cast<WideUnsigned>(extent.columns) *
                      static_cast<WideUnsigned>(storage);
    weights = ByteCount::ceil(true_divide(
        part, static_cast<std::uint64_t>(in.rows) * static_cast<std::uint64_t>(in.columns)));
  }
  if (in.problem->spec().storage_estimator.is_inference) return weights;
  // Python multiplies integers exactly, and rounds only a product with a fraction.
  const double multiplier = optimizer_multiplier(in);
  const ByteCount optimizer = multiplier == std::trunc(multiplier)
                                  ? weights.times(static_cast<std::int64_t>(multiplier))
                                  : ByteCount::ceil(weights.as_double() * multiplier);
  // Cache state: 4 bytes per row, 16 bytes per cached row.
  const ByteCount state =
      cache_load_factor
          ? ByteCount::ceil(static_cast<double>(extent.rows) * (4 + *cache_load_factor * 16))
          : ByteCount();
  return state + weights + optimizer;
}

struct IoSizes {
  ByteCount input;
  ByteCount output;
};

IoSizes io_sizes(const EstimateInputs& in, const ShardExtent& extent) {
  const double world = in.problem->topology().world_size();
  const double columns = static_cast<double>(extent.columns);
  double inputs = in.batch.inputs;
  double outputs = in.batch.outputs;
  switch (in.sharding_type) {
    case ShardingType::kDataParallel:
      return {ByteCount::ceil(inputs * kInputDataTypeSize),
              ByteCount::ceil(outputs * in.columns * in.output_data_type_size)};
    case ShardingType::kRowWise:
    case ShardingType::kTableRowWise:
    case ShardingType::kGridShard:
      if (extent.empty()) return {};
      inputs /= in.sharding_type == ShardingType::kRowWise
                    ? world
                    : static_cast<double>(in.problem->topology().local_world_size());
      if (!in.is_pooled) outputs = inputs;
      break;
    case ShardingType::kTableWise:
    case ShardingType::kColumnWise:
    case ShardingType::kTableColumnWise:
      break;
  }
  return {ByteCount::ceil(inputs * world * kInputDataTypeSize),
          ByteCount::ceil(outputs * world * columns * in.output_data_type_size)};
}

int prefetch_passes(const EstimateInputs& in) {
  const auto& constraints = in.table->constraints;
  std::optional<int> passes;
  if (constraints && constraints->cache_params) passes = constraints->cache_params->prefetch_passes;
  if (!passes) passes = in.problem->spec().sharder.prefetch_passes;
  return passes.value_or(0) == 0 ? 1 : *passes;
}

// Bytes of inputs and outputs at the memory peak of the training pipeline.
// Source: calculate_pipeline_io_cost, torchrec/distributed/planner/shard_estimators.py.
ByteCount pipeline_io(const EstimateInputs& in, const IoSizes& io) {
  const StorageEstimatorSpec& spec = in.problem->spec().storage_estimator;
  if (spec.is_inference) return {};
  const ByteCount at_peak = spec.run_embedding_at_peak_memory ? io.output : ByteCount();
  switch (spec.pipeline_type) {
    case PipelineType::kTrainSparseDist:
      return io.input.times(2) + at_peak;
    case PipelineType::kTrainPrefetchSparseDist: {
      const double burst = 1 + 6.0 / prefetch_passes(in);
      const double prefetched = is_cached(in.compute_kernel) ? io.input.as_double() : 0;
      return io.input.times(3) + ByteCount::from(std::trunc(burst * prefetched)) + at_peak;
    }
    case PipelineType::kNone:
    case PipelineType::kTrainBase:
      break;
  }
  return io.input + io.output;
}

// HBM that a key-value table uses: its L1 cache, but at most the cached fraction of the table.
ByteCount key_value_hbm(const EstimateInputs& in) {
  const auto& constraints = in.table->constraints;
  std::int64_t l1_mib = 0;
  if (constraints && constraints->key_value_params) {
    l1_mib = constraints->key_value_params->max_l1_cache_size_mib.value_or(0);
  }
  const double load = in.problem->spec().sharder.cache_load_factor.value_or(kDefaultCachingRatio);
  const ByteCount share =
      ByteCount::ceil(in.rows * load * static_cast<double>(in.table_data_type_size) * in.columns);
  const ByteCount l1 = ByteCount::of(l1_mib * kMebibyte);
  return !share.valid() || l1.bytes() < share.bytes() ? l1 : share;
}

// SSD that a shard with kernel key_value takes: that of a shard in device memory, with cache state.
// Source: calculate_shard_storages, torchrec/distributed/planner/shard_estimators.py of TorchRec
// 1.9.2.
ByteCount key_value_ssd(const EstimateInputs& in, const TableBytes& table,
                        const ShardExtent& extent, double caching_ratio) {
  if (in.compute_kernel != ComputeKernel::kKeyValue || !in.problem->topology().counts_ssd())
    return {};
  return specific_size(in, table.hbm, extent, caching_ratio) +
         specific_size(in, table.ddr, extent, std::nullopt);
}

constexpr double kMostCacheBytes = 0x1p62;

Error too_many_bytes(const EstimateInputs& in) {
  return invalid_input("", "a shard of table \"" + in.table->name +
                               "\" would take more than 2^62 bytes; check its rows, columns, "
                               "pooling factors and the batch size");
}

}  // namespace

Result<Storage> estimate_storage(const EstimateInputs& in, const ShardExtent& extent) {
  const bool cached = is_cached(in.compute_kernel);
  // On tpu TorchRec counts no memory of shards.
  const ComputeDevice device = in.problem->topology().compute_device();
  const bool has_hbm = device == ComputeDevice::kCuda || device == ComputeDevice::kMtia;
  const bool inference = in.problem->spec().storage_estimator.is_inference;
  const double given = in.caching_ratio.value_or(0);
  const double caching_ratio = given != 0 ? given : kDefaultCachingRatio;

  TableBytes table = table_bytes(in);
  const ByteCount ssd = key_value_ssd(in, table, extent, caching_ratio);
  if (cached) {
    // Python's round: to the nearest, halves to even. A load factor that a proposer made may be
    // NaN, which Python refuses to round.
    const double bytes = std::nearbyint(static_cast<double>(table.ddr) * caching_ratio);
    if (!(std::abs(bytes) <= kMostCacheBytes)) return too_many_bytes(in);
    table.hbm = static_cast<std::int64_t>(bytes);
  }
  ByteCount hbm = specific_size(in, table.hbm, extent,
                                cached ? std::optional<double>(caching_ratio) : std::nullopt);
  ByteCount ddr = specific_size(in, table.ddr, extent, std::nullopt);
  const bool is_virtual = in.table->constraints && in.table->constraints->use_virtual_table;
  if (is_key_value(in.compute_kernel) || is_virtual) {
    hbm = key_value_hbm(in);
    ddr = ByteCount();
  }
  const IoSizes io = io_sizes(in, extent);
  hbm = has_hbm ? hbm + pipeline_io(in, io) : ByteCount();
  if (device == ComputeDevice::kCpu && !inference) {
    ddr = io.input + io.output + ddr;
  }
  if (!hbm.valid() || !ddr.valid() || !ssd.valid()) return too_many_bytes(in);
  return Storage{Bytes(hbm.bytes()), Bytes(ddr.bytes()), Bytes(ssd.bytes())};
}

double synced_bytes(const EstimateInputs& in, const ShardExtent& extent) {
  const double share = static_cast<double>(extent.rows) / in.rows *
                       (static_cast<double>(extent.columns) / in.columns);
  const std::optional<ShardingGroupSpec>& groups = in.problem->topology().spec().groups;
  const double state = groups && groups->include_optimizer_state ? optimizer_multiplier(in) : 0;
  return static_cast<double>(in.tensor_bytes) * share * (1 + state);
}

ShardIo shard_io(const EstimateInputs& in, const ShardExtent& extent) {
  const IoSizes io = io_sizes(in, extent);
  return {io.input.bytes(), io.output.bytes()};
}

}  // namespace shardwright::embedding
