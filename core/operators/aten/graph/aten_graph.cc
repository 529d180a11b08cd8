#include "core/operators/aten/graph/aten_graph.h"

#include <utility>

#include "core/operators/aten/graph/aten_graph_checks.h"

namespace shardwright::operators {

Result<AtenGraph> AtenGraph::make(AtenGraphSpec spec) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_aten_nodes(spec));
  SHARDWRIGHT_ASSIGN_OR_RETURN(std::vector<AtenPair> pairs, pair_aten_outputs(spec));
  return AtenGraph(std::move(spec), std::move(pairs));
}

}  // namespace shardwright::operators
