#include "runtime/io/embedding/answers_json.h"

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright {

// JSON numbers without a fraction are read as whole amounts.
static Status read_value(JsonValue value, Amount& amount) {
  amount.is_whole = value.type() == JsonType::kInteger || value.type() == JsonType::kUnsigned;
  return read_value(value, amount.value);
}
static void write_value(JsonWriter& json, const Amount& amount) {
  amount.is_whole ? json.value(static_cast<std::int64_t>(amount.value)) : json.value(amount.value);
}
static JsonShape shape_of(const Amount&) { return json::number(); }

// A change is the array [before, after].
template <class Value>
static Status read_value(JsonValue value, Change<Value>& change) {
  if (!value.is_array() || value.size() != 2) return value.expected("a value before and after");
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value[0], change.from));
  return read_value(value[1], change.to);
}
template <class Value>
static void write_value(JsonWriter& json, const Change<Value>& change) {
  json.begin_array().value(change.from).value(change.to).end_array();
}
template <class Value>
static JsonShape shape_of(const Change<Value>& change) {
  return json::tuple({shape_of(change.from), shape_of(change.to)});
}

static void describe(JsonMembers& members, TableDifference& table) {
  members.required("table", table.table)
      .required("what", table.what, "What differs, \"added\" or \"removed\".")
      .required("from", table.from)
      .required("to", table.to)
      .required("bytes", table.bytes, "Bytes that ranks of the new shards do not hold already.");
}

static void describe(JsonMembers& members, RankDifference& rank) {
  members.required("perf", rank.perf_ms, "Milliseconds before and after.")
      .required("hbm", rank.hbm_bytes)
      .required("ddr", rank.ddr_bytes)
      .optional("ssd", rank.ssd_bytes);
}

void describe(JsonMembers& members, PlanDiff& diff) {
  bool same = diff.same();
  members.line()
      .constant("kind", "plans")
      .required("same", same)
      .required("same_problem", diff.same_problem, "null if a file does not say.")
      .required("problem_differs_in", diff.problem_differs_in)
      .required("rating", diff.rating, "Before and after.")
      .line()
      .required("tables_kept", diff.tables_kept)
      .required("tables_moved", diff.tables_moved)
      .required("tables_added", diff.tables_added)
      .required("tables_removed", diff.tables_removed)
      .required("moved_bytes", diff.moved_bytes, "Of tables that both plans have.")
      .required("placed_bytes", diff.placed_bytes, "Of tables that the old plan lacks.")
      .line()
      .rows("tables", diff.tables, false)
      .line()
      .rows("ranks", diff.ranks, false, "One entry per rank of the larger machine.")
      .line();
}

static void describe(JsonMembers& members, FactDifference& fact) {
  members.required("where", fact.place, "JSON pointer, with tables by their full names.")
      .required("from", fact.from, "null for the default.")
      .required("to", fact.to);
}

void describe(JsonMembers& members, ProblemDiff& diff) {
  bool same = diff.same();
  members.line()
      .constant("kind", "problems")
      .required("same", same)
      .required("search_differs", diff.search_differs,
                "Whether compat mode may decide otherwise for other reasons.")
      .line()
      .required("tables_added", diff.tables_added)
      .line()
      .required("tables_removed", diff.tables_removed)
      .line()
      .rows("differences", diff.facts, false)
      .line();
}

JsonShape diff_shape() {
  return as_written(json::one_of({shape_of(PlanDiff()), shape_of(ProblemDiff())}))
      .says("What `diff` answers.");
}

static void describe(JsonMembers& members, ExplainedOption::Shards& shards) {
  members.required("count", shards.count)
      .required("rows", shards.rows)
      .required("columns", shards.columns);
}

static void describe(JsonMembers& members, ExplainedOption::Part& part) {
  members.required("name", part.name).required("change", part.change_ms, "Milliseconds.");
}

static void describe(JsonMembers& members, embedding::MemoryLack& lack) {
  members.required("rank", lack.rank).required("tier", lack.tier).required("bytes", lack.bytes);
}

