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

// Work does not depend on the machine. A million units take about 10 ms.
constexpr std::uint64_t kTwoAxes = 2'000'000;
constexpr std::uint64_t kThreeAxes = 200'000'000;

struct Recorded {
  const char* name;
  double optimum_us;  // proved by CBC or by this solver
  std::uint64_t most_work;
};

constexpr std::array<Recorded, 14> kRecorded{{
    {"m8_l1_clu_mid", 5485.257579954, kTwoAxes},
    {"m8_l1_full_mid_nc", 5485.257579954, kTwoAxes},
    {"m8_l1_full_none", 4957.936254751, kTwoAxes},
    {"m8_l4_clu_mid", 14667.049325288, kTwoAxes},
    {"m8_l4_full_mid", 14667.049325289, kTwoAxes},
    {"m8_l4_full_none", 12557.764024477, kTwoAxes},
    {"m4x2_l1_clu_mid", 2978.487850705, kTwoAxes},
    {"m4x2_l1_full_mid", 2978.487850705, kTwoAxes},
    {"m4x2_l1_full_none", 2349.337473645, kTwoAxes},
    {"m4x2_l4_clu_min", 10178.156260813, kTwoAxes},
    {"m4x2_l4_full_min", 10178.156260804, kTwoAxes},
    {"m4x2_l4_full_none", 6291.813875148, kTwoAxes},
    {"t2x2x2_l1_full_mid_nc", 1778.855265832, kThreeAxes},
    {"t2x2x2_l1_full_none_nc", 1045.038083095, kThreeAxes},
}};

}  // namespace

TEST_CASE("autoparallel instances: every optimum is proved within little work") {
  for (const Recorded& recorded : kRecorded) {
    CAPTURE(recorded.name);
    const auto text =
        read_file("tests/golden/operators/autoparallel/" + std::string(recorded.name) + ".json.gz");
    REQUIRE(text.ok());
    const auto problem = read_cost_instance(*text, {});
    REQUIRE(problem.ok());
    OperatorsOptions options;
    options.threads = 2;
    options.work_limit = recorded.most_work;
    const auto result = solve_operators(*problem, options);
    REQUIRE(result.ok());
    CHECK(result->status == operators::SolveStatus::kOptimal);
    const double optimum_us = result->objective / 1e9;
    // The entries were rounded when they were written, and the recorded optimum has 12 digits.
    CHECK(std::abs(optimum_us - recorded.optimum_us) <= 1e-9 * recorded.optimum_us);
    MESSAGE(recorded.name << ": " << result->solve_s * 1e3 << " ms, work " << result->work);
  }
}

}  // namespace shardwright::operators_autoparallel_test
