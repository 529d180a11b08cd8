// The C interface gives the library's answers, for every form of input and output.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/capi/shardwright.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/file.h"
#include "tests/runtime/capi/handles.h"

namespace shardwright::answers_test {

using namespace shardwright;
using namespace shardwright::test_support;

namespace {

constexpr const char* kGolden = "tests/golden/embedding/";

// The plan of a result as columns.
struct PlanColumns {
  std::vector<std::uint32_t> table, option, rank;
  std::vector<std::uint64_t> shard_begin;

  explicit PlanColumns(const shardwright_result* result) {
    const shardwright_plan_summary summary = summary_of(result);
    table.resize(summary.num_tables);
    option.resize(summary.num_tables);
    shard_begin.resize(summary.num_tables + 1);
    rank.resize(summary.num_shards);
    shardwright_plan_buffers to{};
    to.struct_size = sizeof(to);
    to.num_tables = summary.num_tables;
    to.num_shards = summary.num_shards;
    to.table = table.data();
    to.option = option.data();
    to.shard_begin = shard_begin.data();
    to.rank = rank.data();
    REQUIRE_OK(shardwright_result_plan(result, &to));
  }
  shardwright_plan_arrays arrays() const {
    shardwright_plan_arrays arrays{};
    arrays.struct_size = sizeof(arrays);
    arrays.num_tables = static_cast<std::uint32_t>(option.size());
    arrays.option = option.data();
    arrays.shard_begin = shard_begin.data();
    arrays.rank = rank.data();
    return arrays;
  }
};

std::string failure_of(const shardwright_result* result, shardwright_text which) {
  std::size_t size = 0;
  REQUIRE_OK(shardwright_result_text(result, which, nullptr, 0, &size));
  std::string text(size, ' ');
  REQUIRE_OK(shardwright_result_text(result, which, text.data(), size + 1, nullptr));
  return text;
}

shardwright_search_space* from_columns(const shardwright_problem* problem, const Columns& columns) {
  const shardwright_option_arrays arrays = columns.arrays();
  shardwright_search_space* space = nullptr;
  REQUIRE_OK(shardwright_search_space_from_arrays(problem, &arrays, &space));
  return space;
}

}  // namespace

TEST_CASE("capi: options given as arrays give TorchRec's recorded answers") {
  for (const std::string name : {"09_mixed_default_20t_16r_2h", "07_grid_shard_4hosts_32r",
                                 "26_offload_scaleup_10t_4r", "30_custom_topology_uneven_hbm_4r",
                                 "11_nofit_insufficient_2r", "36_mid_100t_16r_2h_default"}) {
    CAPTURE(name);
    shardwright_problem* problem = nullptr;
    REQUIRE_OK(shardwright_problem_from_file((kGolden + ("cases/" + name) + ".json.gz").c_str(),
                                             &problem));
    shardwright_search_space* enumerated = space_of(problem);
    shardwright_search_space* space = from_columns(problem, Columns(enumerated));
    shardwright_result* result = plan_of(problem, space, kExactRequest);
    const shardwright_plan_summary summary = summary_of(result);

    const auto text = read_file(kGolden + ("answers/" + name) + ".json.gz");
    REQUIRE(text.ok());
    const auto answer = read_plan(*text);
    REQUIRE(answer.ok());
    REQUIRE(summary.has_plan == (answer->plan ? 1 : 0));
    if (summary.has_plan == 1) {
      CHECK(summary.rating == doctest::Approx(*answer->best_rating).epsilon(1e-9));
      // The plan, passed back as numbers, has the same rating.
      shardwright_search_space* full = nullptr;
      REQUIRE_OK(shardwright_result_search_space(result, &full));
      const PlanColumns plan(result);
      const shardwright_plan_arrays arrays = plan.arrays();
      shardwright_result* evaluated = nullptr;
      REQUIRE_OK(shardwright_evaluate(problem, full, &arrays, &evaluated));
      CHECK(summary_of(evaluated).rating == summary.rating);
      CHECK(summary_of(evaluated).num_violations == summary.num_violations);
      CHECK_OK(shardwright_result_destroy(evaluated));
      CHECK_OK(shardwright_search_space_destroy(full));
    } else {
      CHECK(std::isnan(summary.rating));
      CHECK(failure_of(result, SHARDWRIGHT_TEXT_FAILURE_TYPE) == "insufficient_storage");
      CHECK(failure_of(result, SHARDWRIGHT_TEXT_FAILURE) != "");
      shardwright_plan_buffers none{};
      none.struct_size = sizeof(none);
      CHECK(shardwright_result_plan(result, &none) == SHARDWRIGHT_NO_PLAN);
      CHECK(last_error().find(failure_of(result, SHARDWRIGHT_TEXT_FAILURE)) != std::string::npos);
    }
    CHECK_OK(shardwright_result_destroy(result));
    CHECK_OK(shardwright_search_space_destroy(space));
    CHECK_OK(shardwright_search_space_destroy(enumerated));
    CHECK_OK(shardwright_problem_destroy(problem));
  }
}

TEST_CASE("capi: SSD goes in and out as HBM and DDR do") {
  const char* const names[] = {"ads"};
  const std::int64_t rows[] = {100000};
  const std::int64_t columns[] = {64};
  const std::int64_t ssd[] = {0, 30000000};
  const std::string settings = R"({"reservation": {"type": "none"}, "constraints": {"ads":
      {"compute_kernels": ["key_value"], "sharding_types": ["table_wise"]}}})";
  shardwright_problem_arrays arrays{};
  arrays.struct_size = sizeof(arrays);
  arrays.num_tables = 1;
  arrays.num_ranks = 2;
  arrays.name = names;
  arrays.rows = rows;
  arrays.columns = columns;
  arrays.settings = settings.data();
  arrays.settings_size = settings.size();
  arrays.ssd = ssd;
  shardwright_problem* problem = nullptr;
  REQUIRE_OK(shardwright_problem_from_arrays(&arrays, &problem));
  shardwright_search_space* space = nullptr;
  REQUIRE_OK(shardwright_search_space_enumerate(problem, &space));
  const Columns options(space);
  constexpr std::int64_t kBytes = 100000 * (64 * 4) + 720000;
  CHECK(options.ssd == std::vector<std::int64_t>{kBytes});
  const shardwright_option_arrays given = options.arrays();
  shardwright_search_space* copy = nullptr;
  REQUIRE_OK(shardwright_search_space_from_arrays(problem, &given, &copy));
  CHECK(Columns(copy).ssd == options.ssd);
  shardwright_result* result = plan_of(problem, copy, kExactRequest);
  std::int64_t used[2] = {-1, -1};
  std::int64_t available[2] = {-1, -1};
  shardwright_rank_buffers ranks{};
  ranks.struct_size = sizeof(ranks);
  ranks.num_ranks = 2;
  ranks.ssd = used;
  ranks.available_ssd = available;
  REQUIRE_OK(shardwright_result_ranks(result, &ranks));
  CHECK(used[0] == 0);
  CHECK(used[1] == kBytes);
  CHECK(available[0] == 0);
  CHECK(available[1] == 30000000);
  CHECK_OK(shardwright_result_destroy(result));
  for (shardwright_search_space* each : {space, copy})
    CHECK_OK(shardwright_search_space_destroy(each));
  CHECK_OK(shardwright_problem_destroy(problem));
}

