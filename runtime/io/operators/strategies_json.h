// Writes the sharding strategies of operators.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "runtime/io/json/json_shape.h"
#include "runtime/io/text_sink.h"
#include "search/operators/strategies/strategy.h"

namespace shardwright {

// The strategies of one operator, and the user's name for it.
struct NamedStrategies {
  std::string id;
  std::shared_ptr<operators::SpecTable> table;  // has the specs of `strategies`
  operators::NodeStrategies strategies;
};

void write_strategies(const std::vector<NamedStrategies>& records, const TextSink& sink);
// Returns the shape of what write_strategies() writes.
JsonShape strategies_shape();

}  // namespace shardwright
