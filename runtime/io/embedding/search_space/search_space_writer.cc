#include "runtime/io/embedding/search_space/search_space_writer.h"

#include <string>
#include <string_view>

#include "core/embedding/shard_runs.h"
#include "search/embedding/compat/estimate/embedding_perf_estimator.h"
#include "search/embedding/compat/estimate/inputs.h"

namespace shardwright {
namespace {

using embedding::estimate_input_dist;
using embedding::estimate_inputs;
using embedding::Perf;
using embedding::SearchSpace;
using embedding::ShardCost;
using embedding::ShardExtent;
using embedding::ShardingOption;
using embedding::ShardRuns;
using embedding::to_name;

void write_pair(JsonWriter& json, std::string_view key, std::int64_t rows, std::int64_t columns) {
  json.key(key).begin_array().value(rows).value(columns).end_array();
}

// What all shards of an option share.
struct OptionFacts {
  bool counts_ssd = false;
  Milliseconds input_dist_comms;  // in no total and no rating, so the option does not keep it
};

// Returns the members that all shards of a run share, without braces.
std::string cost_members(const ShardCost& cost, const OptionFacts& facts) {
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; });
  const Perf& perf = cost.perf;
  json.begin_object()
      .member("hbm", cost.storage.hbm.value())
      .member("ddr", cost.storage.ddr.value());
  if (facts.counts_ssd || cost.storage.ssd != Bytes()) json.member("ssd", cost.storage.ssd.value());
  json.key("perf")
      .begin_array()
      .value(perf.fwd_compute.value())
      .value(perf.fwd_comms.value())
      .value(perf.bwd_compute.value())
      .value(perf.bwd_comms.value())
      .value(perf.prefetch_compute.value())
      .end_array();
  if (facts.input_dist_comms != Milliseconds())
    json.member("input_dist_comms", facts.input_dist_comms.value());
  json.end_object().finish();
  return text.substr(1, text.rfind('}') - 1);
}

void write_run(const ShardExtent& extent, const ShardCost& cost, const OptionFacts& facts,
               JsonWriter& json) {
  json.begin_object();
  write_pair(json, "size", extent.rows, extent.columns);
  write_pair(json, "offset", extent.row_offset, extent.column_offset);
  if (extent.count > 1) {
    json.member("count", extent.count);
    write_pair(json, "step", extent.row_step, extent.column_step);
  }
  json.raw(cost_members(cost, facts)).end_object();
}

void write_expanded(const ShardExtent& extent, const ShardCost& cost, const OptionFacts& facts,
                    JsonWriter& json) {
  const std::string costs = cost_members(cost, facts);
  for (std::int64_t k = 0; k < extent.count; ++k) {
    json.begin_object();
    write_pair(json, "size", extent.rows, extent.columns);
    write_pair(json, "offset", extent.row_offset + k * extent.row_step,
               extent.column_offset + k * extent.column_step);
    json.raw(costs).end_object();
  }
}

void write_option(const SearchSpace& space, const ShardingOption& option, ShardForm form,
                  JsonWriter& json) {
  const embedding::Table& table = space.problem().table(option.table);
  json.begin_object()
      .member("table", table.name)
      .member("module", table.module)
      .member("sharding_type", to_name(option.sharding_type))
      .member("compute_kernel", to_name(option.compute_kernel))
      .member("partition_by", to_name(option.partition_by()))
      .member("batch_size", option.batch_size)
      .member("is_pooled", option.is_pooled)
      .member("is_weighted", option.is_weighted)
      .member("load_factor", option.load_factor)
      .member("num_shards", option.num_shards())
      .key("shards")
      .begin_array();
  const OptionFacts facts{space.problem().topology().counts_ssd(),
                          estimate_input_dist(estimate_inputs(space.problem(), option))};
  ShardRuns runs;
  for (std::size_t i = 0; i < option.costs.size(); ++i) {
    runs.append(option.layout->extents[i], option.costs[i]);
  }
  for (std::size_t i = 0; i < runs.costs.size(); ++i) {
    if (form == ShardForm::kRuns) {
      write_run(runs.layout.extents[i], runs.costs[i], facts, json);
    } else {
      write_expanded(runs.layout.extents[i], runs.costs[i], facts, json);
    }
  }
  json.end_array().end_object();
}

}  // namespace

void write_options(const SearchSpace& space, ShardForm form, JsonWriter& json) {
  json.begin_array();
  for (const ShardingOption& option : space.options()) {
    json.new_line();
    write_option(space, option, form, json);
  }
  json.new_line().end_array();
}

void write_search_space(const SearchSpace& space, ShardForm form, const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object()
      .member("search_space_size", space.size())
      .member("torchrec", to_name(space.problem().spec().torchrec))
      .key("search_space");
  write_options(space, form, json);
  json.end_object().finish();
}

}  // namespace shardwright
