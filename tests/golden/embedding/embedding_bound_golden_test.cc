// Best mode proves optimality wherever a MILP solver did.
#include <string>

#include "tests/support/embedding/checks/golden_bounds.h"

namespace shardwright::embedding_bound_golden_test {

using namespace shardwright::test_support;
using shardwright::embedding::BoundParameters;

TEST_CASE("bound golden: cases that a MILP solver proved optimal are proved within 10^-4") {
  constexpr std::uint64_t kWork = 80'000'000;
  const std::string slow = "30_custom_topology_uneven_hbm_4r";
  int proved = 0;
  const nlohmann::json rows = milp_rows();
  for (const auto& item : rows.items()) {
    const std::string& name = item.key();
    const nlohmann::json& row = item.value();
    if (row["status"] != "optimal" || name == slow) continue;
    INFO("case ", name);
    CHECK(proved_gap(name, row["milp"].get<double>(), kWork) <= BoundParameters().optimality_gap);
    ++proved;
  }
  CHECK(proved == 20);
}

TEST_CASE("bound golden: 500 tables in full memory need no more than a tree of a few dozen nodes") {
  // The rating of best mode's plan in ms.
  constexpr double kRating = 175.84327555872946;
  CHECK(proved_gap("43_big_500t_64r_rw_mix", kRating, 20'000'000) <=
        BoundParameters().optimality_gap);
}

}  // namespace shardwright::embedding_bound_golden_test
