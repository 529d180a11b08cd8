// Numbers with the two forms that answers have.
#pragma once

#include "core/embedding/problem/problem.h"

namespace shardwright {

// Bytes and counts are whole, and JSON has them without a fraction: 3. Other numbers have one: 3.0.
struct Amount {
  double value = 0;
  bool is_whole = false;
};

// Bytes for the storage model, otherwise ms.
inline Amount rating_amount(const embedding::ProblemSpec& problem, double rating) {
  return {rating, problem.perf_model == embedding::PerfModel::kStorage};
}

}  // namespace shardwright
