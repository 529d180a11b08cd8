// Reads plan files. plan_json.cc writes them.
#include "runtime/io/embedding/plan_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/io/embedding/certificate_json.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/kinds/document_kind.h"

namespace shardwright {
namespace {

// Keys that only the verifier reads (runtime/io/embedding/verify_file.h), and notes of other
// planners.
constexpr std::array<std::string_view, 22> kIgnoredKeys{"name",
                                                        "case",
                                                        "torchrec",
                                                        "timing",
                                                        "group",
                                                        "note",
                                                        "open_proof",
                                                        "source",
                                                        "expected",
                                                        "work",
                                                        "threads",
                                                        "num_plans",
                                                        "num_proposals",
                                                        "description",
                                                        "proposals",
                                                        "proposals_note",
                                                        "search_space",
                                                        "stats",
                                                        "violations",
                                                        "search_space_order",
                                                        "search_space_sha1",
                                                        "other_layouts"};

Status read_storage(JsonValue value, std::vector<std::int64_t>& out) {
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, out));
  if (out.size() != 2 && out.size() != embedding::kNumMemoryTiers)
    return value.expected("a list [hbm, ddr] or [hbm, ddr, ssd] of bytes");
  return {};
}

Status read_reserved(JsonValue value, ReservedTopology& out) {
  return JsonMembers(value)
      .optional_with("uniform",
                     [&](JsonValue v) {
                       out.uniform = true;
                       return read_storage(v, out.per_rank.emplace_back());
                     })
      .optional_with(
          "per_rank",
          [&](JsonValue v) -> Status {
            if (!v.is_array()) return v.expected("a list with [hbm, ddr] per rank");
            for (std::size_t i = 0; i < v.size(); ++i) {
              SHARDWRIGHT_RETURN_IF_ERROR(read_storage(v[i], out.per_rank.emplace_back()));
            }
            return {};
          })
      .optional("world_size", out.world_size)
      .optional_with("dense_storage",
                     [&](JsonValue v) { return read_storage(v, out.dense_storage); })
      .optional_with("kjt_storage", [&](JsonValue v) { return read_storage(v, out.kjt_storage); })
      .finish();
}

Status read_memory_parts(JsonValue list, std::vector<ClaimedMemory>& out) {
  if (list.is_null()) return {};
  if (!list.is_array()) return list.expected("a list with one object per rank");
  out.resize(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    JsonMembers reader(list[i]);
    for (const auto& [key, member] :
         {std::pair{"capacity", &out[i].capacity}, std::pair{"reservation", &out[i].reservation},
          std::pair{"reserved", &out[i].reserved}, std::pair{"margin", &out[i].margin},
          std::pair{"tables", &out[i].tables}, std::pair{"free", &out[i].free},
          std::pair{"peak", &out[i].peak}}) {
      std::vector<std::int64_t>& storage = *member;
      reader.optional_with(key, [&](JsonValue v) { return read_storage(v, storage); });
    }
    SHARDWRIGHT_RETURN_IF_ERROR(reader.finish());
  }
  return {};
}

// Most elements of a table or of a layout's shards: their bytes at 64 bits each do not overflow.
constexpr std::int64_t kMostElements = std::int64_t{1} << 58;
constexpr std::int64_t kMostTogether = (std::int64_t{1} << 60) - 1;

// Returns true if the numbers describe a run of shards whose elements do not overflow.
bool is_extent(const std::vector<std::int64_t>& numbers) {
  constexpr std::int64_t kMostShards = std::int64_t{1} << 31;
  if (numbers.size() != 7) return false;
  for (const std::int64_t number : numbers) {
    if (number < 0 || number > kMostElements) return false;
  }
  const std::int64_t rows = numbers[0], columns = numbers[1], count = numbers[6];
  if (count < 1 || count >= kMostShards) return false;
  return (columns == 0 || rows <= kMostElements / columns) &&
         rows * columns <= kMostTogether / count && numbers[4] <= kMostElements / count &&
         numbers[5] <= kMostElements / count;
}

