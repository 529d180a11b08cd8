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

// The strategies of one operator, with the caller's name for it.
struct NamedStrategies {
  std::string id;
  std::shared_ptr<operators::SpecTable> table;  // the table of the specs
  operators::NodeStrategies strategies;
};

void write_strategies(const std::vector<NamedStrategies>& records, const TextSink& sink);
// What write_strategies() writes.
JsonShape strategies_shape();

}  // namespace shardwright
