// Recorded cases whose bounds take seconds.
#include <algorithm>
#include <string>

#include "tests/support/embedding/checks/golden_bounds.h"

namespace shardwright::embedding_bound_slow_golden_test {

using namespace shardwright::test_support;
using shardwright::embedding::BoundParameters;

TEST_CASE("bound golden: uneven memory is proved optimal by branch and bound") {
  const std::string name = "30_custom_topology_uneven_hbm_4r";
  const double rating = milp_rows()[name]["milp"].get<double>();
  CHECK(proved_gap(name, rating, 3'000'000'000) <= BoundParameters().optimality_gap);
}

TEST_CASE("bound golden: if a MILP solver ran out of time, our gap is no larger than its gap") {
  constexpr std::uint64_t kWork = 100'000'000;
  int checked = 0;
  const nlohmann::json rows = milp_rows();
  for (const auto& item : rows.items()) {
    const std::string& name = item.key();
    const nlohmann::json& row = item.value();
    if (row["status"] == "optimal") continue;
    INFO("case ", name);
    const double rating = row["milp"].get<double>();
    const double gap = 1 - row["bound"].get<double>() / rating;
    CHECK(proved_gap(name, rating, kWork) <=
          std::max(gap * (1 + 1e-3), BoundParameters().optimality_gap));
    ++checked;
  }
  CHECK(checked == 7);
}

}  // namespace shardwright::embedding_bound_slow_golden_test
