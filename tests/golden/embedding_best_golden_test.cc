// Best mode where a MILP solver found the optimum: the same rating, proved.
#include <string>

#include "tests/support/golden_best.h"

using namespace shardwright;
using namespace shardwright::test_support;

TEST_CASE("best golden: what a MILP solver solved is solved and proved within the default work") {
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

// TorchRec's scale-up makes options of its own, outside the space that a proof speaks of.
TEST_CASE("best golden: options that a proposer made are used and nothing is claimed of a bound") {
  const GoldenBest best = golden_best("26_offload_scaleup_10t_4r", with_work(20'000'000));
  CHECK_FALSE(best.result.lower_bound.has_value());
  CHECK_FALSE(best.result.certificate.has_value());
}