TEST_CASE("capi: a problem given as arrays equals the same problem read from a file") {
  const char* const names[] = {"ads", "pages", "words"};
  const std::int64_t rows[] = {4000000, 390000, 1000};
  const std::int64_t columns[] = {128, 64, 64};
  const double lookups[] = {20, 5, 1};
  const std::int64_t hbm[] = {17179869184, 17179869184, 17179869184, 17179869184};
  const std::string settings = R"({"dense_params": 1000000, "proposers": [{"type": "uniform"}],
                                   "topology": {"world_size": 9, "inter_host_bw": 1e6}})";
  shardwright_problem_arrays arrays{};
  arrays.struct_size = sizeof(arrays);
  arrays.num_tables = 3;
  arrays.num_ranks = 4;
  arrays.ranks_per_host = 2;
  arrays.batch_size = 1024;
  arrays.name = names;
  arrays.rows = rows;
  arrays.columns = columns;
  arrays.pooling_factor = lookups;
  arrays.hbm = hbm;
  arrays.settings = settings.data();
  arrays.settings_size = settings.size();
  shardwright_problem* problem = nullptr;
  REQUIRE_OK(shardwright_problem_from_arrays(&arrays, &problem));
  shardwright_problem* same = problem_of(
      R"({"topology": {"world_size": 4, "local_world_size": 2, "hbm_cap": 17179869184, "inter_host_bw": 1e6},
          "batch_size": 1024, "dense_params": 1000000, "proposers": [{"type": "uniform"}],
          "tables": [{"name": "ads", "num_embeddings": 4000000, "embedding_dim": 128, "pooling_factor": 20},
                     {"name": "pages", "num_embeddings": 390000, "embedding_dim": 64, "pooling_factor": 5},
                     {"name": "words", "num_embeddings": 1000, "embedding_dim": 64, "pooling_factor": 1}]})");
  shardwright_result* a = plan_of(problem, nullptr, kExactRequest);
  shardwright_result* b = plan_of(same, nullptr, kExactRequest);
  CHECK(summary_of(a).rating == summary_of(b).rating);
  CHECK(summary_of(a).num_proposals == summary_of(b).num_proposals);
  CHECK(PlanColumns(a).rank == PlanColumns(b).rank);

  const std::string tables = R"({"tables": []})";
  arrays.settings = tables.data();
  arrays.settings_size = tables.size();
  shardwright_problem* refused = nullptr;
  CHECK(shardwright_problem_from_arrays(&arrays, &refused) == SHARDWRIGHT_INVALID_INPUT);
  CHECK(last_error().find("tables") != std::string::npos);
  for (shardwright_result* result : {a, b})
    CHECK_OK(shardwright_result_destroy(result));
  for (shardwright_problem* each : {problem, same})
    CHECK_OK(shardwright_problem_destroy(each));
}

