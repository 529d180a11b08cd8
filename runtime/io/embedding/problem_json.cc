#include "runtime/io/embedding/problem_json.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "runtime/io/embedding/planner_parts_json.h"
#include "runtime/io/embedding/table_json.h"
#include "runtime/io/embedding/tables_csv.h"
#include "runtime/io/embedding/topology_json.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/kinds/document_kind.h"

namespace shardwright {
namespace {

using embedding::GroupScope;
using embedding::ProblemSpec;
using embedding::TopologySpec;

constexpr std::string_view kFormat = "shardwright.embedding/1";

// Keys of plans and of remarks. They are ignored so that a file with a problem and its plan can be
// planned again.
constexpr std::array<std::string_view, 49> kKeysOfPlans{"expected",
                                                        "group",
                                                        "timing",
                                                        "note",
                                                        "source",
                                                        "case",
                                                        "reserved_topology",
                                                        "search_space_size",
                                                        "search_space_order",
                                                        "search_space_sha1",
                                                        "search_space",
                                                        "num_proposals",
                                                        "num_plans",
                                                        "best_rating",
                                                        "plan_perf_by_rank",
                                                        "plan_hbm_by_rank",
                                                        "plan_ddr_by_rank",
                                                        "plan_ssd_by_rank",
                                                        "plan_memory_parts_by_rank",
                                                        "plan_ranks_sha1",
                                                        "plan_hash",
                                                        "problem_hash",
                                                        "problem_parts",
                                                        "search_hash",
                                                        "reused",
                                                        "stats",
                                                        "improvements",
                                                        "certificate",
                                                        "plan",
                                                        "proposals",
                                                        "proposals_note",
                                                        "violations",
                                                        "error",
                                                        "mode",
                                                        "lower_bound",
                                                        "gap",
                                                        "proven_optimal",
                                                        "work",
                                                        "threads",
                                                        "stopped_by",
                                                        "description",
                                                        "sharding_group_size",
                                                        "pod_size",
                                                        "other_layouts",
                                                        "machine",
                                                        "overrides",
                                                        "verdict",
                                                        "move_front",
                                                        "move_bound"};

Status check_problem_format(JsonValue value) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view format, value.string());
  if (format == kFormat) return {};
  return value.error("this version reads \"" + std::string(kFormat) + "\", the file is \"" +
                     std::string(format) + "\"");
}

// What the file says of topology and batch size, before defaults and overrides.
struct FileChoices {
  bool has_topology = false;
  std::optional<std::int64_t> batch_size;
  std::optional<TopologySuggestion> suggestion;
};

// Checks that the number of ranks is given and not 0.
Status check_ranks(JsonValue root, const TopologySpec& topology) {
  if (topology.world_size != 0) return {};
  const std::optional<JsonValue> machine = root.find("topology");
  if (machine && machine->find("world_size"))
    return invalid_input("/topology/world_size",
                         "must be at least 1 rank; write another number, or give {ranks}");
  return invalid_input("",
                       "the problem does not say how many ranks there are; give {ranks}, or "
                       "`topology` with `world_size` in the file");
}

void choose_batch_size(const FileChoices& file, const ProblemOverrides& overrides,
                       ProblemSpec& spec) {
  const bool suggested = !file.has_topology && file.suggestion;
  if (overrides.batch_size) {
    spec.batch_size = *overrides.batch_size;
  } else if (file.batch_size) {
    spec.batch_size = *file.batch_size;
  } else if (suggested && file.suggestion->batch_per_gpu) {
    spec.batch_size = *file.suggestion->batch_per_gpu;
  } else if (suggested && file.suggestion->global_batch && spec.topology.world_size > 0) {
    spec.batch_size =
        std::max<std::int64_t>(*file.suggestion->global_batch / spec.topology.world_size, 1);
  }
}

// If `with_tables` is false, `tables` is an unknown key.
void describe_problem(JsonMembers& members, bool with_tables, ProblemSpec& spec,
                      FileChoices& file) {
  if (with_tables) describe_tables(members, spec.tables);
  members.optional_with("format", check_problem_format, [] { return json::one_word({kFormat}); })
      .optional("name", spec.name)
      .optional("torchrec", spec.torchrec, "Release of TorchRec whose rules and costs hold.")
      .optional("topology", spec.topology, "The machine.")
      .optional("batch_size", file.batch_size, "Samples per rank and step; 512 if left out.");
  describe_constraints(members, spec.tables);
  members
      .optional("zipf", spec.zipf,
                "Skew of lookups, for measured costs: a row of popularity k is looked up in "
                "proportion to k^-zipf; 0 is uniform.")
      .from(0)
      .up_to(4)
      .optional("dense_params", spec.dense_params, "Parameters outside the tables.")
      .optional("use_exact_enumerate_order", spec.use_exact_enumerate_order);
  describe_table_groups(members, "keep_together", spec.tables, GroupScope::kHost,
                        spec.keep_together, "Tables whose shards share a host or a rank.");
  describe_table_groups(members, "keep_apart", spec.tables, GroupScope::kRank, spec.keep_apart,
                        "Tables of which no two share a rank or a host.");
  describe_memory(members, spec.memory);
  members.object(
      "calibration", [&](JsonMembers& inner) { describe(inner, spec.calibration); },
      "Measured factors.");
  describe_meta(members, file.suggestion);
  members.ignore(kKeysOfPlans);
  describe_planner_parts(members, spec);
}

