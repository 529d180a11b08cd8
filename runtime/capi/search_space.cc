// Calls that make search spaces from JSON and arrays, or write them.
#include <cmath>
#include <limits>
#include <string>

#include "runtime/capi/boundary.h"
#include "runtime/capi/shardwright.h"
#include "runtime/io/embedding/search_space_json.h"
#include "search/embedding/compat/perf_estimator.h"

using namespace shardwright;
using namespace shardwright::capi;
using embedding::ComputeKernel;
using embedding::estimate_input_dist;
using embedding::estimate_inputs;
using embedding::SearchSpace;
using embedding::ShardCost;
using embedding::ShardExtent;
using embedding::ShardingOption;
using embedding::ShardingType;

namespace {

// Throws CallFailure at `place()` if the status is an error.
template <class Place>
void take_at(const Status& status, const Place& place) {
  if (!status.ok()) fail(SHARDWRIGHT_INVALID_INPUT, status.error().message, place());
}

// Reads options one by one from the caller's arrays.
class ArrayReader {
 public:
  ArrayReader(const shardwright_option_arrays& arrays,
              std::shared_ptr<const embedding::Problem> problem)
      : arrays_(arrays), builder_(std::move(problem)) {
    if (arrays_.num_options == 0) return;
    required(arrays_.table, "options.table");
    required(arrays_.sharding_type, "options.sharding_type");
    required(arrays_.compute_kernel, "options.compute_kernel");
    required(arrays_.shard_begin, "options.shard_begin");
    required(arrays_.size, "options.size");
    required(arrays_.offset, "options.offset");
    required(arrays_.perf, "options.perf");
    // Checked first, so that nothing beyond the last shard is read.
    for (std::size_t i = 0; i < arrays_.num_options; ++i) {
      if (arrays_.shard_begin[i] > arrays_.shard_begin[i + 1]) {
        fail(SHARDWRIGHT_INVALID_INPUT, "must not fall", "/shard_begin/" + std::to_string(i + 1));
      }
    }
  }

  std::shared_ptr<const SearchSpace> read() {
    builder_.reserve(arrays_.num_options);
    for (std::size_t i = 0; i < arrays_.num_options; ++i)
      read_option(i);
    auto space = builder_.finish();
    if (!space.ok()) fail(SHARDWRIGHT_INVALID_INPUT, space.error().message, "/options");
    return std::move(space).value();
  }

 private:
  void read_option(std::size_t i) {
    const auto place = [i] { return "/options/" + std::to_string(i); };
    take_at(
        builder_.begin_option(arrays_.table[i],
                              kind_of<ShardingType>(arrays_.sharding_type[i],
                                                    [&] { return place() + "/sharding_type"; }),
                              kind_of<ComputeKernel>(arrays_.compute_kernel[i],
                                                     [&] { return place() + "/compute_kernel"; })),
        place);
    if (arrays_.load_factor != nullptr && !std::isnan(arrays_.load_factor[i])) {
      builder_.option().load_factor = arrays_.load_factor[i];
    }
    const std::uint64_t begin = arrays_.shard_begin[i];
    const std::uint64_t end = arrays_.shard_begin[i + 1];
    for (std::uint64_t j = begin; j < end; ++j) {
      take_at(builder_.add_shards(extent(j), cost(j)),
              [&] { return place() + "/shards/" + std::to_string(j - begin); });
    }
    take_at(builder_.end_option(), [&] { return place() + "/shards"; });
  }

  ShardExtent extent(std::uint64_t j) const {
    ShardExtent extent;
    extent.rows = arrays_.size[2 * j];
    extent.columns = arrays_.size[2 * j + 1];
    extent.row_offset = arrays_.offset[2 * j];
    extent.column_offset = arrays_.offset[2 * j + 1];
    extent.count = 1;
    return extent;
  }

  ShardCost cost(std::uint64_t j) const {
    const double* perf = arrays_.perf + 5 * j;
    return {{Bytes(arrays_.hbm == nullptr ? 0 : arrays_.hbm[j]),
             Bytes(arrays_.ddr == nullptr ? 0 : arrays_.ddr[j]),
             Bytes(arrays_.ssd == nullptr ? 0 : arrays_.ssd[j])},
            {Milliseconds(perf[0]), Milliseconds(perf[1]), Milliseconds(perf[2]),
             Milliseconds(perf[3]), Milliseconds(perf[4])}};
  }

