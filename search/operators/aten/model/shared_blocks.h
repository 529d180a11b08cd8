// Finds the repeated blocks of a model, so that all of them run alike.
#pragma once

#include <cstdint>
#include <vector>

#include "search/operators/aten/model/aten_variables.h"

namespace shardwright::operators {

// By variable, the one whose strategy it takes, mostly itself. A block is what belongs to the
// modules below one number of a list, such as `layers.3`; placeholders and gradients belong to the
// module that their target names. The variables of blocks take those of one block,
// one by one, if all are of the same classes; the leader is the earliest. Without module paths,
// blocks are runs of nodes of equal classes (find_repeated_blocks). Movers between variables of the
// same two leaders share one, too.
std::vector<std::uint32_t> block_leaders(const AtenVariables& variables);

}  // namespace shardwright::operators
