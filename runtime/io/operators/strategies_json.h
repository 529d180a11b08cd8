// Strategies in files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "runtime/io/text_sink.h"
#include "search/operators/strategies/strategy.h"

namespace shardwright {

// The strategies of one operator under the name that the caller knows it by.
struct NamedStrategies {
  std::string id;
  std::shared_ptr<operators::SpecTable> table;  // that the specs belong to
  operators::NodeStrategies strategies;
};

// Writes `{records: [{id, count, strategies: [{name, specs, comm, comm_cost, compute_cost,
// memory}]}]}`. Specs are "[S0,R]", lists of these for tuples; costs and memory are [forward,
// backward, total].
void write_strategies(const std::vector<NamedStrategies>& records, const TextSink& sink);

}  // namespace shardwright