static void describe(JsonMembers& members, ExplainedOption& option) {
  members.required("standing", option.standing)
      .required("sharding_type", option.sharding_type)
      .required("compute_kernel", option.compute_kernel)
      .required("load_factor", option.load_factor, "Cached rows / rows.")
      .required("shards", option.shards)
      .optional("rating", option.rating, "Of the plan with this option.")
      .optional("rating_change", option.rating_change)
      .optional("busiest_rank", option.busiest_rank, "The rank that sets the rating.")
      .optional("part", option.part, "The part of that rank's time that changes most.")
      .required("perf", option.time_ms, "Milliseconds of all shards.")
      .required("hbm", option.hbm_bytes)
      .required("ddr", option.ddr_bytes)
      .optional("ssd", option.ssd_bytes)
      .required("ranks", option.ranks)
      .required("lacks", option.lack)
      .required("excluded_by", option.excluded_by, "JSON pointers into the problem file.");
}

static void describe(JsonMembers& members, ExplainedTable& table) {
  members.required("table", table.name)
      .required("module", table.module)
      .required("reasons", table.reasons, "Why the chosen option won.")
      .rows("options", table.options, false, "The chosen one first.");
}

static void describe(JsonMembers& members, InfeasibleAnswer::Table& table) {
  members.required("table", table.name).required("module", table.module);
}

static void describe(JsonMembers& members, InfeasibleAnswer& infeasible) {
  members.required("reason", infeasible.reason)
      .required("proved", infeasible.proved)
      .required("message", infeasible.message)
      .required("needed", infeasible.needed_bytes, "Bytes that are needed at least.")
      .required("available", infeasible.available_bytes, "Bytes after reservation.")
      .required("irreducible", infeasible.irreducible, "Without any one of `tables`, they fit.")
      .required("tables", infeasible.tables);
}

static void describe(JsonMembers& members, ProblemEdit& edit) {
  members.optional("/topology/world_size", edit.world_size)
      .optional("/topology/local_world_size", edit.local_world_size)
      .optional("/topology/hbm_cap", edit.hbm_bytes)
      .optional("/topology/ddr_cap", edit.ddr_bytes)
      .optional("/topology/ssd_cap", edit.ssd_bytes)
      .optional("/batch_size", edit.batch_size)
      .optional("/reservation/percentage", edit.reserved_share);
}

// The words for RemedyAnswer::less_is_impossible: false, true.
static constexpr std::array<std::string_view, 2> kOneStepLess{"no_plan_found", "impossible"};

static void describe(JsonMembers& members, RemedyAnswer& remedy) {
  members.required("kind", remedy.kind)
      .optional("drop", remedy.drop, "JSON pointer of a constraint.")
      .optional("from", remedy.from, "Ranks, hosts, bytes or samples per rank, or a share of HBM.")
      .optional("to", remedy.to)
      .optional("step", remedy.step)
      .optional("each_rank_adds", remedy.each_rank_adds, "Whether bytes are added to each rank's.")
      .optional("flags", remedy.flags, "Flags of the command that make the change.")
      .optional("set", remedy.set, "Values by their JSON pointers into the problem file.")
      .required("first_rating", remedy.first_rating, "Of the first plan that was found.")
      .word("one_step_less", remedy.less_is_impossible, "answer", kOneStepLess, "", true);
}

static void describe(JsonMembers& members, VainRemedy& vain) {
  members.required("kind", vain.kind).required("message", vain.message);
}

static void describe_timing(JsonMembers& members, double& total_s) {
  members.object(
      "timing", [&](JsonMembers& timing) { timing.required("total_s", total_s); }, "Seconds.",
      true);
}

void describe(JsonMembers& members, ExplanationAnswer& explanation) {
  members.line()
      .constant("format", "shardwright.embedding.explanation/1")
      .optional("name", explanation.name)
      .optional("estimate", explanation.estimate,
                "Which cost model and machine the ratings are for.")
      .line()
      .required("feasible", explanation.feasible)
      .word("mode", explanation.mode, "mode", kPlanModeNames, "", true)
      .line()
      .optional("best_rating", explanation.best_rating)
      .line()
      .rows("tables", explanation.tables, true)
      .line()
      .optional("infeasible", explanation.infeasible, "Why nothing fits.")
      .line()
      .rows("remedies", explanation.remedies, true, "The smallest single changes that would help.")
      .line()
      .rows("in_vain", explanation.in_vain, true, "Changes that do not help.")
      .line()
      .required("plannings", explanation.plannings, "How many problems were planned.")
      .required("threads", explanation.threads);
  describe_timing(members, explanation.total_s);
  members.line();
}

JsonShape explanation_shape() {
  return as_written(shape_of(ExplanationAnswer())).says("What `explain` answers.");
}

static void describe(JsonMembers& members, SweepAnswer::Failure& failure) {
  members.required("type", failure.type)
      .required("message", failure.message)
      .optional("reason", failure.reason)
      .optional("where", failure.where);
}

