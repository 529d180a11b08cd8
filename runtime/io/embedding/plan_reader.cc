// Reads plan files, which plan_json.cc writes.
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
constexpr std::array<std::string_view, 24> kIgnoredKeys{"name",
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
                                                        "other_layouts",
                                                        "move_front",
                                                        "move_bound"};

// Members of `verdict` that programs read, and no reader here.
constexpr std::array<std::string_view, 6> kOtherVerdict{
    "torchrec_rating", "torchrec_is_complete", "slowest_rank",
    "slowest_table",   "slowest_table_share",  "what_if"};

Status read_storage(JsonValue value, std::vector<std::int64_t>& out) {
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, out));
  if (out.size() != 2 && out.size() != embedding::kNumMemoryTiers)
    return value.expected("a list [hbm, ddr] or [hbm, ddr, ssd] of bytes");
  return {};
}

void describe_storage(JsonMembers& members, std::string_view key, std::vector<std::int64_t>& out) {
  members.optional_with(
      key, [&](JsonValue v) { return read_storage(v, out); }, storage_shape);
}

// Reads a list of objects; null leaves `out` unchanged. Errors call the list `what`.
template <class T>
Status read_list(JsonValue list, std::string_view what, std::vector<T>& out) {
  if (list.is_null()) return {};
  if (!list.is_array()) return list.expected(what);
  out.resize(list.size());
  for (std::size_t i = 0; i < list.size(); ++i)
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(list[i], out[i]));
  return {};
}

Status read_storages(JsonValue list, std::vector<std::vector<std::int64_t>>& out) {
  if (!list.is_array()) return list.expected("a list with [hbm, ddr] per rank");
  for (std::size_t i = 0; i < list.size(); ++i)
    SHARDWRIGHT_RETURN_IF_ERROR(read_storage(list[i], out.emplace_back()));
  return {};
}

}  // namespace

static void describe(JsonMembers& members, ReservedTopology& out) {
  const auto uniform = [&](JsonValue v) {
    out.uniform = true;
    return read_storage(v, out.per_rank.emplace_back());
  };
  members.optional_with("uniform", uniform, storage_shape)
      .optional_with(
          "per_rank", [&](JsonValue v) { return read_storages(v, out.per_rank); },
          [] { return json::list(storage_shape()); })
      .optional("world_size", out.world_size);
  describe_storage(members, "dense_storage", out.dense_storage);
  describe_storage(members, "kjt_storage", out.kjt_storage);
}

static void describe(JsonMembers& members, ClaimedMemory& out) {
  describe_storage(members, "capacity", out.capacity);
  describe_storage(members, "reservation", out.reservation);
  describe_storage(members, "reserved", out.reserved);
  describe_storage(members, "margin", out.margin);
  describe_storage(members, "tables", out.tables);
  describe_storage(members, "free", out.free);
  describe_storage(members, "peak", out.peak);
}

namespace {

// Most elements of a table or of one shard, so that their bytes at 64 bits each do not overflow.
constexpr std::int64_t kMostElements = std::int64_t{1} << 58;
constexpr std::int64_t kMostTogether = (std::int64_t{1} << 60) - 1;

// Returns true if the seven numbers describe a run of shards whose elements do not overflow.
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

JsonShape layout_shape() {
  return json::list(json::list(json::integer())
                        .from(7)
                        .up_to(7)
                        .says("[rows, columns, row offset, column offset, row step, column step, "
                              "count]"))
      .or_null();
}

Status read_element_bits(JsonValue value, std::optional<std::int64_t>& out) {
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, out));
  if (out && (*out < 1 || *out > 64)) return value.error("must be between 1 and 64");
  return {};
}

}  // namespace

static void describe(JsonMembers& members, PlanEntry& entry) {
  members.required("table", entry.table)
      .optional("module", entry.module)
      .required("sharding_type", entry.sharding_type)
      .required("compute_kernel", entry.compute_kernel)
      .optional("load_factor", entry.load_factor)
      .required("ranks", entry.ranks, "One per shard.")
      .optional_with(
          "layout", [&](JsonValue v) { return read_layout(v, entry.layout); }, layout_shape)
      .optional_with(
          "element_bits", [&](JsonValue v) { return read_element_bits(v, entry.element_bits); },
          [] { return json::integer().from(1).up_to(64).or_null(); })
      .optional("hbm", entry.hbm_bytes, "Bytes.")
      .optional("ddr", entry.ddr_bytes, "Bytes.")
      .optional("ssd", entry.ssd_bytes, "Bytes.")
      .optional("perf", entry.perf_ms, "ms.")
      .ignore({"note"});
}

