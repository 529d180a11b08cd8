// What changes between an old plan and a new one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/kinds/kinds.h"

namespace shardwright {

// How a table is sharded, and the rank of every shard.
struct TablePlace {
  embedding::ShardingType sharding_type = embedding::ShardingType::kTableWise;
  embedding::ComputeKernel compute_kernel = embedding::ComputeKernel::kFused;
  std::optional<double> load_factor;
  std::vector<std::int64_t> ranks;

  friend bool operator==(const TablePlace&, const TablePlace&) = default;
};

// A table that is not where it was. Bytes are those of its tensor that the ranks of its shards do
// not hold already: the area of each shard less what the old shards on the same rank cover.
// Optimizer states, caches and a change of memory tier on one rank are not counted.
struct TableMove {
  embedding::TableId table;
  std::optional<TablePlace> from;  // absent for a new table
  TablePlace to;
  std::int64_t bytes = 0;
};

struct Migration {
  double weight = 0;                    // ms of rating per GiB moved
  std::optional<double> rating_before;  // of the old plan's tables under the new problem
  std::string not_kept;  // why the old plan is no plan of the new problem; empty where it is one
  // Of the old plan with new tables placed beside it; absent if that is no plan.
  std::optional<double> rating_kept;
  // Rating + weight x GiB moved of the new plan, and a bound: no plan of the search space costs
  // less. Absent without a plan or without a weight.
  std::optional<double> objective;
  std::optional<double> lower_bound;
  // Proves the bound; absent if the bound of the rating is as high.
  std::optional<embedding::BoundCertificate> certificate;
  std::int64_t moved_bytes = 0;      // of tables that the old plan has
  std::int64_t placed_bytes = 0;     // of new tables
  std::size_t tables_kept = 0;       // in their old place
  std::vector<TableMove> moves;      // in proposal order
  std::vector<std::string> dropped;  // tables that are gone, in the order of the old plan
};

}  // namespace shardwright
