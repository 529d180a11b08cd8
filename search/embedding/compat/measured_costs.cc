#include "search/embedding/compat/measured_costs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
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

// Collects what the options of a problem need and a machine's file lacks.
class Gaps {
 public:
  explicit Gaps(const Problem& problem)
      : problem_(problem), machine_(*problem.topology().spec().machine) {}

  void add(TableId id) {
    const Table& table = problem_.table(id);
    const TensorShape shape = tensor_shape(table, problem_.spec().sharder.type);
    is_outside_ = false;
    for (const ShardingChoice& choice : allowed_choices(problem_, table)) {
      ShardingOption option;
      option.table = id;
      option.sharding_type = choice.sharding_type;
      option.compute_kernel = choice.compute_kernel;
      const EstimateInputs in = estimate_inputs(problem_, option);
      const LookupModel* const model = model_of(in);
      if (model == nullptr) continue;
      const ShardLayout layout =
          shard_layout(table, shape, choice.sharding_type, problem_.topology());
      for (const ShardExtent& extent : layout.extents)
        check_range(*model, lookup_call(in, extent.rows, extent.columns), table.name);
    }
    if (is_outside_) ++tables_outside_;
  }

  std::vector<std::string> sentences() const {
    std::vector<std::string> all;
    const std::string& name = machine_.spec().name;
    if (!kinds_.empty()) {
      all.push_back(name + " was not measured with " + kinds_ +
                    "; TorchRec's constants are kept there, which do not compare with measured "
                    "times");
    }
    if (tables_outside_ > 0) {
      all.push_back("shards of " + std::to_string(tables_outside_) + " of " +
                    std::to_string(problem_.tables().size()) +
                    " tables are outside of what was measured, such as " + first_outside_ +
                    "; from the nearest measured shape on, times grow with the bytes that TorchRec "
                    "counts");
    }
    if (!assumed_.empty())
      all.push_back("tables do not name their optimizer; " + assumed_ + " is assumed");
    return all;
  }

 private:
  const LookupModel* model_of(const EstimateInputs& in) {
    const LookupKind kind = lookup_kind(in);
    const LookupModel* const model = machine_.find(kind);
    if (model != nullptr) {
      if (kind.optimizer.empty() && kind.kernel != ComputeKernel::kDense)
        assumed_ = model->kind.optimizer;
      return model;
    }
    if (std::find(missing_.begin(), missing_.end(), kind) != missing_.end()) return nullptr;
    missing_.push_back(kind);
    kinds_ += (kinds_.empty() ? "" : ", ") + std::string(to_name(kind.kernel)) + " " +
              std::string(to_name(kind.data_type)) + (kind.weighted ? " weighted" : "") +
              (kind.pooled ? "" : " without pooling") +
              (kind.optimizer.empty() ? "" : " " + kind.optimizer);
    return nullptr;
  }

  void check_range(const LookupModel& model, const LookupCall& call, const std::string& table) {
    if (model.has_measured(call)) return;
    is_outside_ = true;
    if (!first_outside_.empty()) return;
    const std::array<std::pair<const char*, std::pair<double, MeasuredRange>>, 5> sizes{
        {{"rows", {call.rows, model.rows}},
         {"dim", {call.dim, model.dim}},
         {"bags", {call.bags, model.bags}},
         {"lookups", {call.lookups, model.lookups}},
         {"zipf", {call.zipf, model.zipf}}}};
    for (const auto& [what, size] : sizes) {
      if (size.second.has(size.first)) continue;
      first_outside_ = "table " + quoted(table) + " with " + what + " " + number(size.first) +
                       " (measured: " + number(size.second.least) + " to " +
                       number(size.second.most) + ")";
      return;
    }
  }

  const Problem& problem_;
  const MachineModel& machine_;
  std::vector<LookupKind> missing_;
  std::string kinds_;          // the text of `missing_`
  std::string assumed_;        // optimizer
  std::string first_outside_;  // a table outside of the measured ranges
  std::size_t tables_outside_ = 0;
  bool is_outside_ = false;  // the table that is looked at
};

// Returns a sentence on links that were not measured; empty if there is none.
std::string unmeasured_links(const Problem& problem) {
  const Topology& topology = problem.topology();
  const MachineModel& machine = *topology.spec().machine;
  const std::int64_t ranks = topology.world_size();
  if (ranks == 1) return "";
  const auto scope = topology.is_one_host() ? LinkScope::kIntraHost : LinkScope::kInterHost;
  std::string missing;
  for (const Collective operation :
       {Collective::kAllToAll, Collective::kReduceScatter, Collective::kAllGather}) {
    if (machine.find(operation, scope, ranks) == nullptr)
      missing += (missing.empty() ? "" : ", ") + std::string(to_name(operation));
  }
  if (missing.empty()) return "";
  return machine.spec().name + " was not measured with " + missing + " over " +
         std::to_string(ranks) + " ranks " +
         (scope == LinkScope::kIntraHost ? "inside a host" : "across hosts") +
         "; bandwidths are kept for communication as without a machine";
}

}  // namespace

std::vector<std::string> unmeasured(const Problem& problem) {
  if (problem.topology().spec().machine == nullptr || !problem.topology().layouts().empty())
    return {};
  Gaps gaps(problem);
  for (std::size_t i = 0; i < problem.tables().size(); ++i)
    gaps.add(TableId(i));
  std::vector<std::string> sentences = gaps.sentences();
  if (std::string links = unmeasured_links(problem); !links.empty())
    sentences.push_back(std::move(links));
  return sentences;
}

}  // namespace shardwright::embedding
