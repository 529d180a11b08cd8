// A planning problem: tables, topology, and the planner components to use.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core/embedding/problem/hardware_perf_config.h"
#include "core/embedding/problem/memory_limits.h"
#include "core/embedding/problem/placement_rules.h"
#include "core/embedding/problem/release_rules.h"
#include "core/embedding/problem/table.h"
#include "core/embedding/problem/topology.h"
#include "core/status.h"

namespace shardwright::embedding {

// Data types of the values that collectives transfer. Unset means the data type of the table.
// Source: QuantizedCommCodecs, torchrec/distributed/types.py.
struct CommCodec {
  std::optional<DataType> forward;
  std::optional<DataType> backward;
};

struct SharderSpec {
  enum class Type : std::uint8_t { kTraining, kQuant };
  Type type = Type::kTraining;
  // fused_params
  std::optional<double> cache_load_factor;
  std::optional<bool> prefetch_pipeline;
  std::optional<int> prefetch_passes;
  // qcomm_codecs
  CommCodec pooled_all_to_all;
  CommCodec sequence_all_to_all;
  CommCodec pooled_reduce_scatter;
};

struct StorageEstimatorSpec {
  PipelineType pipeline_type = PipelineType::kNone;
  bool run_embedding_at_peak_memory = false;
  bool is_inference = false;
};

struct PerfEstimatorSpec {
  bool is_inference = false;
  // Members of EmbeddingPerfEstimatorFactory, from TorchRec 1.9.2 on.
  bool use_batch_inputs_for_expected_cache_fetches = false;
  bool use_linear_regression_prefetch_estimate = false;
  std::optional<HardwarePerfConfig> config;
};

struct ReservationSpec {
  enum class Type : std::uint8_t {
    kHeuristical,
    kFixed,
    kInference,
    kNone,
    kFixedAbsolute,
    kSkuAware
  };
  Type type = Type::kHeuristical;
  double percentage = 0.15;                    // a fraction, 0..1
  std::optional<double> parameter_multiplier;  // default: 1 for inference, otherwise 6
  std::optional<std::int64_t> dense_tensor_estimate_bytes;
  std::int64_t hbm_reserved_bytes = 0;  // for kFixedAbsolute
  // For kSkuAware. If given, model_base_bytes replaces the margin and the dense parameters.
  std::int64_t margin_bytes = 0;
  std::int64_t runtime_overhead_bytes = 0;
  std::optional<std::int64_t> model_base_bytes;

  // Returns true if a fraction of the HBM of every rank is reserved.
  bool takes_percentage() const {
    return type == Type::kHeuristical || type == Type::kFixed || type == Type::kInference;
  }
};

struct ProposerSpec {
  enum class Type : std::uint8_t { kGrid, kGreedy, kUniform, kDynamicProgramming, kScaleup };
  Type type = Type::kGreedy;
  bool use_depth = true;
  std::optional<std::int64_t> threshold;   // greedy only
  std::int64_t hbm_bins_per_device = 100;  // dynamic programming only
  std::int64_t max_proposals = 10000;      // grid only
};

struct PartitionerSpec {
  enum class Type : std::uint8_t { kGreedy, kMemoryBalanced };
  enum class SortBy : std::uint8_t { kStorage, kPerf };
  Type type = Type::kGreedy;
  SortBy sort_by = SortBy::kStorage;
  bool balance_modules = false;
  std::int64_t max_search_count = 10;
  double tolerance = 0.02;
};

enum class PerfModel : std::uint8_t { kPerf, kStorage };

// A planning problem as given by the user, not yet checked.
struct ProblemSpec {
  std::string name;
  TorchRecRelease torchrec = TorchRecRelease::k1_9_2;  // the release whose rules and costs apply
  TopologySpec topology;
  std::int64_t batch_size = 512;  // samples per rank
  std::vector<Table> tables;
  std::int64_t dense_params = 0;  // parameters outside the tables, 4 bytes each
  SharderSpec sharder;
  StorageEstimatorSpec storage_estimator;
  PerfEstimatorSpec perf_estimator;
  ReservationSpec reservation;
  std::vector<ProposerSpec> proposers;  // empty = TorchRec's four defaults
  PartitionerSpec partitioner;
  PerfModel perf_model = PerfModel::kPerf;
  bool use_exact_enumerate_order = false;
  // The following members are not in TorchRec.
  std::vector<TableGroup> keep_together;
  std::vector<TableGroup> keep_apart;
  double zipf = 0;  // of tables that have none of their own
  MemoryLimits memory;
  Calibration calibration;
};

// A checked planning problem. Immutable; all plans for the problem share it.
// Thread safety: a value; const members may be called from any thread.
class Problem {
 public:
  // Checks ranges, duplicate names and placement rules. Also checks that the TorchRec release
  // supports the spec, and that the tables of a module are of one kind. Errors: kInvalidInput;
  // `where` is the value's JSON pointer in a problem file.
  static Result<Problem> make(ProblemSpec spec);

  const std::string& name() const { return spec_.name; }
  const Topology& topology() const { return topology_; }
  std::int64_t batch_size() const { return spec_.batch_size; }
  const std::vector<Table>& tables() const { return spec_.tables; }
  const Table& table(TableId id) const { return spec_.tables[id.index()]; }
  const ProblemSpec& spec() const { return spec_; }
  // The rules of the problem's TorchRec release.
  const ReleaseRules& release() const { return *release_; }
  // The compiled placement constraints.
  const PlacementRules& rules() const { return rules_; }

  // A module and its tables. Modules are in the order of their first tables.
  struct Module {
    std::string name;
    std::vector<TableId> tables;
  };
  const std::vector<Module>& modules() const { return modules_; }
  std::uint32_t module_of(TableId id) const { return module_of_[id.index()]; }

 private:
  Problem(ProblemSpec spec, Topology topology, PlacementRules rules);

  ProblemSpec spec_;
  const ReleaseRules* release_;
  Topology topology_;
  PlacementRules rules_;
  std::vector<Module> modules_;
  std::vector<std::uint32_t> module_of_;  // by table
};

// Checks that the problem has a single machine layout, as options and plans need. Errors:
// kInvalidInput if several layouts are possible.
Status check_layout(const Problem& problem);

}  // namespace shardwright::embedding
