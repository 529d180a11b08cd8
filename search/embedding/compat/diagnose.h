// Why there is no plan, truthfully: which table or which total, how many bytes short.
#pragma once

#include <span>
#include <string>

#include "core/embedding/problem/topology.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright::embedding {

// `type` is the class of error that TorchRec reports; `reason` the true one; `message` a few
// sentences with names, bytes and remedies.
struct Diagnosis {
  std::string type;
  std::string reason;
  std::string message;
};

// Explains a search in which every proposal failed. `lowest` is the failed proposal of least total
// storage, `lowest_storage` that storage. Cost: O(options x ranks) at worst, plus one placement.
Diagnosis diagnose(const OptionPool& pool, const Topology& available,
                   std::span<const OptionId> lowest, Storage lowest_storage);

}  // namespace shardwright::embedding
