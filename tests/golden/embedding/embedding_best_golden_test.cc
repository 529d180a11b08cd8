// Best mode where a MILP solver found the optimum: the same rating, proved.
#include <algorithm>
#include <cstddef>
#include <string>

#include "tests/support/embedding/checks/golden_best.h"

namespace shardwright::embedding_best_golden_test {

using namespace shardwright;
using namespace shardwright::test_support;

TEST_CASE(
    "best golden: cases that a MILP solver solved are solved and proved within the default work") {
  const std::string slow = "30_custom_topology_uneven_hbm_4r";
  int checked = 0;
  const nlohmann::json rows = milp_rows();
  for (const auto& item : rows.items()) {
    const std::string& name = item.key();
    const nlohmann::json& row = item.value();
    if (row["status"] != "optimal" || name == slow) continue;
    INFO("case ", name);
    check_against_milp(name, row, {});
    ++checked;
  }
  CHECK(checked == 20);
}

// TorchRec's scale-up adds options that are not in the search space, which a bound does not cover.
TEST_CASE("best golden: options that a proposer added are used, and no bound is claimed") {
  const GoldenBest best = golden_best("26_offload_scaleup_10t_4r", with_work(20'000'000));
  std::size_t made = 0;
  for (std::size_t i = 0; i < best.result.plan->size(); ++i) {
    const embedding::ShardingOption* const option = (*best.result.plan)[i].option;
    const auto& options = best.result.search_space->options();
    const bool in_space = std::any_of(options.begin(), options.end(),
                                      [&](const auto& own) { return &own == option; });
    made += in_space ? 0 : 1;
  }
  CHECK(made >= 2);
  CHECK_FALSE(best.result.lower_bound.has_value());
  CHECK_FALSE(best.result.certificate.has_value());
}

}  // namespace shardwright::embedding_best_golden_test