static void describe(JsonMembers& members, SweepAnswer::Point& point) {
  bool fits = point.fits();
  members.required("ranks", point.ranks)
      .required("ranks_per_host", point.ranks_per_host)
      .required("hbm", point.hbm_bytes, "Bytes per rank; null if ranks differ or have no HBM.")
      .required("batch_size", point.batch_size, "Samples per rank and step.")
      .optional("sharding_group_size", point.sharding_group_size, "Ranks.")
      .optional("pod_size", point.pod_size, "Hosts.")
      .required("fits", fits)
      .required("best_rating", point.rating)
      .required("lower_bound", point.lower_bound)
      .required("gap", point.gap, "How far the rating may be from optimal, relatively.")
      .required("proven_optimal", point.proven_optimal)
      .optional("peak_memory", point.peak_bytes, "HBM, DDR and SSD of the fullest rank, in bytes.")
      .optional("why", point.why_not, "Why it does not fit.")
      .optional("error", point.failure)
      .optional("price_per_hour", point.price_per_hour, "Of all ranks.")
      .optional("samples_per_second", point.samples_per_second, "Of all ranks.")
      .optional("samples_per_second_per_rank", point.samples_per_second_per_rank)
      .optional("price_per_billion_samples", point.price_per_billion)
      .optional("pareto", point.on_front, "Whether no other machine is better.")
      .required("stopped_by", point.stopped_by, "null for a search that ran to its end.");
}

static void describe(JsonMembers& members, SmallestMachine& machine) {
  members.required("hbm", machine.hbm_bytes)
      .required("batch_size", machine.batch_size)
      .required("ranks", machine.ranks, "null if none fits.");
}

static void describe(JsonMembers& members, SweepAnswer::Best& best) {
  members.required("ranks", best.ranks)
      .required("batch_size", best.batch_size)
      .required("hbm", best.hbm_bytes)
      .required("best_rating", best.rating);
}

void describe(JsonMembers& members, SweepAnswer& sweep) {
  members.line()
      .constant("format", "shardwright.embedding.sweep/1")
      .optional("name", sweep.name)
      .optional("estimate", sweep.estimate, "Which cost model and machine the ratings are for.")
      .line()
      .rows("points", sweep.points, true, "One entry per machine.")
      .line()
      .rows("smallest_ranks", sweep.smallest, true)
      .line()
      .rows("best_by_ranks", sweep.best_by_ranks, true)
      .line()
      .required("threads", sweep.threads);
  describe_timing(members, sweep.total_s);
  members.line();
}

JsonShape sweep_shape() {
  return as_written(shape_of(SweepAnswer()))
      .says("What `sweep` answers: one entry of `points` for each machine.");
}

static void describe(JsonMembers& members, LoggedTime& time) {
  members.required("total", time.total).required("parts", time.parts);
}

static void describe(JsonMembers& members, LoggedTable& table) {
  members.required("line", table.line)
      .required("table", table.name)
      .required("module", table.module)
      .required("sharding_type", table.sharding_type)
      .required("compute_kernel", table.compute_kernel)
      .required("perf", table.time)
      .required("hbm", table.storage_gib.hbm, "GiB.")
      .required("ddr", table.storage_gib.ddr)
      .required("ssd", table.storage_gib.ssd)
      .required("load_factor", table.load_factor)
      .required("pooling_factor", table.pooling_factor)
      .required("num_poolings", table.num_poolings)
      .required("num_indices", table.num_indices)
      .required("pooled", table.is_pooled)
      .required("weighted", table.is_weighted)
      .required("sharder", table.sharder)
      .required("num_features", table.num_features)
      .required("columns", table.columns)
      .required("shard_columns", table.shard_columns)
      .required("rows", table.rows)
      .required("ranks", table.ranks)
      .required("batch_sizes", table.batch_sizes);
}

static void describe(JsonMembers& members, LoggedShards& shards) {
  members.required("sharding_type", shards.type).required("shards", shards.count);
}

static void describe(JsonMembers& members, LoggedRank& rank) {
  members.required("perf", rank.time)
      .required("hbm", rank.hbm_gib, "GiB.")
      .required("hbm_share", rank.hbm_share, "Percent.")
      .required("ddr", rank.ddr_gib)
      .required("input", rank.input_mib, "MiB.")
      .required("output", rank.output_mib)
      .required("shards", rank.shards);
}

