// Recorded cases that take best mode seconds, and cases without an answer of a MILP solver.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "tests/support/embedding/checks/golden_best.h"

namespace shardwright::embedding_best_slow_golden_test {

using namespace shardwright;
using namespace shardwright::test_support;

TEST_CASE("best golden: if a MILP solver ran out of time, our plan and bound are no worse") {
  int checked = 0;
  const nlohmann::json rows = milp_rows();
  for (const auto& item : rows.items()) {
    const std::string& name = item.key();
    const nlohmann::json& row = item.value();
    if (row["status"] == "optimal") continue;
    INFO("case ", name);
    check_against_milp(name, row, {});
    ++checked;
  }
  CHECK(checked == 7);
}

TEST_CASE("best golden: uneven memory is solved with ten times the default work") {
  const std::string name = "30_custom_topology_uneven_hbm_4r";
  check_against_milp(name, milp_rows()[name], with_work(10 * kDefaultBestWork));
}

TEST_CASE(
    "best golden: with the default work, the optimum of uneven memory is found but not proved") {
  const std::string name = "30_custom_topology_uneven_hbm_4r";
  const double milp = milp_rows()[name]["milp"].get<double>();
  CHECK(*golden_best(name, {}).result.best_rating <= milp * (1 + 2e-4));
}

TEST_CASE("best golden: never worse than TorchRec in the cases that no MILP solver was run on") {
  const nlohmann::json rows = milp_rows();
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/embedding/cases")) {
    const std::string name = entry.path().stem().stem().string();
    if (!rows.contains(name)) names.insert(name);
  }
  int planned = 0;
  for (const std::string& name : names) {
    const std::string answer =
        require(read_file("tests/golden/embedding/answers/" + name + ".json.gz"));
    if (!require(read_plan(answer)).plan) continue;
    INFO("case ", name);
    golden_best(name, {});
    ++planned;
  }
  CHECK(planned >= 6);
}

}  // namespace shardwright::embedding_best_slow_golden_test
