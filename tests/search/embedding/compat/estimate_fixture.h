// Estimates for one table on a machine with round bandwidths.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/embedding/problem/problem.h"
#include "search/embedding/compat/estimate.h"
#include "search/embedding/compat/perf_estimator.h"
#include "search/embedding/model/shard_layout.h"

namespace shardwright::test_support {

// Four ranks on two hosts with 8 samples per rank. The table "wide" has 100 x 128 FP32 elements and
// two lookups per sample. Bandwidths are in bytes per ms.
struct EstimateFixture {
  embedding::ProblemSpec spec;

  EstimateFixture() {
    spec.name = "estimate";
    spec.batch_size = 8;
    spec.topology.world_size = 4;
    spec.topology.local_world_size = 2;
    spec.topology.intra_host_bw = 128;
    spec.topology.inter_host_bw = 64;
    spec.topology.hbm_mem_bw = 1024;
    spec.topology.ddr_mem_bw = 256;
    spec.topology.hbm_to_ddr_mem_bw = 512;
    embedding::Table table;
    table.name = "wide";
    table.num_embeddings = 100;
    table.embedding_dim = 128;
    table.features = {"f"};
    table.constraints.emplace().pooling_factors = {2};
    spec.tables.push_back(std::move(table));
  }

  embedding::Table& table() { return spec.tables.front(); }
  embedding::ParameterConstraints& constraints() { return *table().constraints; }

  Result<embedding::ShardingOption> estimate(
      embedding::ShardingType type,
      embedding::ComputeKernel kernel = embedding::ComputeKernel::kFused) {
    problem_ = std::make_unique<embedding::Problem>(embedding::Problem::make(spec).value());
    const embedding::Table& own = problem_->table(embedding::TableId(0));
    layout_ = embedding::shard_layout(own, embedding::tensor_shape(own, spec.sharder.type), type,
                                      problem_->topology());
    embedding::ShardingOption option;
    option.table = embedding::TableId(0);
    option.sharding_type = type;
    option.compute_kernel = kernel;
    option.layout = &layout_;
    const auto& c = own.constraints;
    if (c && c->cache_params) option.load_factor = c->cache_params->load_factor;
    return estimate(std::move(option));
  }
  // Precondition: estimate() was called with a sharding type before.
  Result<embedding::ShardingOption> estimate(embedding::ShardingOption option) {
    return embedding::Estimator(*problem_).estimate(std::move(option));
  }

  // Returns the cost of the first shard. Precondition: the estimate succeeds.
  embedding::ShardCost cost(embedding::ShardingType type,
                            embedding::ComputeKernel kernel = embedding::ComputeKernel::kFused) {
    return estimate(type, kernel).value().costs.front();
  }
  embedding::Perf perf(embedding::ShardingType type,
                       embedding::ComputeKernel kernel = embedding::ComputeKernel::kFused) {
    return cost(type, kernel).perf;
  }
  std::int64_t hbm(embedding::ShardingType type,
                   embedding::ComputeKernel kernel = embedding::ComputeKernel::kFused) {
    return cost(type, kernel).storage.hbm.value();
  }
  std::int64_t ddr(embedding::ShardingType type,
                   embedding::ComputeKernel kernel = embedding::ComputeKernel::kFused) {
    return cost(type, kernel).storage.ddr.value();
  }

 private:
  std::unique_ptr<embedding::Problem> problem_;
  embedding::ShardLayout layout_;
};

inline embedding::Perf perf_of(double fwd_compute, double fwd_comms, double bwd_compute,
                               double bwd_comms, double prefetch_compute = 0) {
  return {Milliseconds(fwd_compute), Milliseconds(fwd_comms), Milliseconds(bwd_compute),
          Milliseconds(bwd_comms), Milliseconds(prefetch_compute)};
}

}  // namespace shardwright::test_support