TEST_CASE("capi: bad input names its place") {
  shardwright_problem* problem = nullptr;
  const std::string text = R"({"topology": {"world_size": 4}, "tables": [{"name": "a",
      "num_embeddings": -1, "embedding_dim": 64}]})";
  CHECK(shardwright_problem_from_json(text.data(), text.size(), &problem) ==
        SHARDWRIGHT_INVALID_INPUT);
  CHECK(std::string(shardwright_last_error_place()) == "/tables/0/num_embeddings");
  CHECK(shardwright_problem_from_json("{", 1, &problem) == SHARDWRIGHT_INVALID_INPUT);
  CHECK(std::string(shardwright_last_error_place()).starts_with("line 1"));
  CHECK(shardwright_problem_from_file("/nowhere/at/all", &problem) == SHARDWRIGHT_INVALID_INPUT);
  CHECK(std::string(shardwright_last_error_place()) == "/nowhere/at/all");
}

TEST_CASE("capi: errors of options that do not fit the problem name option and shard") {
  shardwright_problem* problem = problem_of(kSmallProblem);
  shardwright_search_space* space = space_of(problem);
  const Columns good(space);
  const auto refused_arrays = [&](const shardwright_option_arrays& arrays,
                                  const std::string& place) {
    shardwright_search_space* none = space;
    CHECK(shardwright_search_space_from_arrays(problem, &arrays, &none) ==
          SHARDWRIGHT_INVALID_INPUT);
    CHECK(std::string(shardwright_last_error_place()) == place);
    CHECK(none == nullptr);
  };
  const auto refused = [&](const Columns& columns, const std::string& place) {
    refused_arrays(columns.arrays(), place);
  };
  const std::string last_shard =
      "/options/1/shards/" + std::to_string(good.shard_begin[2] - good.shard_begin[1] - 1);
  const std::uint64_t at = good.shard_begin[2] - 1;
  Columns bad = good;
  bad.table[1] = 3;
  refused(bad, "/options/1");
  bad = good;
  bad.sharding_type[2] = 7;
  refused(bad, "/options/2/sharding_type");
  bad = good;
  bad.compute_kernel[0] = 99;
  refused(bad, "/options/0/compute_kernel");
  bad = good;
  bad.size[2 * at] = 1 << 30;
  refused(bad, last_shard);
  bad = good;
  bad.hbm[at] = -1;
  refused(bad, last_shard);
  bad = good;
  bad.hbm[at] = std::int64_t{1} << 62;
  refused(bad, last_shard);
  bad = good;
  bad.perf[5 * at + 3] = std::numeric_limits<double>::quiet_NaN();
  refused(bad, last_shard);
  bad.perf[5 * at + 3] = std::numeric_limits<double>::infinity();
  refused(bad, last_shard);
  bad = good;
  bad.shard_begin[2] = bad.shard_begin[1];
  refused(bad, "/options/1/shards");
  bad = good;
  bad.shard_begin[1] = bad.shard_begin[2] + 1;
  refused(bad, "/shard_begin/2");
  bad = good;
  bad.size[2 * at] -= 1;
  refused(bad, "/options/1/shards");
  shardwright_option_arrays of_first_table = good.arrays();
  while (of_first_table.table[of_first_table.num_options - 1] != 0)
    --of_first_table.num_options;
  refused_arrays(of_first_table, "/options");
  CHECK_OK(shardwright_search_space_destroy(from_columns(problem, good)));
  CHECK_OK(shardwright_search_space_destroy(space));
  CHECK_OK(shardwright_problem_destroy(problem));
}