Status read_members(JsonValue root, bool with_tables, ProblemSpec& spec, FileChoices& file) {
  JsonMembers members(root);
  file.has_topology = root.find("topology").has_value();
  describe_problem(members, with_tables, spec, file);
  return members.finish();
}

// Warns of members of the file's topology that the figures of `gpu` replace.
void warn_of_replaced(JsonValue root, const ProblemOverrides& overrides,
                      std::vector<Error>& warnings) {
  const std::optional<JsonValue> topology = root.find("topology");
  if (!overrides.gpu || !topology) return;
  std::string replaced;
  for (const auto& [key, is_given] :
       {std::pair{"hbm_cap", overrides.hbm_bytes.has_value()},
        std::pair{"hbm_mem_bw", overrides.hbm_mem_bw.has_value()},
        std::pair{"intra_host_bw", overrides.intra_host_bw.has_value()},
        std::pair{"inter_host_bw", overrides.inter_host_bw.has_value()}}) {
    if (!is_given && topology->find(key))
      replaced += (replaced.empty() ? "" : ", ") + std::string(key);
  }
  if (replaced.empty()) return;
  warnings.push_back(
      invalid_input("/topology", "{gpu} " + std::string(embedding::to_name(*overrides.gpu)) +
                                     " replaces these members: " + replaced +
                                     "; flags such as {hbm} replace its figures"));
}

Result<ProblemSpec> read_json(std::string_view text, const ProblemOverrides& overrides,
                              std::vector<Error>* warnings) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  const JsonValue root = document.root();
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(root, DocumentKind::kProblem));
  ProblemSpec spec;
  FileChoices file;
  SHARDWRIGHT_RETURN_IF_ERROR(read_members(root, true, spec, file));
  if (!file.has_topology && file.suggestion) {
    SHARDWRIGHT_RETURN_IF_ERROR(apply_suggestion(*file.suggestion, spec.topology));
  }
  SHARDWRIGHT_RETURN_IF_ERROR(overrides.apply(spec.topology));
  if (warnings != nullptr) warn_of_replaced(root, overrides, *warnings);
  SHARDWRIGHT_RETURN_IF_ERROR(check_ranks(root, spec.topology));
  if (overrides.torchrec) spec.torchrec = *overrides.torchrec;
  if (overrides.zipf) spec.zipf = *overrides.zipf;
  choose_batch_size(file, overrides, spec);
  return spec;
}

}  // namespace

Result<ProblemSpec> read_problem(std::string_view text, const ProblemOverrides& overrides,
                                 std::vector<Error>* warnings) {
  if (!internal::is_tables_csv(text)) return read_json(text, overrides, warnings);
  SHARDWRIGHT_ASSIGN_OR_RETURN(const internal::TablesCsv tables, internal::TablesCsv::parse(text));
  Result<ProblemSpec> spec = read_json(tables.json(), overrides, warnings);
  return spec.ok() ? std::move(spec) : tables.locate(spec.error());
}

bool is_problem_csv(std::string_view text) { return internal::is_tables_csv(text); }

Error locate_in_problem(std::string_view text, const ProblemOverrides& overrides, Error error) {
  error = overrides.locate(std::move(error));
  if (!internal::is_tables_csv(text)) return error;
  const Result<internal::TablesCsv> tables = internal::TablesCsv::parse(text);
  return tables.ok() ? tables->locate(std::move(error)) : error;
}

Result<ProblemSpec> read_problem_settings(std::string_view text, ProblemSpec spec) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  FileChoices file;
  SHARDWRIGHT_RETURN_IF_ERROR(read_members(document.root(), false, spec, file));
  choose_batch_size(file, {}, spec);
  return spec;
}

JsonShape problem_shape() {
  return shape_by([](JsonMembers& members) {
           ProblemSpec sample;
           FileChoices file;
           describe_problem(members, true, sample, file);
         })
      .says(
          "Embedding tables, the machine that they are sharded over, and rules. `shardwright plan` "
          "reads it. Sizes are bytes, times milliseconds, bandwidths bytes per millisecond.");
}

JsonShape topology_shape() {
  return shape_of(TopologySpec())
      .says("The machine of a problem: the value of `topology` in a problem file.");
}

}  // namespace shardwright
