// Measures how good the plans are after a fixed amount of counted work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardwright::perf {

struct Quality {
  std::string name;                   // mode/case/work limit
  std::optional<double> best_rating;  // smaller is better; absent if no plan was found
  std::uint64_t num_proposals = 0;
};

// Rates every case with every limit of work. The result does not depend on the machine, the
// compiler or the number of threads.
std::vector<Quality> measure_quality();

}  // namespace shardwright::perf
