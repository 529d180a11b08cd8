#include "runtime/io/embedding/plan_json.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/embedding/ranks_sha1.h"
#include "runtime/embedding/identity.h"
#include "runtime/embedding/machine_facts.h"
#include "runtime/embedding/memory_parts.h"
#include "runtime/embedding/verdict.h"
#include "runtime/io/embedding/certificate_json.h"
#include "runtime/io/embedding/search_space_json.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/json/json_writer.h"
#include "search/embedding/model/shard_layout.h"

namespace shardwright {

using embedding::Problem;
using embedding::ShardingType;
using embedding::Storage;
using embedding::to_name;

void describe(JsonMembers& members, TablePlace& place) {
  members.required("sharding_type", place.sharding_type)
      .required("compute_kernel", place.compute_kernel)
      .required("load_factor", place.load_factor, "Cached rows / rows.")
      .required("ranks", place.ranks, "One per shard.");
}

namespace {

// `problem` gives the names of tables; null while a shape is made.
void describe_migration(JsonMembers& members, const Problem* problem, Migration& migration) {
  std::optional<std::string> not_kept;
  if (!migration.not_kept.empty()) not_kept = migration.not_kept;
  std::size_t moved = 0;
  for (const TableMove& move : migration.moves)
    moved += move.from ? 1U : 0U;
  std::size_t added = migration.moves.size() - moved;
  members.required("weight", migration.weight, "ms of rating per GiB moved.")
      .required("rating_before", migration.rating_before)
      .required("not_kept", not_kept, "Why the old plan is no plan of this problem.")
      .required("rating_kept", migration.rating_kept)
      .required("objective", migration.objective, "Rating and weighed bytes.")
      .required("lower_bound", migration.lower_bound, "No plan has a lower objective.")
      .written_if(
          migration.certificate.has_value(), "certificate",
          [&](JsonWriter& json) { write_certificate(*migration.certificate, json); },
          certificate_shape)
      .required("moved_bytes", migration.moved_bytes)
      .required("placed_bytes", migration.placed_bytes, "Of new tables.")
      .required("tables_kept", migration.tables_kept)
      .required("tables_moved", moved)
      .required("tables_new", added)
      .required("dropped", migration.dropped, "Tables that are gone.")
      .line()
      .rows_by("moves", migration.moves, [&](JsonMembers& inner, TableMove& move) {
        std::string table = problem == nullptr ? "" : problem->table(move.table).name;
        std::string module = problem == nullptr ? "" : problem->table(move.table).module;
        inner.required("table", table)
            .required("module", module)
            .required("from", move.from)
            .required("to", move.to)
            .required("bytes", move.bytes);
      });
}

}  // namespace

void write_migration(const Problem& problem, const Migration& migration, JsonWriter& json) {
  write_by(json, [&](JsonMembers& members) {
    describe_migration(members, &problem, const_cast<Migration&>(migration));
  });
}

JsonShape migration_shape() {
  return shape_by([](JsonMembers& members) {
           Migration sample;
           describe_migration(members, nullptr, sample);
         })
      .says("What changes from the plan in use.");
}

static void describe(JsonMembers& members, Imbalance& imbalance) {
  members.required("total_variation", imbalance.total_variation)
      .required("total_distance", imbalance.total_distance)
      .required("chi_divergence", imbalance.chi_divergence)
      .required("kl_divergence", imbalance.kl_divergence);
}

static void describe(JsonMembers& members, LargestTime& time) {
  members.required("ms", time.ms).required("ranks", time.ranks);
}

static void describe(JsonMembers& members, HbmLevel& level) {
  members.required("bytes", level.bytes).required("ranks", level.ranks);
}

namespace {

// Writes an object with the numbers by sharding type, without zeros.
template <class Counts>
void describe_types(JsonMembers& members, std::string_view key, const Counts& counts) {
  const auto write = [&](JsonWriter& json) {
    json.begin_object();
    for (std::size_t type = 0; type < counts.size(); ++type) {
      if (counts[type] > 0) json.member(to_name(static_cast<ShardingType>(type)), counts[type]);
    }
    json.end_object();
  };
  members.written(key, write, [] {
    return json::by_name(json::natural()).with_keys(embedding::EnumNames<ShardingType>::kNames);
  });
}

void describe_rank(JsonMembers& members, bool counts_ssd, RankStats& rank) {
  std::optional<std::int64_t> ssd_bytes;
  std::optional<double> ssd_share;
  if (counts_ssd) ssd_bytes = rank.ssd_bytes;
  if (counts_ssd) ssd_share = rank.ssd_share;
  double perf = rank.perf.total().value();
  members.required("sparse_hbm", rank.sparse_hbm_bytes, "Bytes of shards alone.")
      .required("hbm", rank.hbm_bytes, "Bytes.")
      .required("ddr", rank.ddr_bytes, "Bytes.")
      .optional("ssd", ssd_bytes, "Bytes.")
      .required("hbm_share", rank.hbm_share)
      .required("ddr_share", rank.ddr_share)
      .optional("ssd_share", ssd_share)
      .required("perf", perf, "ms.")
      .written(
          "perf_parts", [&](JsonWriter& json) { write_perf(rank.perf, json); }, perf_shape)
      .required("input_mib", rank.input_mib)
      .required("output_mib", rank.output_mib);
  describe_types(members, "shards", rank.shards);
}

void describe_times(JsonMembers& members, PlanStats& stats) {
  members.required("max_perf", stats.max_perf)
      .required("max_fwd_compute", stats.max_fwd_compute)
      .required("max_fwd_comms", stats.max_fwd_comms)
      .required("max_bwd_compute", stats.max_bwd_compute)
      .required("max_bwd_comms", stats.max_bwd_comms)
      .required("max_prefetch_compute", stats.max_prefetch_compute)
      .line()
      .required("mean_perf", stats.mean_perf_ms)
      .required("max_perf_above_mean_percent", stats.perf_above_mean_percent)
      .required("sum_of_maxima", stats.sum_of_maxima_ms)
      .object(
          "critical_path",
          [&](JsonMembers& inner) {
            double total = stats.critical_path_ms();
            inner.required("comms", stats.critical_comms_ms)
                .required("compute", stats.critical_compute_ms)
                .required("total", total);
          },
          "ms.", true);
}

void describe_storage(JsonMembers& members, std::string_view key, const Storage& storage,
                      bool counts_ssd) {
  members.written(
      key, [&](JsonWriter& json) { write_storage(storage, counts_ssd, json); }, storage_shape);
}

void describe_memory(JsonMembers& members, bool counts_ssd, PlanStats& stats) {
  members.required("sparse_max_hbm", stats.sparse_max_hbm)
      .required("sparse_min_hbm", stats.sparse_min_hbm)
      .required("max_hbm", stats.max_hbm)
      .required("min_hbm", stats.min_hbm)
      .required("mean_hbm", stats.mean_hbm)
      .required("low_median_hbm", stats.low_median_hbm)
      .required("high_median_hbm", stats.high_median_hbm)
      .line()
      .required("max_hbm_above_mean_percent", stats.hbm_above_mean_percent)
      .required("peak_hbm", stats.peak_hbm)
      .line()
      .required("reserved_hbm_fraction", stats.reserved_hbm_fraction);
  describe_storage(members, "dense_storage", stats.dense_storage, counts_ssd);
  describe_storage(members, "kjt_storage", stats.kjt_storage, counts_ssd);
}

void describe_kernels(JsonMembers& members, bool counts_ssd, const PlanStats& stats) {
  const auto write = [&](JsonWriter& json) {
    json.begin_object();
    for (const KernelStats& kernel : stats.kernels) {
      json.key(to_name(kernel.kernel)).begin_object().member("tables", kernel.tables);
      write_storage(kernel.storage, counts_ssd, json.key("storage"));
      json.end_object();
    }
    json.end_object();
  };
  members.written("kernels", write, [] {
    return json::by_name(json::object({{"tables", json::natural(), true},
                                       {"storage", storage_shape(), true}}))
        .with_keys(embedding::EnumNames<embedding::ComputeKernel>::kNames);
  });
}

void describe_names(JsonMembers& members, std::string_view key, const Problem* problem,
                    const std::vector<embedding::TableId>& tables) {
  std::vector<std::string> names;
  names.reserve(tables.size());
  for (const embedding::TableId table : tables)
    names.push_back(problem->table(table).name);
  members.required(key, names);
}

// `problem` gives the names of tables; null while a shape is made.
void describe_stats(JsonMembers& members, const Problem* problem, PlanStats& stats) {
  const bool counts_ssd = problem != nullptr && problem->topology().counts_ssd();
  members.line()
      .rows_by("ranks", stats.ranks,
               [&](JsonMembers& inner, RankStats& rank) { describe_rank(inner, counts_ssd, rank); })
      .line();
  describe_times(members, stats);
  members.line()
      .required("perf_imbalance", stats.perf_imbalance)
      .required("hbm_imbalance", stats.hbm_imbalance)
      .required("ddr_imbalance", stats.ddr_imbalance)
      .written_if(
          counts_ssd, "ssd_imbalance",
          [&](JsonWriter& json) { write_value(json, stats.ssd_imbalance); },
          [&] { return shape_of(stats.ssd_imbalance); })
      .line();
  describe_memory(members, counts_ssd, stats);
  members.line();
  describe_types(members, "sharding_types", stats.tables);
  describe_kernels(members, counts_ssd, stats);
  describe_names(members, "slowest_tables", problem, stats.slowest_tables);
  describe_names(members, "fullest_tables", problem, stats.fullest_tables);
}

}  // namespace

void write_stats(const Problem& problem, const PlanStats& stats, JsonWriter& json) {
  write_by(json, [&](JsonMembers& members) {
    describe_stats(members, &problem, const_cast<PlanStats&>(stats));
  });
}

JsonShape stats_shape() {
  return shape_by([](JsonMembers& members) {
    PlanStats sample;
    describe_stats(members, nullptr, sample);
  });
}

namespace {

using embedding::Assignment;
using embedding::PerfModel;
using embedding::ProposerSpec;
using embedding::ShardingOption;
using embedding::Table;

void write_identity(const Problem& problem, const EmbeddingPlanResult& result, JsonWriter& json) {
  const ProblemIdentity identity =
      identify(problem, result.given_search_space ? result.search_space.get() : nullptr);
  json.member("torchrec", to_name(problem.spec().torchrec)).new_line();
  json.member("problem_hash", identity.hash).key("problem_parts").begin_object();
  for (const auto& [part, hash] : identity.parts)
    json.member(part, hash);
  json.end_object().member("search_hash", search_hash(problem));
  json.new_line().key("machine").begin_object();
  for (const auto& [fact, value] : machine_facts(problem))
    json.key(fact).raw(value);
  json.end_object();
  if (result.plan) json.member("plan_hash", plan_hash(problem, *result.plan));
  json.new_line();
}

void write_reservation(const embedding::Reservation& reservation, JsonWriter& json) {
  const embedding::Topology& topology = reservation.topology;
  json.key("reserved_topology").begin_object();
  if (topology.uniform()) {
    write_storage(topology.storage().front(), topology.counts_ssd(), json.key("uniform"));
    json.member("world_size", topology.world_size());
  } else {
    json.key("per_rank").begin_array();
    for (const Storage& rank : topology.storage())
      write_storage(rank, topology.counts_ssd(), json);
    json.end_array();
  }
  for (const auto& [key, storage] : {std::pair{"dense_storage", reservation.dense_storage},
                                     std::pair{"kjt_storage", reservation.kjt_storage}}) {
    if (storage) write_storage(*storage, topology.counts_ssd(), json.key(key));
  }
  json.end_object().new_line();
}

// Writes ratings of the storage model, which are bytes, as integers.
void write_rating(const Problem& problem, double rating, JsonWriter& json) {
  if (problem.spec().perf_model == PerfModel::kStorage) {
    json.value(static_cast<std::int64_t>(rating));
  } else {
    json.value(rating);
  }
}

template <class Values, class Function>
void write_by_rank(std::string_view key, const Values& values, const Function& value_of,
                   JsonWriter& json) {
  json.new_line().key(key).begin_array();
  for (const auto& value : values)
    json.value(value_of(value));
  json.end_array();
}

// Writes the runs of shards as rows of seven numbers: [rows, columns, row offset, column offset,
// row step, column step, count].
void write_layout(const embedding::ShardLayout& layout, JsonWriter& json) {
  json.key("layout").begin_array();
  for (const embedding::ShardExtent& e : layout.extents) {
    json.begin_array();
    for (const std::int64_t number : {e.rows, e.columns, e.row_offset, e.column_offset, e.row_step,
                                      e.column_step, std::int64_t{e.count}}) {
      json.value(number);
    }
    json.end_array();
  }
  json.end_array();
}

void write_assignment(const Problem& problem, const Assignment& assignment, JsonWriter& json) {
  const Table& table = problem.table(assignment.option->table);
  const ShardingOption& option = *assignment.option;
  json.begin_object()
      .member("table", table.name)
      .member("module", table.module)
      .member("sharding_type", to_name(option.sharding_type))
      .member("compute_kernel", to_name(option.compute_kernel))
      .member("load_factor", option.load_factor)
      .key("ranks")
      .begin_array();
  for (std::uint32_t shard = 0; shard < option.num_shards(); ++shard)
    json.value(assignment.rank(shard));
  json.end_array();
  write_layout(*option.layout, json);
  const Storage total = option.total_storage();
  json.member("element_bits",
              embedding::element_bits(tensor_shape(table, problem.spec().sharder.type)))
      .member("hbm", total.hbm.value())
      .member("ddr", total.ddr.value());
  if (problem.topology().counts_ssd()) json.member("ssd", total.ssd.value());
  json.member("perf", option.total_perf().value()).end_object();
}

// Writes one object per rank, whose members are lists of bytes by memory tier.
void write_memory_parts(const std::vector<MemoryParts>& by_rank, bool counts_ssd,
                        JsonWriter& json) {
  json.new_line().key("plan_memory_parts_by_rank").begin_array();
  for (const MemoryParts& parts : by_rank) {
    json.new_line().begin_object();
    for (const auto& [key, storage] :
         {std::pair{"capacity", parts.capacity}, std::pair{"reservation", parts.reservation},
          std::pair{"reserved", parts.reserved}, std::pair{"margin", parts.margin},
          std::pair{"tables", parts.tables}, std::pair{"free", parts.free},
          std::pair{"peak", parts.peak()}}) {
      write_storage(storage, counts_ssd, json.key(key));
    }
    json.end_object();
  }
  json.end_array();
}

void write_found(const Problem& problem, const EmbeddingPlanResult& result, JsonWriter& json) {
  json.key("best_rating");
  write_rating(problem, result.best_rating.value_or(result.evaluation.rating), json);
  const embedding::Evaluation& evaluation = result.evaluation;
  write_by_rank(
      "plan_perf_by_rank", evaluation.perf_ms_by_rank, [](double ms) { return ms; }, json);
  write_by_rank(
      "plan_hbm_by_rank", evaluation.storage_by_rank,
      [](const Storage& s) { return s.hbm.value(); }, json);
  write_by_rank(
      "plan_ddr_by_rank", evaluation.storage_by_rank,
      [](const Storage& s) { return s.ddr.value(); }, json);
  const bool counts_ssd = problem.topology().counts_ssd();
  if (counts_ssd) {
    write_by_rank(
        "plan_ssd_by_rank", evaluation.storage_by_rank,
        [](const Storage& s) { return s.ssd.value(); }, json);
  }
  if (result.reservation) {
    write_memory_parts(memory_parts(problem, *result.reservation, evaluation), counts_ssd, json);
  }
  json.new_line().member("plan_ranks_sha1", embedding::ranks_sha1(*result.plan));
  json.key("plan").begin_array();
  for (std::size_t i = 0; i < result.plan->size(); ++i) {
    const Assignment& assignment = (*result.plan)[i];
    json.new_line();
    write_assignment(problem, assignment, json);
  }
  json.new_line().end_array();
  if (evaluation.valid()) return;
  json.new_line().key("violations").begin_array();
  for (const embedding::Violation& violation : evaluation.violations)
    json.value(violation.message);
  json.end_array();
}

// In compat mode the failure is TorchRec's answer, which has no proof.
void write_failure(const PlanFailure& failure, PlanMode mode, JsonWriter& json) {
  json.new_line()
      .key("error")
      .begin_object()
      .member("type", name_of(failure.type))
      .member("message", failure.message)
      .member("reason", name_of(failure.reason));
  if (mode == PlanMode::kBest) {
    json.key("proof");
    failure.proof ? json.value(name_of(*failure.proof)) : json.null();
  }
  json.end_object();
}

// Writes a trace. Each proposal is written as the changes from the previous proposal of its
// proposer, sorted by position, or in full if their lengths differ. The text therefore does not
// depend on how the search recorded the proposals.
class TraceWriter {
 public:
  TraceWriter(const Problem& problem, const ProposalTrace& trace, JsonWriter& json)
      : problem_(problem), trace_(trace), json_(json), current_(problem.spec().proposers.size()) {}

