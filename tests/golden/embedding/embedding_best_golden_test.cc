// Cases in which a MILP solver found the optimum: best mode finds and proves the same rating.
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

// TorchRec's scale-up gives caches any size. Best mode chooses from a set that its bound covers.
TEST_CASE("best golden: caches that scale-up would resize are sized better, and that is proved") {
  const GoldenBest best = golden_best("26_offload_scaleup_10t_4r", with_work(20'000'000));
  CHECK(*best.result.best_rating < 0.98 * best.torchrec);
  CHECK(best.gap <= kProvenGap);
  REQUIRE(best.result.certificate.has_value());
  CHECK(best.result.certificate->load_factors.size() == 9);
  std::size_t resized = 0;
  for (std::size_t i = 0; i < best.result.plan->size(); ++i) {
    const embedding::ShardingOption* const option = (*best.result.plan)[i].option;
    const auto declared = best.result.search_space->declared().options();
    const auto is_same = [&](const auto& own) { return own == *option; };
    if (!std::any_of(declared.begin(), declared.end(), is_same)) ++resized;
  }
  CHECK(resized >= 2);
}

}  // namespace shardwright::embedding_best_golden_test
