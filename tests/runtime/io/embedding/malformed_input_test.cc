// Problem files that are refused: each error has a place and a helpful message.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/file.h"

namespace shardwright::malformed_input_test {

using namespace shardwright::embedding;
using shardwright::Error;
using shardwright::read_file;
using shardwright::read_problem;
using shardwright::Result;

namespace {

// Returns the error of reading and checking a problem file, or "".
std::string error_of(const std::string& text) {
  const Result<ProblemSpec> spec = read_problem(text);
  if (!spec.ok()) return spec.error().to_string();
  const Result<Problem> problem = Problem::make(*spec);
  return problem.ok() ? "" : problem.error().to_string();
}

struct Malformed {
  const char* members;   // added to a problem with tables "a" and "b" on eight ranks
  const char* expected;  // the beginning of the error
};

std::string with_members(const std::string& members) {
  std::string text = R"({"topology": {"world_size": 8}, "tables": [
    {"name": "a", "num_embeddings": 100, "embedding_dim": 8},
    {"name": "b", "num_embeddings": 100, "embedding_dim": 8}])";
  return text + (members.empty() ? "" : ", ") + members + "}";
}

std::string with_table(const std::string& table) {
  return R"({"topology": {"world_size": 8}, "tables": [)" + table + "]}";
}

std::string with_topology(const std::string& topology) {
  return R"({"topology": {)" + topology +
         R"(}, "tables": [{"name": "a", "num_embeddings": 100, "embedding_dim": 8}]})";
}

void check_all(const std::vector<Malformed>& cases, std::string (*text_of)(const std::string&)) {
  for (const Malformed& malformed : cases) {
    CAPTURE(malformed.members);
    const std::string error = error_of(text_of(malformed.members));
    CHECK_MESSAGE(error.starts_with(malformed.expected), error);
  }
}

}  // namespace

TEST_CASE("malformed problem: the well-formed file that these tests change is accepted") {
  CHECK(error_of(with_members("")).empty());
  CHECK(error_of(with_topology(R"("world_size": 8)")).empty());
}

TEST_CASE("malformed problem: unknown keys and names suggest the nearest known one") {
  check_all(
      {
          {R"("batchsize": 3)",
           R"(/batchsize: unknown key "batchsize"; did you mean "batch_size"?)"},
          {R"("constrains": {})",
           R"(/constrains: unknown key "constrains"; did you mean "constraints"?)"},
          {R"("constraints": {"a": {"sharding_type": ["row_wise"]}})",
           R"(/constraints/a/sharding_type: unknown key "sharding_type"; did you mean "sharding_types"?)"},
          {R"("constraints": {"a": {"sharding_types": ["row_wize"]}})",
           R"(/constraints/a/sharding_types/0: unknown sharding type "row_wize"; did you mean "row_wise"?)"},
          {R"("constraints": {"a": {"compute_kernels": ["fuse"]}})",
           R"(/constraints/a/compute_kernels/0: unknown compute kernel "fuse"; did you mean "fused"?)"},
          {R"("constraints": {"a": {"output_dtype": "FP17"}})",
           R"(/constraints/a/output_dtype: unknown data type "FP17"; did you mean "FP)"},
          {R"("proposers": [{"type": "gready"}])",
           R"(/proposers/0/type: unknown proposer "gready"; did you mean "greedy"?)"},
          {R"("partitioner": {"sort": "perf"})",
           R"(/partitioner/sort: unknown key "sort"; did you mean "sort_by"?)"},
          {R"("storage_estimator": {"pipeline_type": "train_sparse"})",
           R"(/storage_estimator/pipeline_type: unknown pipeline type "train_sparse")"},
          {R"("sharder": {"fused_params": {"cache_loadfactor": 0.2}})",
           R"(/sharder/fused_params/cache_loadfactor: unknown key "cache_loadfactor"; did you mean "cache_load_factor"?)"},
          {R"("format": "shardwright.embedding/2")",
           R"(/format: this version reads "shardwright.embedding/1")"},
          {R"("meta": {"topologies": [{"world_size": 8, "hbm_gb": 40}]})",
           R"(/meta/topologies/0/hbm_gb: unknown key "hbm_gb"; did you mean "hbm_gib"?)"},
      },
      with_members);
}