  void write() {
    json_.new_line().key("proposals").begin_array();
    for (const embedding::ProposalRecord& record : trace_.proposals) {
      json_.new_line();
      write(record);
    }
    json_.new_line().end_array();
  }

 private:
  void write(const embedding::ProposalRecord& record) {
    json_.begin_object().member("p", record.proposer);
    if (makes_options(record.proposer)) {
      write_tables(record);
    } else {
      write_ids(record);
    }
    if (record.cached) json_.member("cached", true);
    json_.member("ok", record.feasible);
    if (record.rating) {
      json_.key("rating");
      write_rating(problem_, *record.rating, json_);
    }
    if (!record.ranks_sha1.empty()) json_.member("ranks_sha1", record.ranks_sha1);
    json_.end_object();
  }

  // Returns true if the proposer makes options outside the search space. These have no index, so
  // they are written in full.
  bool makes_options(std::uint32_t proposer) const {
    return problem_.spec().proposers[proposer].type == ProposerSpec::Type::kScaleup;
  }

  void write_ids(const embedding::ProposalRecord& record) {
    std::vector<std::uint32_t>& options = current_[record.proposer];
    if (record.full && options.size() != record.changes.size()) {
      options.clear();
      apply(record.changes, options);
      json_.key("options").begin_array();
      for (const std::uint32_t id : options)
        json_.value(id);
    } else {
      Changes changes = record.changes;
      std::sort(changes.begin(), changes.end(),
                [](const auto& a, const auto& b) { return a.position < b.position; });
      json_.key("delta").begin_array();
      for (const auto& change : changes) {
        if (options[change.position] == change.option.value()) continue;
        json_.begin_array().value(change.position).value(change.option.value()).end_array();
      }
      apply(changes, options);
    }
    json_.end_array();
  }