Status read_layout(JsonValue list, std::optional<embedding::ShardLayout>& out) {
  if (list.is_null()) return {};
  if (!list.is_array()) return list.expected("a list of runs of shards");
  embedding::ShardLayout& layout = out.emplace();
  std::int64_t shards = 0, elements_left = kMostTogether;
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::vector<std::int64_t> n;
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(list[i], n));
    if (is_extent(n)) {
      shards += n[6];
      elements_left -= n[0] * n[1] * n[6];
    }
    if (!is_extent(n) || shards >= std::int64_t{1} << 31 || elements_left < 0) {
      return list[i].expected(
          "a run of shards [rows, columns, row offset, column offset, row step, column step, "
          "count]");
    }
    layout.append({n[0], n[1], n[2], n[3], n[4], n[5], static_cast<std::uint32_t>(n[6])});
  }
  return {};
}

Status read_element_bits(JsonValue value, std::optional<std::int64_t>& out) {
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, out));
  if (out && (*out < 1 || *out > 64)) return value.error("must be between 1 and 64");
  return {};
}

Status read_entry(JsonValue value, PlanEntry& entry) {
  return JsonMembers(value)
      .required("table", entry.table)
      .optional("module", entry.module)
      .required("sharding_type", entry.sharding_type)
      .required("compute_kernel", entry.compute_kernel)
      .optional("load_factor", entry.load_factor)
      .required("ranks", entry.ranks)
      .optional_with("layout", [&](JsonValue v) { return read_layout(v, entry.layout); })
      .optional_with("element_bits",
                     [&](JsonValue v) { return read_element_bits(v, entry.element_bits); })
      .optional("hbm", entry.hbm_bytes)
      .optional("ddr", entry.ddr_bytes)
      .optional("ssd", entry.ssd_bytes)
      .optional("perf", entry.perf_ms)
      .ignore({"note"})
      .finish();
}

Status read_entries(JsonValue list, std::optional<std::vector<PlanEntry>>& out) {
  if (list.is_null()) return {};
  if (!list.is_array()) return list.expected("a list with one entry per table");
  std::vector<PlanEntry>& entries = out.emplace(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    SHARDWRIGHT_RETURN_IF_ERROR(read_entry(list[i], entries[i]));
  }
  return {};
}

Status read_parts(JsonValue value, std::vector<std::pair<std::string, std::string>>& parts) {
  if (value.is_null()) return {};
  if (!value.is_object()) return value.expected("an object with one hash per part of the problem");
  for (std::size_t i = 0; i < value.size(); ++i) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view hash, value[i].string());
    parts.emplace_back(value[i].key(), hash);
  }
  return {};
}

Status read_mode(JsonValue value, std::optional<PlanMode>& out) {
  if (value.is_null()) return {};
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view name, value.string());
  if (name == "exact") {
    return value.error("exact mode is called compat mode now: change it to \"compat\" here");
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index, read_choice(value, "mode", kPlanModeNames));
  out = static_cast<PlanMode>(index);
  return {};
}

Status read_stop(JsonValue value, StopReason& out) {
  if (value.is_null()) return {};
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index,
                               read_choice(value, "reason to stop", kStopReasonNames));
  out = static_cast<StopReason>(index);
  return {};
}

template <class Enum, std::size_t Size>
Status read_name(JsonValue value, std::string_view what,
                 const std::array<std::string_view, Size>& names, std::optional<Enum>& out) {
  if (value.is_null()) return {};
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index, read_choice(value, what, names));
  out = static_cast<Enum>(index);
  return {};
}

// Another planner may have types of its own.
Status read_type(JsonValue value, std::optional<FailureType>& out) {
  if (value.is_null()) return {};
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view name, value.string());
  const auto* const found = std::find(kFailureTypeNames.begin(), kFailureTypeNames.end(), name);
  if (found != kFailureTypeNames.end())
    out = static_cast<FailureType>(found - kFailureTypeNames.begin());
  return {};
}