TEST_CASE("capi: a plan from the caller is checked like any other") {
  shardwright_problem* problem = problem_of(kSmallProblem);
  shardwright_search_space* space = space_of(problem);
  shardwright_result* result = plan_of(problem, space, kExactRequest);
  const PlanColumns good(result);
  PlanColumns bad = good;
  bad.rank[0] = 17;
  bad.option[1] = good.option[1];
  shardwright_plan_arrays arrays = bad.arrays();
  shardwright_result* evaluated = nullptr;
  REQUIRE_OK(shardwright_evaluate(problem, space, &arrays, &evaluated));
  CHECK(summary_of(evaluated).num_violations > 0);
  char text[400] = "";
  REQUIRE_OK(shardwright_result_violation(evaluated, 0, text, sizeof(text), nullptr));
  CHECK(std::string(text).find("17") != std::string::npos);
  CHECK_OK(shardwright_result_destroy(evaluated));

  bad = good;
  bad.option[2] = 1000;
  arrays = bad.arrays();
  CHECK(shardwright_evaluate(problem, space, &arrays, &evaluated) == SHARDWRIGHT_INVALID_INPUT);
  CHECK(std::string(shardwright_last_error_place()) == "/option/2");
  bad = good;
  ++bad.shard_begin[1];
  arrays = bad.arrays();
  CHECK(shardwright_evaluate(problem, space, &arrays, &evaluated) == SHARDWRIGHT_INVALID_INPUT);
  CHECK(std::string(shardwright_last_error_place()) == "/shard_begin/0");
  CHECK_OK(shardwright_result_destroy(result));
  CHECK_OK(shardwright_search_space_destroy(space));
  CHECK_OK(shardwright_problem_destroy(problem));
}

TEST_CASE("capi: verification reports what a changed plan violates") {
  shardwright_problem* problem = problem_of(kSmallProblem);
  shardwright_result* result = plan_of(problem, nullptr, kExactRequest);
  std::size_t size = 0;
  REQUIRE_OK(shardwright_result_to_json(result, 0, nullptr, 0, &size));
  std::string text(size, ' ');
  REQUIRE_OK(shardwright_result_to_json(result, 0, text.data(), size + 1, nullptr));
  const std::size_t rating = text.find("\"best_rating\":");
  REQUIRE(rating != std::string::npos);
  text.insert(text.find_first_of("0123456789", rating), "1");
  const std::string request = R"({"problem": )" + kSmallProblem + R"(, "plan": )" + text + "}";
  shardwright_answer* answer = nullptr;
  REQUIRE_OK(shardwright_ask("verify", request.data(), request.size(), nullptr, &answer));
  shardwright_outcome outcome = SHARDWRIGHT_DONE;
  REQUIRE_OK(shardwright_answer_summary(answer, &outcome, nullptr));
  CHECK(outcome == SHARDWRIGHT_VIOLATION);
  char found[2000] = "";
  REQUIRE_OK(shardwright_answer_to_text(answer, 0, found, sizeof(found), nullptr));
  CHECK(std::string(found).starts_with("violation: /best_rating: "));
  CHECK_OK(shardwright_answer_destroy(answer));
  CHECK_OK(shardwright_result_destroy(result));
  CHECK_OK(shardwright_problem_destroy(problem));
}