  using Changes = std::vector<embedding::ProposalChange>;

  static void apply(const Changes& changes, std::vector<std::uint32_t>& options) {
    for (const auto& change : changes) {
      if (change.position >= options.size()) options.resize(change.position + std::size_t{1});
      options[change.position] = change.option.value();
    }
  }

  void write_tables(const embedding::ProposalRecord& record) {
    std::vector<std::uint32_t>& options = current_[record.proposer];
    if (record.full) options.clear();
    apply(record.changes, options);
    json_.key("tables").begin_array();
    for (const std::uint32_t id : options) {
      const ShardingOption& option = *trace_.options[id];
      const Storage total = option.total_storage();
      json_.begin_object()
          .member("table", problem_.table(option.table).name)
          .member("sharding_type", to_name(option.sharding_type))
          .member("compute_kernel", to_name(option.compute_kernel))
          .member("load_factor", option.load_factor)
          .member("total_hbm", total.hbm.value())
          .member("total_ddr", total.ddr.value());
      if (problem_.topology().counts_ssd()) json_.member("total_ssd", total.ssd.value());
      json_.member("total_perf", option.total_perf().value()).end_object();
    }
    json_.end_array();
  }

  const Problem& problem_;
  const ProposalTrace& trace_;
  JsonWriter& json_;
  std::vector<std::vector<std::uint32_t>> current_;  // options of the last proposal, by proposer
};

void write_front(const EmbeddingPlanResult& result, JsonWriter& json) {
  if (result.front.empty()) return;
  json.new_line().key("move_front").begin_array();
  for (const ReplanPoint& point : result.front) {
    json.begin_object()
        .member("moved_bytes", point.moved_bytes)
        .member("rating", point.rating)
        .member("weight", point.weight)
        .end_object();
  }
  json.end_array().member("move_bound", result.front_bound);
}

void write_verdict(const Problem& problem, const EmbeddingPlanResult& result, JsonWriter& json) {
  const std::vector<std::string> sentences = verdict_sentences(problem, result);
  if (sentences.empty()) return;
  json.new_line().key("verdict").begin_object();
  json.member("estimate", estimate_text(problem.spec()));
  json.key("sentences").begin_array();
  for (const std::string& sentence : sentences)
    json.value(sentence);
  json.end_array();
  if (result.mode == PlanMode::kBest && result.compat_rating) {
    json.member("torchrec_rating", *result.compat_rating)
        .member("torchrec_is_complete", result.compat_is_complete);
  }
  const SlowestRank slowest = slowest_rank(problem, result);
  json.member("slowest_rank", slowest.rank)
      .member("slowest_table", slowest.table)
      .member("slowest_table_share", slowest.table_share);
  json.key("what_if").begin_array();
  for (const WhatIf& what_if : result.what_ifs) {
    json.begin_object()
        .member("change", what_if.change)
        .member("ranks", what_if.ranks)
        .member("rating", what_if.rating)
        .member("lower_bound", what_if.lower_bound)
        .member("impossible", what_if.is_impossible)
        .end_object();
  }
  json.end_array().end_object();
}

void write_improvements(const EmbeddingPlanResult& result, JsonWriter& json) {
  if (!result.improvements.empty()) {
    json.new_line().key("improvements").begin_array();
    for (const embedding::ImprovementStep& step : result.improvements) {
      json.begin_object().member("work", step.work).member("rating", step.rating);
      if (step.bound > 0) json.member("bound", step.bound);
      json.end_object();
    }
    json.end_array();
  }
  if (!result.certificate) return;
  json.new_line().key("certificate");
  write_certificate(*result.certificate, json);
}

void write_run(const Problem& problem, const EmbeddingPlanResult& result,
               const PlanJsonOptions& options, JsonWriter& json) {
  json.new_line().member("mode", name_of(result.mode));
  if (result.reused) json.member("reused", true);
  if (result.lower_bound && result.best_rating) {
    const double to_bound = gap(*result.best_rating, *result.lower_bound);
    json.member("lower_bound", *result.lower_bound)
        .member("gap", to_bound)
        .member("proven_optimal", to_bound <= kProvenGap);
  } else {
    json.key("lower_bound").null().key("gap").null().key("proven_optimal").null();
  }
  write_verdict(problem, result, json);
  write_improvements(result, json);
  json.new_line()
      .key("work")
      .begin_object()
      .member("work_steps", result.work.work_steps)
      .member("span_steps", result.work.span_steps)
      .member("proposals_evaluated", result.work.proposals_evaluated)
      .member("plans_published", result.work.plans.plans)
      .member("assignments_shared", result.work.plans.assignments_shared)
      .member("assignments_copied", result.work.plans.assignments_copied)
      .member("rank_bytes_copied", result.work.plans.rank_bytes_copied)
      .member("nodes_copied", result.work.plans.nodes_copied)
      .member("options_added", result.work.plans.options_added)
      .end_object()
      .member("threads", result.threads)
      .key("stopped_by");
  write_stop(result.stopped_by, json);
  json.new_line()
      .key("timing")
      .begin_object()
      .member("read_s", options.read_s)
      .member("enumerate_s", result.timing.enumerate_s)
      .member("reserve_s", result.timing.reserve_s)
      .member("explore_s", result.timing.explore_s)
      .member("total_s", options.read_s + result.timing.total_s)
      .end_object();
}

void write_members(const Problem& problem, const EmbeddingPlanResult& result,
                   const PlanJsonOptions& options, JsonWriter& json);

void write_other_layouts(const EmbeddingPlanResult& result, JsonWriter& json) {
  if (result.other_layouts.empty()) return;
  json.new_line().key("other_layouts").begin_array();
  for (const EmbeddingPlanResult& other : result.other_layouts) {
    json.new_line();
    write_members(*other.problem, other, {}, json);
  }
  json.end_array();
}

void write_members(const Problem& problem, const EmbeddingPlanResult& result,
                   const PlanJsonOptions& options, JsonWriter& json) {
  json.begin_object().new_line().member("format", kPlanFormat);
  if (!problem.name().empty()) json.member("name", problem.name());
  if (problem.topology().spec().groups)
    json.member("sharding_group_size", problem.topology().world_size());
  if (!problem.topology().spec().pod_sizes.empty())
    json.member("pod_size", problem.topology().pod_size());
  write_identity(problem, result, json);
  if (!options.overrides.first_given().empty())
    write_value(json.key("overrides"), options.overrides);
  if (result.reservation) write_reservation(*result.reservation, json);
  json.member("search_space_size", result.search_space ? result.search_space->size() : 0);
  if (options.search_space && result.search_space) {
    json.key("search_space");
    write_options(*result.search_space, ShardForm::kExpanded, json);
  }
  json.member("num_proposals", result.num_proposals).member("num_plans", result.num_plans);
  json.new_line();
  if (result.plan) write_found(problem, result, json);
  if (options.stats && result.plan && result.reservation) {
    json.new_line().key("stats");
    write_stats(problem, plan_stats(problem, *result.reservation, *result.plan), json);
  }
  if (result.failure) write_failure(*result.failure, result.mode, json);
  if (result.migration) {
    json.new_line().key("migration");
    write_migration(problem, *result.migration, json);
  }
  write_front(result, json);
  write_run(problem, result, options, json);
  if (result.trace) {
    TraceWriter(problem, *result.trace, json).write();
  } else if (options.trace) {
    json.new_line().key("proposals").begin_array().end_array();
  }
  write_other_layouts(result, json);
  json.new_line().end_object();
}
}  // namespace

void write_plan(const Problem& problem, const EmbeddingPlanResult& result,
                const PlanJsonOptions& options, const TextSink& sink) {
  JsonWriter json(sink);
  write_members(problem, result, options, json);
  json.finish();
}

}  // namespace shardwright