Status read_failure(JsonValue value, std::optional<ClaimedFailure>& out) {
  if (value.is_null()) return {};
  ClaimedFailure& failure = out.emplace();
  return JsonMembers(value)
      .optional("message", failure.message)
      .optional_with("type", [&](JsonValue v) { return read_type(v, failure.type); })
      .optional_with(
          "reason",
          [&](JsonValue v) { return read_name(v, "reason", kFailureReasonNames, failure.reason); })
      .optional_with("proof",
                     [&](JsonValue v) {
                       return read_name(v, "kind of proof", kAbsenceProofNames, failure.proof);
                     })
      .finish();
}

Status read_improvements(JsonValue list, std::vector<embedding::ImprovementStep>& out) {
  if (list.is_null()) return {};
  if (!list.is_array()) return list.expected("a list of steps");
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::int64_t work = 0;
    embedding::ImprovementStep& step = out.emplace_back();
    SHARDWRIGHT_RETURN_IF_ERROR(JsonMembers(list[i])
                                    .required("work", work)
                                    .required("rating", step.rating)
                                    .optional("bound", step.bound)
                                    .finish());
    if (work < 0) return list[i].error("`work` must not be negative");
    step.work = static_cast<std::uint64_t>(work);
  }
  return {};
}

Status check_format(JsonValue value) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view format, value.string());
  if (format == kPlanFormat) return {};
  return value.error("this version reads plans in the format \"" + std::string(kPlanFormat) +
                     "\" only");
}

}  // namespace

Result<PlanDocument> read_plan(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument json, JsonDocument::parse(text));
  return read_plan(json.root());
}

Result<PlanDocument> read_plan(JsonValue root) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(root, DocumentKind::kPlan));
  PlanDocument out;
  SHARDWRIGHT_RETURN_IF_ERROR(
      JsonMembers(root)
          .optional_with("format", check_format)
          .optional("problem_hash", out.problem_hash)
          .optional("sharding_group_size", out.sharding_group_size)
          .optional("pod_size", out.pod_size)
          .optional_with("problem_parts",
                         [&](JsonValue v) { return read_parts(v, out.problem_parts); })
          .optional("search_hash", out.search_hash)
          .optional("plan_hash", out.plan_hash)
          .optional_with("mode", [&](JsonValue v) { return read_mode(v, out.mode); })
          .optional_with("stopped_by", [&](JsonValue v) { return read_stop(v, out.stopped_by); })
          .optional_with(
              "reserved_topology",
              [&](JsonValue v) { return read_reserved(v, out.reserved_topology.emplace()); })
          .optional("search_space_size", out.search_space_size)
          .optional("best_rating", out.best_rating)
          .optional("plan_perf_by_rank", out.perf_ms_by_rank)
          .optional("plan_hbm_by_rank", out.hbm_bytes_by_rank)
          .optional("plan_ddr_by_rank", out.ddr_bytes_by_rank)
          .optional("plan_ssd_by_rank", out.ssd_bytes_by_rank)
          .optional_with(
              "plan_memory_parts_by_rank",
              [&](JsonValue v) { return read_memory_parts(v, out.memory_parts_by_rank); })
          .optional("plan_ranks_sha1", out.ranks_sha1)
          .optional_with("plan", [&](JsonValue v) { return read_entries(v, out.plan); })
          .optional("lower_bound", out.lower_bound)
          .optional("gap", out.gap)
          .optional("proven_optimal", out.proven_optimal)
          .optional_with("certificate",
                         [&](JsonValue v) -> Status {
                           if (v.is_null()) return {};
                           SHARDWRIGHT_ASSIGN_OR_RETURN(out.certificate, read_certificate(v));
                           return {};
                         })
          .optional_with("improvements",
                         [&](JsonValue v) { return read_improvements(v, out.improvements); })
          .optional("reused", out.reused)
          .optional_with("migration",
                         [&](JsonValue v) -> Status {
                           out.has_migration = !v.is_null();
                           return {};
                         })
          .optional_with("error", [&](JsonValue v) { return read_failure(v, out.failure); })
          .ignore(kIgnoredKeys)
          .finish());
  if (!out.plan && !out.failure) {
    return root.error("the file holds neither a `plan` nor an `error`");
  }
  return out;
}

}  // namespace shardwright
