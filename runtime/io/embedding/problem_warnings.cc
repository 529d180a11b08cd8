#include "runtime/io/embedding/problem_warnings.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/embedding/problem/table.h"
#include "core/units.h"
#include "search/embedding/compat/measured_costs.h"
#include "search/embedding/model/shard_layout.h"

namespace shardwright {
namespace {

using embedding::Problem;
using embedding::Table;
using embedding::Topology;
using embedding::TopologySpec;

// 10 MB/s, far below the links and memory of any accelerator. A number in GB/s is below 1e4.
constexpr double kLeastBytesPerMs = 1e4;
constexpr double kBytesPerMsOfGbPerS = 1e6;

// Returns the number without an exponent, such as "0.0006".
std::string decimal(double number) {
  std::array<char, 400> digits;
  char* const end = digits.data() + digits.size();
  return {digits.data(), std::to_chars(digits.data(), end, number, std::chars_format::fixed).ptr};
}

void warn_of_hosts(const Topology& topology, std::vector<Error>& warnings) {
  if (!topology.has_uneven_hosts()) return;
  const bool pods = topology.pod_size() > 1;
  const std::string name = pods ? "pod" : "host";
  const std::string whole = std::to_string(topology.num_hosts());
  const std::uint32_t left = topology.world_size() - topology.num_hosted_ranks();
  warnings.push_back(invalid_input(
      pods ? "/topology/pod_size" : "/topology/local_world_size",
      std::to_string(topology.world_size()) + " ranks make " + whole + " whole " + name +
          (topology.num_hosts() == 1 ? "" : "s") + " of " +
          std::to_string(topology.local_world_size()) + " ranks; as in TorchRec, " +
          std::to_string(left) + " ranks are on no " + name +
          " and get no table that is sharded within one. Is the number of ranks right?"));
}

void warn_of_bandwidths(const TopologySpec& spec, std::vector<Error>& warnings) {
  const std::array<std::pair<std::string_view, double>, 6> bandwidths{{
      {"intra_host_bw", spec.intra_host_bw},
      {"inter_host_bw", spec.inter_host_bw},
      {"hbm_mem_bw", spec.hbm_mem_bw},
      {"ddr_mem_bw", spec.ddr_mem_bw},
      {"hbm_to_ddr_mem_bw", spec.hbm_to_ddr_mem_bw},
      {"ssd_mem_bw", spec.ssd_mem_bw},
  }};
  for (const auto& [key, bytes_per_ms] : bandwidths) {
    if (bytes_per_ms >= kLeastBytesPerMs) continue;
    warnings.push_back(invalid_input("/topology/" + std::string(key),
                                     "bandwidths are bytes per millisecond, so this is " +
                                         decimal(bytes_per_ms / kBytesPerMsOfGbPerS) + " GB/s; " +
                                         decimal(bytes_per_ms) + " GB/s would be " +
                                         decimal(bytes_per_ms * kBytesPerMsOfGbPerS)));
    return;
  }
}

void warn_of_memory(const TopologySpec& spec, std::vector<Error>& warnings) {
  const std::array<std::pair<std::string_view, std::optional<std::int64_t>>, 3> sizes{{
      {"hbm_cap", spec.hbm_cap_bytes},
      {"ddr_cap", spec.ddr_cap_bytes},
      {"ssd_cap", spec.ssd_cap_bytes},
  }};
  for (const auto& [key, bytes] : sizes) {
    if (!bytes || *bytes == 0 || *bytes >= kMebibyte) continue;
    constexpr std::int64_t kUsualGib = 80;
    const std::int64_t gib = *bytes < 1000 ? *bytes : kUsualGib;
    warnings.push_back(invalid_input("/topology/" + std::string(key),
                                     "sizes are bytes, so a rank has " + std::to_string(*bytes) +
                                         " bytes, less than 1 MiB; " + std::to_string(gib) +
                                         " GiB would be " + std::to_string(gib * kGibibyte)));
    return;
  }
}

// Returns the first table for which `is_odd` holds (or null) and the number of such tables.
template <class IsOdd>
std::pair<const Table*, std::size_t> odd_tables(const std::vector<Table>& tables,
                                                const IsOdd& is_odd) {
  std::pair<const Table*, std::size_t> found{nullptr, 0};
  for (const Table& table : tables) {
    if (!is_odd(table)) continue;
    if (found.second++ == 0) found.first = &table;
  }
  return found;
}

std::string and_more(std::size_t count) {
  return count == 1 ? "" : " (and so in " + std::to_string(count - 1) + " more)";
}

// Warns unless there is one factor per feature. The default, one factor of 1, is allowed.
void warn_of_pooling_factors(const std::vector<Table>& tables, std::vector<Error>& warnings) {
  const std::vector<double> unsaid = embedding::ParameterConstraints().pooling_factors;
  const auto [first, count] = odd_tables(tables, [&](const Table& table) {
    if (!table.constraints) return false;
    const std::vector<double>& factors = table.constraints->pooling_factors;
    return factors.size() != table.features.size() && factors != unsaid;
  });
  if (first == nullptr) return;
  const std::string factors = std::to_string(first->constraints->pooling_factors.size());
  warnings.push_back(invalid_input(embedding::constraints_place(first->name) + "/pooling_factors",
                                   "table " + quoted(first->name) + " has " +
                                       std::to_string(first->features.size()) +
                                       " under `features`, and " + factors +
                                       " factors; as in TorchRec, the costs are those of " +
                                       factors + " features" + and_more(count)));
}

// Warns of groups of one table, which have no effect.
void warn_of_groups(const embedding::ProblemSpec& spec, std::vector<Error>& warnings) {
  for (const auto& [key, groups] : {std::pair{"/keep_together/", &spec.keep_together},
                                    std::pair{"/keep_apart/", &spec.keep_apart}}) {
    for (std::size_t i = 0; i < groups->size(); ++i) {
      if ((*groups)[i].tables.size() > 1) continue;
      warnings.push_back(invalid_input(key + std::to_string(i),
                                       "a group of one table says nothing; name two or more"));
      return;
    }
  }
}

// Source: construct_split_state, fbgemm_gpu/split_table_batched_embeddings_ops_training.py.
void warn_of_dimensions(const Problem& problem, std::vector<Error>& warnings) {
  constexpr std::int64_t kMultiple = 4;
  if (problem.spec().sharder.type != embedding::SharderSpec::Type::kTraining) return;
  const std::vector<Table>& tables = problem.tables();
  const auto [first, count] =
      odd_tables(tables, [](const Table& table) { return table.embedding_dim % kMultiple != 0; });
  if (first == nullptr) return;
  const std::int64_t columns = first->embedding_dim;
  const std::int64_t more = columns + kMultiple - columns % kMultiple;
  warnings.push_back(invalid_input(
      "/tables/" + std::to_string(first - tables.data()) + "/embedding_dim",
      "the fused kernels of FBGEMM refuse the dimension " + std::to_string(columns) + " of table " +
          quoted(first->name) + ", which is no multiple of " + std::to_string(kMultiple) +
          "; pad it to " + std::to_string(more) + and_more(count)));
}

// Returns true if `min_partition` is not the number of columns but prevents any split of them.
bool never_splits(const Problem& problem, const Table& table) {
  const std::int64_t least =
      table.constraints ? table.constraints->min_partition.value_or(0) : std::int64_t{0};
  if (least == 0 || least == table.embedding_dim) return false;
  const auto shape = embedding::tensor_shape(table, problem.spec().sharder.type);
  return shard_layout(table, shape, embedding::ShardingType::kColumnWise, problem.topology())
             .num_shards == 1;
}

void warn_of_partitions(const Problem& problem, std::vector<Error>& warnings) {
  const auto [first, count] = odd_tables(
      problem.tables(), [&](const Table& table) { return never_splits(problem, table); });
  if (first == nullptr) return;
  const std::int64_t least = *first->constraints->min_partition;
  const std::string columns = std::to_string(first->embedding_dim);
  const std::string why =
      least > first->embedding_dim
          ? std::to_string(least) + " is above the "
          : "no multiple of 4 from " + std::to_string(least) + " on divides the ";
  warnings.push_back(invalid_input(
      embedding::constraints_place(first->name) + "/min_partition",
      why + columns + " columns of the table, so that these are never split" + and_more(count)));
}

}  // namespace

std::vector<Error> problem_warnings(const Problem& problem) {
  std::vector<Error> warnings;
  const TopologySpec& spec = problem.topology().spec();
  warn_of_hosts(problem.topology(), warnings);
  warn_of_bandwidths(spec, warnings);
  warn_of_memory(spec, warnings);
  warn_of_groups(problem.spec(), warnings);
  warn_of_pooling_factors(problem.tables(), warnings);
  warn_of_dimensions(problem, warnings);
  warn_of_partitions(problem, warnings);
  for (std::string& sentence : embedding::unmeasured(problem))
    warnings.push_back(invalid_input("machine", std::move(sentence)));
  return warnings;
}

}  // namespace shardwright
