#include "runtime/io/embedding/log_problem_json.h"

#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/io/json/json_writer.h"

namespace shardwright {
namespace {

template <class T>
void write_list(std::string_view name, const std::vector<T>& list, JsonWriter& json) {
  if (list.empty()) return;
  json.key(name).begin_array();
  for (const T& value : list) {
    if constexpr (std::is_enum_v<T>) {
      json.value(to_name(value));
    } else {
      json.value(value);
    }
  }
  json.end_array();
}

void write_codec(std::string_view name, const embedding::CommCodec& codec, JsonWriter& json) {
  if (!codec.forward && !codec.backward) return;
  json.key(name).begin_object();
  if (codec.forward) json.member("forward", to_name(*codec.forward));
  if (codec.backward) json.member("backward", to_name(*codec.backward));
  json.end_object();
}

void write_topology(const embedding::TopologySpec& topology, JsonWriter& json) {
  json.key("topology").begin_object();
  json.member("world_size", topology.world_size)
      .member("local_world_size", topology.local_world_size)
      .member("compute_device", to_name(topology.compute_device));
  if (topology.hbm_cap_bytes) json.member("hbm_cap", *topology.hbm_cap_bytes);
  if (topology.ddr_cap_bytes) json.member("ddr_cap", *topology.ddr_cap_bytes);
  json.member("intra_host_bw", topology.intra_host_bw)
      .member("inter_host_bw", topology.inter_host_bw)
      .member("hbm_mem_bw", topology.hbm_mem_bw)
      .member("ddr_mem_bw", topology.ddr_mem_bw)
      .end_object();
}

void write_table(const embedding::Table& table, JsonWriter& json) {
  json.new_line().begin_object();
  json.member("name", table.name)
      .member("module", table.module)
      .member("num_embeddings", table.num_embeddings)
      .member("embedding_dim", table.embedding_dim)
      .member("kind", to_name(table.kind))
      .member("weighted", table.weighted)
      .member("feature_processed", table.feature_processed)
      .member("data_type", to_name(table.data_type));
  if (table.optimizer != embedding::Optimizer::kUnset)
    json.member("optimizer", to_name(table.optimizer));
  write_list("features", table.features, json);
  json.end_object();
}

void write_constraints(const embedding::Table& table, JsonWriter& json) {
  const embedding::ParameterConstraints& constraints = *table.constraints;
  json.new_line().key(table.name).begin_object();
  write_list("sharding_types", constraints.sharding_types, json);
  write_list("compute_kernels", constraints.compute_kernels, json);
  if (constraints.min_partition) json.member("min_partition", *constraints.min_partition);
  write_list("pooling_factors", constraints.pooling_factors, json);
  write_list("num_poolings", constraints.num_poolings, json);
  write_list("batch_sizes", constraints.batch_sizes, json);
  if (constraints.is_weighted) json.member("is_weighted", true);
  if (constraints.cache_params && constraints.cache_params->load_factor) {
    json.key("cache_params").begin_object();
    json.member("load_factor", *constraints.cache_params->load_factor).end_object();
  }
  json.end_object();
}

}  // namespace

void write_log_problem(const embedding::Problem& problem, const TextSink& sink) {
  const embedding::ProblemSpec& spec = problem.spec();
  JsonWriter json(sink);
  json.begin_object().new_line().member("format", "shardwright.embedding/1");
  json.member("torchrec", to_name(spec.torchrec)).member("batch_size", spec.batch_size);
  write_topology(spec.topology, json);
  json.new_line().key("sharder").begin_object().key("qcomm_codecs").begin_object();
  write_codec("pooled_all_to_all", spec.sharder.pooled_all_to_all, json);
  write_codec("sequence_all_to_all", spec.sharder.sequence_all_to_all, json);
  write_codec("pooled_reduce_scatter", spec.sharder.pooled_reduce_scatter, json);
  json.end_object().end_object();
  json.new_line().key("storage_estimator").begin_object();
  json.member("pipeline_type", to_name(spec.storage_estimator.pipeline_type)).end_object();
  json.key("reservation").begin_object();
  json.member("type", "fixed").member("percentage", spec.reservation.percentage).end_object();
  json.key("reserved_memory").begin_object();
  for (const embedding::MemoryTier tier :
       {embedding::MemoryTier::kHbm, embedding::MemoryTier::kDdr})
    if (!spec.memory.reserved_bytes[tier].empty())
      json.member(to_name(tier), spec.memory.reserved_bytes[tier].front());
  json.end_object().new_line().key("tables").begin_array();
  for (const embedding::Table& table : spec.tables)
    write_table(table, json);
  json.end_array().new_line().key("constraints").begin_object();
  for (const embedding::Table& table : spec.tables)
    write_constraints(table, json);
  json.end_object().new_line().end_object().finish();
}

}  // namespace shardwright