TEST_CASE("malformed problem: wrong types say what was expected and found") {
  check_all(
      {
          {R"("batch_size": "512")", "/batch_size: expected an integer, found the text \"512\""},
          {R"("batch_size": 512.5)", "/batch_size: expected an integer, found the number 512.5"},
          {R"("batch_size": [512])", "/batch_size: expected an integer, found a list of 1"},
          {R"("batch_size": 1e30)",
           "/batch_size: expected an integer below 2^63, in digits, found the number 1e+30"},
          {R"("name": 3)", "/name: expected a text, found the number 3"},
          {R"("use_exact_enumerate_order": 1)",
           "/use_exact_enumerate_order: expected true or false"},
          {R"("constraints": [])", "/constraints: expected an object"},
          {R"("constraints": {"a": 1})", "/constraints/a: expected an object"},
          {R"("constraints": {"a": {"pooling_factors": 1.5}})",
           "/constraints/a/pooling_factors: expected a list"},
          {R"("constraints": {"a": {"pooling_factors": [null]}})",
           "/constraints/a/pooling_factors/0: expected a number, found null"},
          {R"("proposers": {})", "/proposers: expected a list of proposers"},
          {R"("proposers": [])", "/proposers: names no proposer"},
          {R"("proposers": [{}])", "/proposers/0: the key \"type\" is missing"},
          {R"("reservation": "none")", "/reservation: expected an object, found the text \"none\""},
          {R"("perf_model": null)", "/perf_model: expected \"perf\" or \"storage\", found null"},
      },
      with_members);
  CHECK(error_of("[]").starts_with("expected an object, found an empty list"));
  CHECK(error_of("3").starts_with("expected an object, found the number 3"));
  CHECK(error_of("{}").starts_with("the key \"tables\" is missing"));
  CHECK(error_of(R"({"tables": {}})").starts_with("/tables: expected a list of tables"));
  CHECK(error_of(R"({"tables": []})").starts_with("/tables: the list of tables is empty"));
}

TEST_CASE("malformed problem: tables out of range") {
  check_all(
      {
          {R"({"name": "a", "num_embeddings": 0, "embedding_dim": 8})",
           "/tables/0/num_embeddings: "},
          {R"({"name": "a", "num_embeddings": -5, "embedding_dim": 8})",
           "/tables/0/num_embeddings: "},
          {R"({"name": "a", "num_embeddings": 5, "embedding_dim": 0})",
           "/tables/0/embedding_dim: "},
          {R"({"name": "a", "num_embeddings": 9223372036854775807, "embedding_dim": 8})",
           "/tables/0/num_embeddings: "},
          {R"({"name": "a", "num_embeddings": 1125899906842624, "embedding_dim": 1048576})",
           "/tables/0/num_embeddings: rows x columns"},
          {R"({"name": "a", "num_embeddings": 1e400, "embedding_dim": 8})", "line 1, column "},
          {R"({"name": "a", "num_embeddings": NaN, "embedding_dim": 8})", "line 1, column "},
          {R"({"name": "", "num_embeddings": 5, "embedding_dim": 8})", "/tables/0/name: "},
          {R"({"num_embeddings": 5, "embedding_dim": 8})",
           "/tables/0: the key \"name\" is missing"},
          {R"({"name": "a", "num_embeddings": 5})",
           "/tables/0: the key \"embedding_dim\" is missing"},
          {R"({"name": "a", "num_embeddings": 5, "embedding_dim": 8, "features": [1]})",
           "/tables/0/features/0: expected the name of a feature"},
          {R"({"name": "a", "num_embeddings": 5, "embedding_dim": 8, "features": [{"pooling_factor": 1}]})",
           "/tables/0/features/0: the key \"name\" is missing"},
          {R"({"name": "a", "num_embeddings": 5, "embedding_dim": 8, "pooling_factor": -1})",
           "/tables/0/pooling_factor: must be between 0 and 1e12"},
          {R"({"name": "a", "num_embeddings": 5, "embedding_dim": 8, "optimizer": "Adamm"})",
           "/tables/0/optimizer: unknown optimizer \"Adamm\"; did you mean \"Adam\"?"},
          {R"({"name": "a", "num_embeddings": 5, "embedding_dim": 8, "name": "b"})",
           "/tables/0/name: the key \"name\" occurs twice"},
          {R"({"name": "a", "num_embeddings": 5, "embedding_dim": 8}, {"name": "a", "num_embeddings": 5, "embedding_dim": 8})",
           "/tables/1/name: another table is called \"a\""},
      },
      with_table);
}

