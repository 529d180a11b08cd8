// Writes the sharding strategies of operators.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "runtime/io/text_sink.h"
#include "search/operators/strategies/strategy.h"

namespace shardwright {

// The strategies of one operator, with the caller's name for it.
struct NamedStrategies {
  std::string id;
  std::shared_ptr<operators::SpecTable> table;  // the table of the specs
  operators::NodeStrategies strategies;
};

// Writes `{records: [{id, count, strategies: [{name, specs, comm, comm_cost, compute_cost,
// memory}]}]}`. A spec is "[S0,R]", or a list of these for a tuple. Costs and memory are [forward,
// backward, total].
void write_strategies(const std::vector<NamedStrategies>& records, const TextSink& sink);

}  // namespace shardwright