static void describe(JsonMembers& members, AuditAnswer::Difference& difference) {
  members.required("rank", difference.rank)
      .required("printed", difference.printed)
      .required("recomputed", difference.recomputed);
}

static void describe(JsonMembers& members, AuditAnswer::TableTime& table) {
  members.required("table", table.table)
      .required("module", table.module)
      .required("perf", table.ms, "Milliseconds on the slowest rank.")
      .required("share", table.share, "Of that rank's time.");
}

static void describe(JsonMembers& members, AuditAnswer::AsRun& run) {
  members.required("rating", run.rating, "Milliseconds of the slowest rank, from the tables.")
      .required("mean", run.mean)
      .required("slowest_rank", run.slowest_rank)
      .required("precision", run.precision, "How far digits let the time of a rank be off.")
      .required("largest_difference", run.largest_difference,
                "Between printed and recomputed times of ranks.")
      .required("num_tables", run.num_tables)
      .required("num_shards", run.num_shards)
      .required("hbm_capacity", run.hbm_capacity, "Of the planner, per rank.")
      .required("dense_hbm", run.dense_hbm)
      .required("input_hbm", run.input_hbm)
      .line()
      .required("perf_by_rank", run.perf_by_rank, "Recomputed from the tables.")
      .line()
      .required("printed_perf_by_rank", run.printed_perf_by_rank)
      .line()
      .required("hbm_by_rank", run.hbm_by_rank)
      .line()
      .rows("differences", run.differences, false, "Beyond what digits allow.")
      .rows("slowest_tables", run.slowest_tables, false, "Of the slowest rank.");
}

static void describe(JsonMembers& members, AuditAnswer::Best& best) {
  members.required("rating", best.rating)
      .required("lower_bound", best.lower_bound, "No plan of these options rates below it.")
      .required("certain_lower_bound", best.certain_lower_bound,
                "The bound with every printed time as far off as its digits allow.")
      .required("precision", best.precision, "Of the rating, from printed digits.")
      .required("num_moved_tables", best.num_moved_tables)
      .required("num_moved_shards", best.num_moved_shards)
      .required("moved_bytes", best.moved_bytes)
      .required("stopped_by", best.stopped_by, "null for a search that ran to its end.")
      .line()
      .required("perf_by_rank", best.perf_by_rank);
}

template <class Value>
static void describe(JsonMembers& members, Inferred<Value>& inferred) {
  members.required("value", inferred.value).required("from", inferred.from);
}

static void describe(JsonMembers& members, AuditAnswer::Constants& constants) {
  members.required("torchrec", constants.release, "Release whose formulas explain the log.")
      .required("weights", constants.weights)
      .required("communication", constants.communication, "Of all-to-all.")
      .required("backward_communication", constants.backward_communication)
      .required("reduction", constants.reduction, "Of reduce-scatter.")
      .required("inter_host_bw", constants.inter_host_bw, "Bytes per millisecond.")
      .required("intra_host_bw", constants.intra_host_bw)
      .optional("hbm_mem_bw", constants.hbm_mem_bw)
      .optional("ddr_mem_bw", constants.ddr_mem_bw)
      .required("ranks_per_host", constants.ranks_per_host)
      .required("batch_size", constants.batch_size)
      .required("optimizer", constants.optimizer)
      .required("pipeline_type", constants.pipeline_type);
}

static void describe(JsonMembers& members, AuditAnswer::Column& column) {
  members.required("median", column.median, "Relative deviation of the formulas.")
      .required("worst", column.worst)
      .required("not_followed", column.not_followed, "Tables that do not follow them.");
}

static void describe(JsonMembers& members, AuditAnswer::Fit& fit) {
  members.required("compute", fit.compute)
      .required("communication", fit.communication)
      .required("total", fit.total)
      .required("memory", fit.memory);
}

static void describe(JsonMembers& members, AuditAnswer::Change& change) {
  members.required("table", change.table)
      .required("module", change.module)
      .required("from", change.from)
      .required("to", change.to)
      .required("gain_ms", change.gain_ms, "0 while another rank is as slow.")
      .required("moved_bytes", change.moved_bytes)
      .required("rating_after", change.rating_after, "With all changes so far.");
}

static void describe(JsonMembers& members, AuditAnswer::Measured& measured) {
  members.required("machine", measured.machine)
      .required("rating", measured.rating, "Of the plan of the log.")
      .required("not_measured", measured.not_measured, "What the machine's file lacks.");
}

