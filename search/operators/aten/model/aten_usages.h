// What the variables of a plan hold over time, under every strategy.
#pragma once

#include <cstdint>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/operators/aten/model/aten_variables.h"

namespace shardwright::operators {

// Variables with the same bytes share them.
struct AtenUsages {
  struct Usage {
    std::uint32_t variable = 0;
    LiveInterval live;
    std::uint32_t bytes = 0;  // index
  };
  std::vector<Usage> usages;
  std::vector<std::vector<std::int64_t>> bytes;  // by choice
  std::uint32_t num_time_points = 0;             // that can decide a limit
};

// What held_tensors() lists, without the tensors that move for a consumer and have no mover.
AtenUsages make_usages(const AtenVariables& variables, std::int64_t optimizer_states);

// Every choice holds at least this much at some time point: the largest sum over all tensors of the
// least that a choice holds. Some choices hold more than that by need.
std::int64_t least_peak(const AtenUsages& usages);
// The time point of that.
std::size_t fullest_time(const AtenUsages& usages);

}  // namespace shardwright::operators