namespace {

Status read_parts(JsonValue value, std::vector<std::pair<std::string, std::string>>& parts) {
  if (value.is_null()) return {};
  if (!value.is_object()) return value.expected("an object with one hash per part of the problem");
  for (std::size_t i = 0; i < value.size(); ++i) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view hash, value[i].string());
    parts.emplace_back(value[i].key(), hash);
  }
  return {};
}

Status read_machine(JsonValue value, MachineFacts& facts) {
  if (value.is_null()) return {};
  if (!value.is_object()) return value.expected("an object with the facts of the machine");
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i].is_string()) {
      facts.emplace_back(value[i].key(), "\"" + std::string(*value[i].string()) + "\"");
    } else if (const Result<std::int64_t> whole = value[i].integer(); whole.ok()) {
      facts.emplace_back(value[i].key(), std::to_string(*whole));
    } else {
      SHARDWRIGHT_ASSIGN_OR_RETURN(const double number, value[i].number());
      facts.emplace_back(value[i].key(), json_number(number));
    }
  }
  return {};
}

void describe_verdict(JsonMembers& members, PlanDocument& out) {
  members.optional("estimate", out.estimate, "Which cost model and machine the rating is for.")
      .optional("sentences", out.verdict, "What a reader should know of the plan.")
      .ignore(kOtherVerdict);
}

JsonShape machine_shape() {
  return json::by_name(json::one_of({json::number(), json::text()}))
      .or_null()
      .says("The machine, batch size and release that the plan is for, named as the flags.");
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

// Describes a member whose value is null or one of `names`.
template <class Enum, std::size_t Size>
void describe_name(JsonMembers& members, std::string_view key, std::string_view what,
                   const std::array<std::string_view, Size>& names, std::optional<Enum>& out) {
  const auto read = [&](JsonValue value) -> Status {
    if (value.is_null()) return {};
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index, read_choice(value, what, names));
    out = static_cast<Enum>(index);
    return {};
  };
  members.optional_with(key, read, [&] { return json::one_word(names).or_null(); });
}

// Ignores unknown types, since other planners may have their own.
Status read_type(JsonValue value, std::optional<FailureType>& out) {
  if (value.is_null()) return {};
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view name, value.string());
  const auto* const found = std::find(kFailureTypeNames.begin(), kFailureTypeNames.end(), name);
  if (found != kFailureTypeNames.end())
    out = static_cast<FailureType>(found - kFailureTypeNames.begin());
  return {};
}

}  // namespace

static void describe(JsonMembers& members, ClaimedFailure& failure) {
  members.optional("message", failure.message)
      .optional_with(
          "type", [&](JsonValue v) { return read_type(v, failure.type); },
          [] { return json::text().or_null(); });
  describe_name(members, "reason", "reason", kFailureReasonNames, failure.reason);
  describe_name(members, "proof", "kind of proof", kAbsenceProofNames, failure.proof);
}

static void describe(JsonMembers& members, embedding::ImprovementStep& step, std::int64_t& work) {
  members.required("work", work, "Steps of work.")
      .from(0)
      .required("rating", step.rating)
      .optional("bound", step.bound);
}

static Status read_value(JsonValue value, embedding::ImprovementStep& step) {
  std::int64_t work = 0;
  SHARDWRIGHT_RETURN_IF_ERROR(
      read_by(value, [&](JsonMembers& members) { describe(members, step, work); }));
  if (work < 0) return value.error("`work` must not be negative");
  step.work = static_cast<std::uint64_t>(work);
  return {};
}

namespace {

JsonShape improvements_shape() {
  return json::list(shape_by([](JsonMembers& members) {
           embedding::ImprovementStep sample;
           std::int64_t work = 0;
           describe(members, sample, work);
         }))
      .or_null();
}

Status check_format(JsonValue value) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view format, value.string());
  if (format == kPlanFormat) return {};
  return value.error("this version reads plans in the format \"" + std::string(kPlanFormat) +
                     "\" only");
}

// Returns the shape with other members allowed in all its objects.
JsonShape opened(JsonShape shape) {
  shape.is_open = shape.type == JsonShape::Type::kObject;
  for (JsonShape& inner : shape.inner)
    inner = opened(std::move(inner));
  for (JsonMember& member : shape.members)
    member.shape = opened(std::move(member.shape));
  return shape;
}