  shardwright_option_arrays arrays_;
  SearchSpaceBuilder builder_;
};

// Writes the shards of one option to the caller's arrays, from index `shard` on.
void write_shards(const ShardingOption& option, std::uint64_t shard,
                  const shardwright_option_buffers& to) {
  for (std::size_t run = 0; run < option.costs.size(); ++run) {
    const ShardExtent& extent = option.layout->extents[run];
    const ShardCost& cost = option.costs[run];
    const double perf[] = {cost.perf.fwd_compute.value(), cost.perf.fwd_comms.value(),
                           cost.perf.bwd_compute.value(), cost.perf.bwd_comms.value(),
                           cost.perf.prefetch_compute.value()};
    for (std::int64_t k = 0; k < extent.count; ++k, ++shard) {
      put(to.size, 2 * shard, extent.rows);
      put(to.size, 2 * shard + 1, extent.columns);
      put(to.offset, 2 * shard, extent.row_offset + k * extent.row_step);
      put(to.offset, 2 * shard + 1, extent.column_offset + k * extent.column_step);
      put(to.hbm, shard, cost.storage.hbm.value());
      put(to.ddr, shard, cost.storage.ddr.value());
      put(to.ssd, shard, cost.storage.ssd.value());
      for (std::uint64_t part = 0; part < 5; ++part)
        put(to.perf, 5 * shard + part, perf[part]);
    }
  }
}

std::uint64_t num_shards(const SearchSpace& space) {
  std::uint64_t sum = 0;
  for (const ShardingOption& option : space.options())
    sum += option.num_shards();
  return sum;
}

}  // namespace

shardwright_status shardwright_search_space_enumerate(const shardwright_problem* problem,
                                                      shardwright_search_space** space) {
  return guarded([&] {
    HandleOutput out(space, "space");
    out.set(take(enumerate_embedding(object_of(problem, "problem"))));
  });
}

shardwright_status shardwright_search_space_from_json(const shardwright_problem* problem,
                                                      const char* text, size_t size,
                                                      shardwright_search_space** space) {
  return guarded([&] {
    HandleOutput out(space, "space");
    out.set(take(read_search_space(given_text(text, size, "text"), object_of(problem, "problem"))));
  });
}

shardwright_status shardwright_search_space_from_arrays(const shardwright_problem* problem,
                                                        const shardwright_option_arrays* options,
                                                        shardwright_search_space** space) {
  return guarded([&] {
    HandleOutput out(space, "space");
    auto object = object_of(problem, "problem");
    out.set(ArrayReader(read_struct(options, "options"), std::move(object)).read());
  });
}

shardwright_status shardwright_search_space_sizes(const shardwright_search_space* space,
                                                  shardwright_search_space_info* info) {
  return guarded([&] {
    const auto object = object_of(space, "space");
    shardwright_search_space_info known{};
    known.num_options = static_cast<uint32_t>(object->size());
    known.num_shards = num_shards(*object);
    write_struct(known, info, "info");
  });
}

shardwright_status shardwright_search_space_to_arrays(const shardwright_search_space* space,
                                                      const shardwright_option_buffers* options) {
  return guarded([&] {
    const auto object = object_of(space, "space");
    const shardwright_option_buffers to = read_struct(options, "options");
    check_room(to.num_options, object->size(), "options.num_options");
    check_room(to.num_shards, num_shards(*object), "options.num_shards");
    std::uint64_t shard = 0;
    for (std::size_t i = 0; i < object->size(); ++i) {
      const ShardingOption& option = object->options()[i];
      put(to.table, i, option.table.value());
      put(to.sharding_type, i, option.sharding_type);
      put(to.compute_kernel, i, option.compute_kernel);
      put(to.load_factor, i, option.load_factor.value_or(std::numeric_limits<double>::quiet_NaN()));
      put(to.shard_begin, i, shard);
      put(to.is_weighted, i, option.is_weighted);
      if (to.input_dist_comms != nullptr)
        to.input_dist_comms[i] =
            estimate_input_dist(estimate_inputs(object->problem(), option)).value();
      write_shards(option, shard, to);
      shard += option.num_shards();
    }
    put(to.shard_begin, object->size(), shard);
  });
}

shardwright_status shardwright_search_space_to_json(const shardwright_search_space* space,
                                                    char* buffer, size_t capacity, size_t* size) {
  return guarded([&] {
    std::string text;
    write_search_space(*object_of(space, "space"), ShardForm::kExpanded,
                       [&](std::string_view piece) { text += piece; });
    put_text(text, buffer, capacity, size);
  });
}

shardwright_status shardwright_search_space_destroy(shardwright_search_space* space) {
  return destroy(space, "space");
}
