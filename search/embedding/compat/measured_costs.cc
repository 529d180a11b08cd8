#include "search/embedding/compat/measured_costs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "search/embedding/compat/embedding_enumerator.h"
#include "search/embedding/model/shard_layout.h"

namespace shardwright::embedding {
namespace {

bool fetches_on_miss(ComputeKernel kernel) {
  return kernel == ComputeKernel::kFusedUvmCaching || kernel == ComputeKernel::kQuantUvmCaching;
}

// The share of lookups that device memory answers.
double hit_rate(const EstimateInputs& in, double rows, double zipf) {
  if (in.compute_kernel == ComputeKernel::kFusedUvm ||
      in.compute_kernel == ComputeKernel::kQuantUvm)
    return 0;
  if (!fetches_on_miss(in.compute_kernel)) return 1;
  const double ratio = in.caching_ratio.value_or(kDefaultCachingRatio);
  const ParameterConstraints* c = in.table->constraints ? &*in.table->constraints : nullptr;
  if (c != nullptr && c->cache_params && c->cache_params->stats)
    return 1 - expected_miss_rate(*c->cache_params->stats, ratio);
  return popular_share(ratio * rows, rows, zipf);
}

}  // namespace

LookupKind lookup_kind(const EstimateInputs& in) {
  LookupKind kind;
  kind.kernel = in.compute_kernel;
  kind.data_type = in.table->data_type;
  kind.weighted = in.is_weighted;
  kind.pooled = in.is_pooled;
  if (in.compute_kernel != ComputeKernel::kDense) kind.optimizer = fbgemm_name(in.table->optimizer);
  return kind;
}

LookupCall lookup_call(const EstimateInputs& in, std::int64_t rows, std::int64_t columns) {
  const Topology& topology = in.problem->topology();
  LookupCall call;
  call.rows = static_cast<double>(rows);
  call.dim = static_cast<double>(columns);
  call.zipf = in.table->zipf.value_or(in.problem->spec().zipf);
  // The batches of all ranks, of which a shard of rows gets its share of lookups, but all bags.
  const bool is_local = in.sharding_type == ShardingType::kDataParallel;
  const double batches = is_local ? 1 : topology.world_size();
  double ranks_of_rows = 1;
  if (partition_by(in.sharding_type) == PartitionBy::kUniform && !is_local)
    ranks_of_rows = topology.world_size();
  if (in.sharding_type == ShardingType::kTableRowWise ||
      in.sharding_type == ShardingType::kGridShard)
    ranks_of_rows = topology.local_world_size();
  call.lookups = in.batch.inputs * batches / ranks_of_rows;
  call.bags = in.is_pooled ? in.batch.bags * batches : call.lookups;
  call.hit_rate = hit_rate(in, call.rows, call.zipf);
  return call;
}

Perf with_measured_compute(const EstimateInputs& in, Perf perf, std::int64_t rows,
                           std::int64_t columns) {
  const MachineModel* const machine = in.problem->topology().spec().machine.get();
  const LookupModel* const model = machine == nullptr ? nullptr : machine->find(lookup_kind(in));
  if (model == nullptr) return perf;
  const LookupTimes times = machine->times(*model, lookup_call(in, rows, columns));
  perf.fwd_compute = Milliseconds(times.forward_ms);
  perf.bwd_compute = Milliseconds(times.backward_ms);
  if (fetches_on_miss(in.compute_kernel) && !in.prefetch_pipeline)
    perf.prefetch_compute = Milliseconds();
  return perf;
}

double mean_message_bytes(const Problem& problem) {
  double bytes = 0;
  for (std::size_t i = 0; i < problem.tables().size(); ++i) {
    ShardingOption option;
    option.table = TableId(i);
    const EstimateInputs in = estimate_inputs(problem, option);
    bytes += in.batch.outputs * in.columns * in.fwd_a2a_data_type_size;
  }
  return bytes;
}

namespace {

std::string number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// What the options of a problem need and a machine's file lacks.
struct Gaps {
  std::vector<LookupKind> missing;
  std::string missing_text;
  std::string assumed_optimizer;
  std::string first_outside;  // a table outside of the measured ranges
  std::size_t tables_outside = 0;
};

std::string text_of(const LookupKind& kind) {
  return std::string(to_name(kind.kernel)) + " " + std::string(to_name(kind.data_type)) +
         (kind.weighted ? " weighted" : "") + (kind.pooled ? "" : " without pooling") +
         (kind.optimizer.empty() ? "" : " ") + kind.optimizer;
}

// Says which size of a call is outside of the measured range.
std::string outside_text(const LookupModel& model, const LookupCall& call) {
  for (std::size_t i = 0; i < kCallSizes.size(); ++i) {
    const MeasuredRange& range = model.measured[i];
    const double size = call.*kCallSizes[i].member;
    if (!range.has(size))
      return std::string(kCallSizes[i].name) + " " + number(size) +
             " (measured: " + number(range.least) + " to " + number(range.most) + ")";
  }
  return "";
}

void add_gaps(const Problem& problem, TableId id, Gaps& gaps) {
  const MachineModel& machine = *problem.topology().spec().machine;
  const Table& table = problem.table(id);
  const TensorShape shape = tensor_shape(table, problem.spec().sharder.type);
  bool is_outside = false;
  for (const ShardingChoice& choice : allowed_choices(problem, table)) {
    ShardingOption option;
    option.table = id;
    option.sharding_type = choice.sharding_type;
    option.compute_kernel = choice.compute_kernel;
    const EstimateInputs in = estimate_inputs(problem, option);
    const LookupKind kind = lookup_kind(in);
    const LookupModel* const model = machine.find(kind);
    if (model == nullptr) {
      if (std::find(gaps.missing.begin(), gaps.missing.end(), kind) != gaps.missing.end()) continue;
      gaps.missing_text += (gaps.missing.empty() ? "" : ", ") + text_of(kind);
      gaps.missing.push_back(kind);
      continue;
    }
    if (kind.optimizer.empty()) gaps.assumed_optimizer = model->kind.optimizer;
    const ShardLayout layout = shard_layout(table, shape, choice.sharding_type, problem.topology());
    for (const ShardExtent& extent : layout.extents) {
      const LookupCall call = lookup_call(in, extent.rows, extent.columns);
      if (model->has_measured(call)) continue;
      is_outside = true;
      if (gaps.first_outside.empty())
        gaps.first_outside = "table " + quoted(table.name) + " with " + outside_text(*model, call);
    }
  }
  if (is_outside) ++gaps.tables_outside;
}

// Returns a sentence on links that were not measured; empty if there is none.
std::string unmeasured_links(const Problem& problem) {
  const Topology& topology = problem.topology();
  const MachineModel& machine = *topology.spec().machine;
  const std::int64_t ranks = topology.world_size();
  const auto scope = topology.is_one_host() ? LinkScope::kIntraHost : LinkScope::kInterHost;
  std::string missing;
  for (const Collective operation :
       {Collective::kAllToAll, Collective::kReduceScatter, Collective::kAllGather}) {
    if (ranks > 1 && machine.find(operation, scope, ranks) == nullptr)
      missing += (missing.empty() ? "" : ", ") + std::string(to_name(operation));
  }
  return missing.empty() ? ""
                         : machine.spec().name + " was not measured with " + missing + " over " +
                               std::to_string(ranks) + " ranks " +
                               (topology.is_one_host() ? "inside a host" : "across hosts") +
                               "; bandwidths are kept for communication as without a machine";
}

}  // namespace

std::vector<std::string> unmeasured(const Problem& problem) {
  if (problem.topology().spec().machine == nullptr || !problem.topology().layouts().empty())
    return {};
  Gaps gaps;
  for (std::size_t i = 0; i < problem.tables().size(); ++i)
    add_gaps(problem, TableId(i), gaps);
  std::vector<std::string> sentences;
  if (!gaps.missing.empty()) {
    sentences.push_back(problem.topology().spec().machine->spec().name + " was not measured with " +
                        gaps.missing_text +
                        "; TorchRec's constants are kept there, which do not compare with measured "
                        "times");
  }
  if (gaps.tables_outside > 0) {
    sentences.push_back(
        "shards of " + std::to_string(gaps.tables_outside) + " of " +
        std::to_string(problem.tables().size()) +
        " tables are outside of what was measured, such as " + gaps.first_outside +
        "; from the nearest measured shape on, times grow with the bytes that TorchRec counts");
  }
  if (!gaps.assumed_optimizer.empty())
    sentences.push_back("tables do not name their optimizer; " + gaps.assumed_optimizer +
                        " is assumed");
  if (std::string links = unmeasured_links(problem); !links.empty())
    sentences.push_back(std::move(links));
  return sentences;
}

}  // namespace shardwright::embedding
