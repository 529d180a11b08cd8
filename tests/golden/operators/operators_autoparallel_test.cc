// Problems that AutoParallel made of a transformer, in the contest's format: costs are microseconds
// times 10^9. Names have the mesh, the number of blocks, whether repeated blocks must be equal, and
// the memory limit.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "runtime/io/file.h"
#include "runtime/io/operators/instance_json.h"
#include "runtime/operators/solve.h"

namespace shardwright::operators_autoparallel_test {

namespace {

struct Recorded {
  const char* name;
  double optimum_us;  // proved by CBC or by this solver
};

constexpr std::array<Recorded, 14> kRecorded{{
    {"m8_l1_clu_mid", 5485.257579954},
    {"m8_l1_full_mid_nc", 5485.257579954},
    {"m8_l1_full_none", 4957.936254751},
    {"m8_l4_clu_mid", 14667.049325288},
    {"m8_l4_full_mid", 14667.049325289},
    {"m8_l4_full_none", 12557.764024477},
    {"m4x2_l1_clu_mid", 2978.487850705},
    {"m4x2_l1_full_mid", 2978.487850705},
    {"m4x2_l1_full_none", 2349.337473645},
    {"m4x2_l4_clu_min", 10178.156260813},
    {"m4x2_l4_full_min", 10178.156260804},
    {"m4x2_l4_full_none", 6291.813875148},
    {"t2x2x2_l1_full_mid_nc", 1778.855265832},
    {"t2x2x2_l1_full_none_nc", 1045.038083095},
}};

}  // namespace

TEST_CASE("autoparallel instances: every optimum is found and proved") {
  for (const Recorded& recorded : kRecorded) {
    CAPTURE(recorded.name);
    const auto text =
        read_file("tests/golden/operators/autoparallel/" + std::string(recorded.name) + ".json.gz");
    REQUIRE(text.ok());
    const auto problem = read_cost_instance(*text, {});
    REQUIRE(problem.ok());
    OperatorsOptions options;
    options.threads = 2;
    const auto result = solve_operators(*problem, options);
    REQUIRE(result.ok());
    CHECK(result->status == operators::SolveStatus::kOptimal);
    const double optimum_us = result->objective / 1e9;
    // The entries were rounded when they were written, and the recorded optimum has 12 digits.
    CHECK(std::abs(optimum_us - recorded.optimum_us) <= 1e-9 * recorded.optimum_us);
  }
}

}  // namespace shardwright::operators_autoparallel_test
