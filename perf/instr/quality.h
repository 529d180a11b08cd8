// How good the plans are after a fixed amount of counted work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardwright::perf {

struct Quality {
  std::string name;                   // mode/case/work limit
  std::optional<double> best_rating;  // the smaller the better; absent = no plan within the budget
  std::uint64_t num_proposals = 0;
};

// Rates every case at every budget. The result does not depend on machine, compiler or number of
// threads.
std::vector<Quality> measure_quality();

}  // namespace shardwright::perf