void describe(JsonMembers& members, AuditAnswer& audit) {
  members.line()
      .constant("format", "shardwright.embedding.audit/1")
      .line()
      .required("as_run", audit.as_run, "The plan of the log.")
      .line()
      .optional("measured", audit.measured,
                "By whose costs plans and changes are judged instead of those of the log.")
      .line()
      .optional("same_options", audit.same_options, "The best plan if only ranks move.")
      .line()
      .optional("all_options", audit.all_options, "The best plan of all sharding types.")
      .line()
      .optional("why", audit.why, "Why one of both is missing.")
      .line()
      .required("inferred", audit.inferred)
      .line()
      .required("fit", audit.fit, "How far TorchRec's formulas are from printed columns.")
      .line()
      .rows("changes", audit.changes, true, "The fewest that reach most of the best plan.")
      .line()
      .required("within", audit.within, "Of the best rating, which the changes are to reach.")
      .required("reaches", audit.reaches)
      .line()
      .required("unknown", audit.unknown, "What the log cannot tell.")
      .line()
      .rows("tables", audit.tables, true, "The columns of the log; times in milliseconds.")
      .line()
      .rows("ranks", audit.ranks, true)
      .line();
}

void describe(JsonMembers& members, FailedAnswer& answer) {
  members.line()
      .constant("format", "shardwright.embedding.audit/1")
      .line()
      .required("failure", answer.reason, "Why the planner found no plan.")
      .line()
      .required("tier", answer.tier, "Memory of which there is too little.")
      .required("missing_bytes", answer.missing_bytes, "On all ranks together.")
      .required("line", answer.failed.line)
      .required("ranks", answer.failed.ranks)
      .required("batch_size", answer.failed.batch_size)
      .required("last_error", answer.failed.last_error)
      .line()
      .required("remedies", answer.remedies, "Each alone is enough for the sums of memory.")
      .line();
}

JsonShape audit_shape() {
  return as_written(json::one_of({shape_of(AuditAnswer()), shape_of(FailedAnswer())}))
      .says("What `audit` answers.");
}

namespace {

// Writes the cells of one CSV row.
// Thread safety: one thread at a time.
class CsvRow {
 public:
  template <class Number>
  void add(const std::optional<Number>& number) {
    next();
    if (!number) return;
    if constexpr (std::integral<Number>) {
      text_ += std::to_string(*number);
    } else {
      text_ += json_number(*number);
    }
  }
  void add(std::int64_t number) { add(std::optional(number)); }
  void add(std::string_view text) {
    next();
    const bool plain = text.find_first_of(",\"\r\n") == std::string_view::npos;
    if (plain) {
      text_ += text;
      return;
    }
    text_ += '"';
    for (const char c : text)
      text_ += c == '"' ? "\"\"" : std::string(1, c);
    text_ += '"';
  }
  std::string take() { return std::move(text_) + "\n"; }

 private:
  void next() {
    if (!first_) text_ += ',';
    first_ = false;
  }

  std::string text_;
  bool first_ = true;
};

std::string csv_row(const SweepAnswer::Point& point) {
  const auto peak = [&](std::size_t tier) {
    return point.peak_bytes ? std::optional((*point.peak_bytes)[tier]) : std::nullopt;
  };
  CsvRow row;
  row.add(point.ranks);
  row.add(point.ranks_per_host);
  row.add(point.hbm_bytes);
  row.add(point.batch_size);
  row.add(point.sharding_group_size);
  row.add(point.pod_size);
  row.add(point.fits() ? "yes" : "no");
  row.add(point.fits() ? std::optional(point.rating->value) : std::nullopt);
  row.add(point.lower_bound);
  row.add(peak(0));
  row.add(peak(1));
  row.add(point.samples_per_second);
  row.add(point.price_per_hour);
  row.add(point.price_per_billion);
  row.add(point.on_front.value_or(false) ? "yes" : "no");
  row.add(point.why_not.value_or(""));
  return row.take();
}

}  // namespace

void write_sweep_csv(const SweepAnswer& sweep, const TextSink& sink) {
  sink(std::string("ranks,ranks_per_host,hbm_bytes,batch_size,sharding_group_size,pod_size,fits,") +
       (sweep.rates_bytes() ? "rating_bytes,lower_bound_bytes" : "rating_ms,lower_bound_ms") +
       ",peak_hbm_bytes,peak_ddr_bytes,samples_per_second,price_per_hour,"
       "price_per_billion_samples,pareto,why_not\n");
  for (const SweepAnswer::Point& point : sweep.points)
    sink(csv_row(point));
}

}  // namespace shardwright