TEST_CASE("malformed problem: topologies out of range") {
  check_all(
      {
          {R"("world_size": 0)", "/topology/world_size: "},
          {R"("world_size": -4)", "/topology/world_size: "},
          {R"("world_size": 99999999999)", "/topology/world_size: "},
          {R"("world_size": 8, "local_world_size": 17)", "/topology/local_world_size: "},
          {R"("world_size": 8, "hbm_cap": -1)", "/topology/hbm_cap: "},
          {R"("world_size": 8, "hbm_mem_bw": 0)", "/topology/hbm_mem_bw: "},
          {R"("world_size": 8, "compute_device": "gpu")",
           "/topology/compute_device: unknown compute device \"gpu\""},
          {R"("world_size": 2, "custom": {"hbm_cap": [1]})", "/topology/custom/hbm_cap: "},
      },
      with_topology);
}

TEST_CASE("malformed problem: constraints and parts out of range") {
  check_all(
      {
          {R"("constraints": {"c": {}})", "/constraints/c: no table is named \"c\"; known: "},
          {R"("constraints": {"a": {"pooling_factors": [1e13]}})",
           "/constraints/a/pooling_factors/0: "},
          {R"("constraints": {"a": {"pooling_factors": []}})", "/constraints/a/pooling_factors: "},
          {R"("constraints": {"a": {"pooling_factors": [1], "batch_sizes": [1, 2]}})",
           "/constraints/a/batch_sizes: "},
          {R"("constraints": {"a": {"min_partition": -1}})", "/constraints/a/min_partition: "},
          {R"("constraints": {"a": {"cache_params": {"load_factor": 2}}})",
           "/constraints/a/cache_params/load_factor: "},
          {R"("constraints": {"a": {"cache_params": {"stats": {"height": 1}}}})",
           "/constraints/a/cache_params/stats: "},
          {R"("batch_size": 0)", "/batch_size: "},
          {R"("dense_params": -1)", "/dense_params: "},
          {R"("reservation": {"percentage": 15})", "/reservation/percentage: "},
      },
      with_members);
}

TEST_CASE("malformed problem: a file cut anywhere is an error, never a crash") {
  const Result<std::string> text =
      read_file("tests/golden/embedding/cases/30_custom_topology_uneven_hbm_4r.json.gz");
  REQUIRE(text.ok());
  REQUIRE(error_of(*text).empty());
  for (std::size_t size = 0; size < text->size(); ++size) {
    const std::string error = error_of(text->substr(0, size));
    CHECK_MESSAGE(!error.empty(), size);
  }
}

TEST_CASE("malformed problem: a file with any one byte damaged is read or refused, never a crash") {
  const Result<std::string> text =
      read_file("tests/golden/embedding/cases/26_offload_scaleup_10t_4r.json.gz");
  REQUIRE(text.ok());
  std::size_t refused = 0;
  for (std::size_t at = 0; at < text->size(); ++at) {
    for (const char byte : {'\0', '"', '}', '9', '\xff'}) {
      std::string damaged = *text;
      damaged[at] = byte;
      if (!error_of(damaged).empty()) ++refused;
    }
  }
  CHECK(refused > text->size());
}

TEST_CASE("malformed plan: errors name the place and explain") {
  const auto error_of_plan = [](const std::string& text) {
    const auto document = shardwright::read_plan(text);
    return document.ok() ? std::string() : document.error().to_string();
  };
  CHECK(error_of_plan("{}").find("neither a `plan` nor an `error`") != std::string::npos);
  CHECK(error_of_plan(R"({"plan": {}})").starts_with("/plan: expected a list"));
  CHECK(error_of_plan(R"({"plan": [{"table": "a"}]})").starts_with("/plan/0: the key"));
  CHECK(error_of_plan(R"({"plan": [], "best_ratings": 1})")
            .starts_with(
                "/best_ratings: unknown key \"best_ratings\"; did you mean \"best_rating\"?"));
  CHECK(error_of_plan(R"({"plan": [], "reserved_topology": {"uniform": [1]}})")
            .starts_with("/reserved_topology/uniform: expected a list [hbm, ddr]"));
  CHECK(error_of_plan(R"({"error": {"message": "m", "type": "t"}})").empty());
  CHECK(error_of_plan(R"({"plan": [], "mode": "compat"})").empty());
  CHECK(error_of_plan(R"({"plan": [], "mode": "exact"})") ==
        "/mode: exact mode is called compat mode now: change it to \"compat\" here");
  CHECK(error_of_plan(R"({"plan": [], "mode": "bets"})").find("did you mean \"best\"?") !=
        std::string::npos);
}

}  // namespace shardwright::malformed_input_test
