// Helpers for tests of the C interface.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "runtime/capi/shardwright.h"

namespace shardwright::test_support {

inline std::string last_error() {
  return std::string(shardwright_last_error_place()) + ": " + shardwright_last_error_message();
}

#define CHECK_OK(call) CHECK_MESSAGE((call) == SHARDWRIGHT_OK, test_support::last_error())
#define REQUIRE_OK(call) REQUIRE_MESSAGE((call) == SHARDWRIGHT_OK, test_support::last_error())

inline const std::string kSmallProblem =
    R"({"topology": {"world_size": 4, "local_world_size": 2, "hbm_cap": 17179869184},
        "tables": [{"name": "ads", "num_embeddings": 4000000, "embedding_dim": 128},
                   {"name": "pages", "num_embeddings": 390000, "embedding_dim": 64},
                   {"name": "words", "num_embeddings": 1000, "embedding_dim": 64}]})";

inline shardwright_problem* problem_of(const std::string& text) {
  shardwright_problem* problem = nullptr;
  REQUIRE_OK(shardwright_problem_from_json(text.data(), text.size(), &problem));
  return problem;
}

inline shardwright_search_space* space_of(const shardwright_problem* problem) {
  shardwright_search_space* space = nullptr;
  REQUIRE_OK(shardwright_search_space_enumerate(problem, &space));
  return space;
}

// The columns of a search space, which own their memory.
struct Columns {
  std::vector<std::uint32_t> table;
  std::vector<std::uint8_t> sharding_type, compute_kernel;
  std::vector<std::uint64_t> shard_begin;
  std::vector<double> load_factor, perf;
  std::vector<std::int64_t> size, offset, hbm, ddr, ssd;

  explicit Columns(const shardwright_search_space* space) {
    shardwright_search_space_info info{};
    info.struct_size = sizeof(info);
    REQUIRE_OK(shardwright_search_space_sizes(space, &info));
    table.resize(info.num_options);
    sharding_type.resize(info.num_options);
    compute_kernel.resize(info.num_options);
    shard_begin.resize(info.num_options + 1);
    load_factor.resize(info.num_options);
    size.resize(2 * info.num_shards);
    offset.resize(2 * info.num_shards);
    hbm.resize(info.num_shards);
    ddr.resize(info.num_shards);
    ssd.resize(info.num_shards);
    perf.resize(5 * info.num_shards);
    shardwright_option_buffers to{};
    to.struct_size = sizeof(to);
    to.num_options = info.num_options;
    to.num_shards = info.num_shards;
    to.table = table.data();
    to.sharding_type = sharding_type.data();
    to.compute_kernel = compute_kernel.data();
    to.shard_begin = shard_begin.data();
    to.load_factor = load_factor.data();
    to.size = size.data();
    to.offset = offset.data();
    to.hbm = hbm.data();
    to.ddr = ddr.data();
    to.ssd = ssd.data();
    to.perf = perf.data();
    REQUIRE_OK(shardwright_search_space_to_arrays(space, &to));
  }

  shardwright_option_arrays arrays() const {
    shardwright_option_arrays arrays{};
    arrays.struct_size = sizeof(arrays);
    arrays.num_options = static_cast<std::uint32_t>(table.size());
    arrays.table = table.data();
    arrays.sharding_type = sharding_type.data();
    arrays.compute_kernel = compute_kernel.data();
    arrays.shard_begin = shard_begin.data();
    arrays.load_factor = load_factor.data();
    arrays.size = size.data();
    arrays.offset = offset.data();
    arrays.hbm = hbm.data();
    arrays.ddr = ddr.data();
    arrays.ssd = ssd.data();
    arrays.perf = perf.data();
    return arrays;
  }
};

inline shardwright_plan_summary summary_of(const shardwright_result* result) {
  shardwright_plan_summary summary{};
  summary.struct_size = sizeof(summary);
  REQUIRE_OK(shardwright_result_summary(result, &summary));
  return summary;
}

inline const std::string kExactRequest = R"({"mode": "compat", "threads": 1})";

// Asks for a plan of the problem and the space, either of which may be null. Sets these handles in
// `options`.
inline shardwright_status ask_plan(const shardwright_problem* problem,
                                   const shardwright_search_space* space,
                                   const std::string& request, shardwright_ask_options options,
                                   shardwright_result** result) {
  if (options.struct_size == 0) options.struct_size = sizeof(options);
  options.problem = problem;
  options.search_space = space;
  shardwright_answer* answer = nullptr;
  *result = nullptr;
  const shardwright_status asked =
      shardwright_ask("plan", request.data(), request.size(), &options, &answer);
  if (asked != SHARDWRIGHT_OK) return asked;
  const shardwright_status got = shardwright_answer_result(answer, result);
  CHECK_OK(shardwright_answer_destroy(answer));
  return got;
}

inline shardwright_result* plan_of(const shardwright_problem* problem,
                                   const shardwright_search_space* space,
                                   const std::string& request = kExactRequest,
                                   const shardwright_ask_options& options = {}) {
  shardwright_result* result = nullptr;
  REQUIRE_OK(ask_plan(problem, space, request, options, &result));
  return result;
}

}  // namespace shardwright::test_support
