// `explain` of a thousand tables that compat mode cannot place.
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/command.h"

namespace shardwright::explain_slow_test {

namespace {

using nlohmann::json;
using shardwright::test_support::Command;

const std::string kCase =
    "tests/golden/embedding/cases/42_big_1000t_128r_greedy_twcw_nofit.json.gz --mode compat";

int plan_status(const Command& run, const std::string& flags) {
  return run("plan " + kCase + flags + " -o " + run.path("plan.json")).status;
}

}  // namespace

TEST_CASE("explain: compat mode's failure over a thousand tables, and what would avoid it") {
  const Command run;
  const auto outcome = run("explain " + kCase + " --json");
  REQUIRE(outcome.status == 3);
  const json answer = json::parse(outcome.out);
  CHECK(answer["infeasible"]["reason"] == "packing");
  CHECK(answer["infeasible"]["proved"] == false);
  CHECK(answer["infeasible"]["irreducible"] == true);
  std::size_t tried = 0;
  for (const json& remedy : answer["remedies"]) {
    CAPTURE(remedy.dump());
    const std::string kind = remedy["kind"];
    if (kind != "hbm" && kind != "batch_size") continue;
    ++tried;
    CHECK(plan_status(run, " " + remedy["flags"].get<std::string>()) == 0);
    const std::int64_t to = remedy["to"];
    CHECK(plan_status(run, kind == "hbm" ? " --hbm " + std::to_string((to >> 20) - 1) + "MiB"
                                         : " --batch-size " + std::to_string(to + 1)) == 3);
  }
  CHECK(tried == 2);
}

}  // namespace shardwright::explain_slow_test
