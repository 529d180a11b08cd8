// The interface of partitioners, which choose a rank for every shard of a proposal.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/embedding/problem/problem.h"
#include "search/embedding/compat/placement/group_order.h"
#include "search/embedding/compat/placement/placement.h"

namespace shardwright::embedding {

// Places whole proposals. Every worker has its own, which gets many proposals one after the other.
// Thread safety: none; one per worker.
class Partitioner {
 public:
  virtual ~Partitioner() = default;

  // By what the groups that partition() gets are sorted.
  virtual PartitionerSpec::SortBy sort_by() const = 0;

  // Empties the devices with placement.reset(), then places the uniform options and every group
  // through the placement's functions, which keep ranks, loads and memory. Returns false if
  // something does not fit; the placement is then not used. Must give the same placement for the
  // same proposal, whatever proposals came before.
  virtual bool partition(std::span<const OptionId> proposal, const GroupOrder& order,
                         Placement& placement) = 0;
};

// The partitioner that `spec` names.
std::unique_ptr<Partitioner> make_partitioner(const PartitionerSpec& spec);

}  // namespace shardwright::embedding
