// Numbers of answers, with the form in which JSON writes them.
#pragma once

#include "core/embedding/problem/problem.h"

namespace shardwright {

// JSON writes bytes and counts without a fraction (3), and other numbers with a fraction (3.0).
struct Amount {
  double value = 0;
  bool is_whole = false;
};

// `rating` is in bytes for the storage model, otherwise in ms.
inline Amount rating_amount(const embedding::ProblemSpec& problem, double rating) {
  return {rating, problem.perf_model == embedding::PerfModel::kStorage};
}

}  // namespace shardwright