void describe_costs(JsonMembers& members, PlanDocument& out) {
  members
      .optional_with(
          "reserved_topology",
          [&](JsonValue v) { return read_value(v, out.reserved_topology.emplace()); },
          [] {
            return shape_of(ReservedTopology()).says("The memory that the reservation leaves.");
          })
      .optional("search_space_size", out.search_space_size)
      .optional("best_rating", out.best_rating,
                "Time of the slowest rank in ms; bytes for the storage model.")
      .optional("plan_perf_by_rank", out.perf_ms_by_rank)
      .optional("plan_hbm_by_rank", out.hbm_bytes_by_rank)
      .optional("plan_ddr_by_rank", out.ddr_bytes_by_rank)
      .optional("plan_ssd_by_rank", out.ssd_bytes_by_rank)
      .optional_with(
          "plan_memory_parts_by_rank",
          [&](JsonValue v) {
            return read_list(v, "a list with one object per rank", out.memory_parts_by_rank);
          },
          [] { return shape_of(std::vector<ClaimedMemory>()); })
      .optional("plan_ranks_sha1", out.ranks_sha1);
}

// Describes the members that hold results and proofs.
void describe_claims(JsonMembers& members, PlanDocument& out) {
  const auto plan = [&](JsonValue v) {
    if (v.is_null()) return Status();
    return read_list(v, "a list with one entry per table", out.plan.emplace());
  };
  const auto certificate = [&](JsonValue v) -> Status {
    if (v.is_null()) return {};
    SHARDWRIGHT_ASSIGN_OR_RETURN(out.certificate, read_certificate(v));
    return {};
  };
  const auto migration = [&](JsonValue v) {
    out.has_migration = !v.is_null();
    return Status();
  };
  members
      .optional_with("plan", plan,
                     [] {
                       return shape_of(std::vector<PlanEntry>())
                           .says("One entry per table; null if there is no plan.");
                     })
      .optional("lower_bound", out.lower_bound, "No plan rates below.")
      .optional("gap", out.gap)
      .optional("proven_optimal", out.proven_optimal)
      .optional_with("certificate", certificate, [] { return certificate_shape().or_null(); })
      .optional_with(
          "improvements",
          [&](JsonValue v) { return read_list(v, "a list of steps", out.improvements); },
          improvements_shape)
      .optional("reused", out.reused)
      .optional_with("migration", migration, [] { return opened(migration_shape()).or_null(); })
      .optional("error", out.failure, "Why there is no plan.");
}

}  // namespace

static void describe(JsonMembers& members, PlanDocument& out) {
  std::optional<StopReason> stopped_by;
  members.optional_with("format", check_format, [] { return json::one_word({kPlanFormat}); })
      .optional("problem_hash", out.problem_hash)
      .optional("sharding_group_size", out.sharding_group_size)
      .optional("pod_size", out.pod_size)
      .optional_with(
          "problem_parts", [&](JsonValue v) { return read_parts(v, out.problem_parts); },
          [] { return json::by_name(json::text()).or_null().says("Hash of each part."); })
      .optional_with(
          "machine", [&](JsonValue v) { return read_machine(v, out.machine); }, machine_shape)
      .object("verdict", [&](JsonMembers& inner) { describe_verdict(inner, out); })
      .optional_with(
          "overrides", [](JsonValue) { return Status(); },
          [] {
            return shape_of(ProblemOverrides())
                .or_null()
                .says("Flags with which the problem was read; other commands take these, too.");
          })
      .optional("search_hash", out.search_hash)
      .optional("plan_hash", out.plan_hash)
      .optional_with(
          "mode", [&](JsonValue v) { return read_mode(v, out.mode); },
          [] { return json::one_word(kPlanModeNames).or_null(); });
  describe_name(members, "stopped_by", "reason to stop", kStopReasonNames, stopped_by);
  out.stopped_by = stopped_by.value_or(StopReason::kFinished);
  describe_costs(members, out);
  describe_claims(members, out);
  members.ignore(kIgnoredKeys);
}

Result<PlanDocument> read_plan(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument json, JsonDocument::parse(text));
  return read_plan(json.root());
}

Result<PlanDocument> read_plan(JsonValue root) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(root, DocumentKind::kPlan));
  PlanDocument out;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(root, out));
  if (!out.plan && !out.failure) {
    return root.error("the file holds neither a `plan` nor an `error`");
  }
  return out;
}

Result<ProblemOverrides> read_plan_overrides(JsonValue root) {
  std::optional<ProblemOverrides> overrides;
  if (const std::optional<JsonValue> given = root.find("overrides"))
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(*given, overrides));
  return std::move(overrides).value_or(ProblemOverrides());
}

JsonShape plan_shape() {
  return shape_of(PlanDocument())
      .with_one_of({"plan", "error"})
      .says(
          "A plan of `shardwright plan` or `replan`, or of TorchRec, or why there is none. "
          "`verify`, `replan`, `explain` and `diff` read it.");
}

}  // namespace shardwright