TEST_CASE("capi: limits, cancelling and the callback end a search with the best so far") {
  shardwright_problem* problem = nullptr;
  REQUIRE_OK(shardwright_problem_from_file(
      "tests/golden/embedding/cases/36_mid_100t_16r_2h_default.json.gz", &problem));
  shardwright_ask_options options{};
  std::string request = R"({"threads": 2})";

  SUBCASE("cancelled before the start") {
    shardwright_cancel* cancel = nullptr;
    REQUIRE_OK(shardwright_cancel_create(&cancel));
    REQUIRE_OK(shardwright_cancel_request(cancel));
    options.cancel = cancel;
    shardwright_result* result = plan_of(problem, nullptr, request, options);
    CHECK(summary_of(result).stopped_by == SHARDWRIGHT_STOPPED_BY_CANCEL);
    CHECK_OK(shardwright_result_destroy(result));
    CHECK_OK(shardwright_cancel_destroy(cancel));
    shardwright_result* none = nullptr;
    CHECK(ask_plan(problem, nullptr, request, options, &none) == SHARDWRIGHT_INVALID_HANDLE);
    CHECK(std::string(shardwright_last_error_place()) == "options.cancel");
  }
  SUBCASE("the callback cancels") {
    options.progress = [](void*, const shardwright_progress* progress) -> std::int32_t {
      return progress->has_rating != 0 ? 1 : 0;
    };
    shardwright_result* result = plan_of(problem, nullptr, request, options);
    CHECK(summary_of(result).stopped_by == SHARDWRIGHT_STOPPED_BY_CANCEL);
    CHECK(summary_of(result).has_plan == 1);
    CHECK_OK(shardwright_result_destroy(result));
  }
  SUBCASE("work limit") {
    request = R"({"threads": 2, "mode": "compat", "work_limit": 20000})";
    shardwright_result* result = plan_of(problem, nullptr, request, options);
    CHECK(summary_of(result).stopped_by == SHARDWRIGHT_STOPPED_BY_WORK_LIMIT);
    CHECK(summary_of(result).work_steps <= 20'000 + 2'000);
    CHECK_OK(shardwright_result_destroy(result));
  }
  SUBCASE("an exception of the callback is an error and does not end the program") {
    options.progress = [](void*, const shardwright_progress*) -> std::int32_t {
      throw std::runtime_error("thrown by the host");
    };
    shardwright_result* result = nullptr;
    CHECK(ask_plan(problem, nullptr, request, options, &result) == SHARDWRIGHT_INTERNAL);
    CHECK(last_error().find("thrown by the host") != std::string::npos);
    options.progress = [](void*, const shardwright_progress*) -> std::int32_t { throw 7; };
    CHECK(ask_plan(problem, nullptr, request, options, &result) == SHARDWRIGHT_INTERNAL);
  }
  SUBCASE("an invalid member is refused by name") {
    const auto refused = [&](const char* members, const char* place) {
      shardwright_result* result = nullptr;
      CHECK(ask_plan(problem, nullptr, members, options, &result) == SHARDWRIGHT_INVALID_INPUT);
      CHECK(std::string(shardwright_last_error_place()) == place);
    };
    refused(R"({"threads": -1})", "/threads");
    refused(R"({"lanes": 2})", "/lanes");
    refused(R"({"mode": "fast"})", "/mode");
    refused(R"({"time_limit": -1})", "/time_limit");
    refused(R"({"ranks": 8})", "/ranks");  // the problem was read before
  }
  CHECK_OK(shardwright_problem_destroy(problem));
}

}  // namespace shardwright::answers_test
