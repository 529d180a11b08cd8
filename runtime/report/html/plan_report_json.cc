#include "runtime/report/html/plan_report_json.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/version.h"
#include "runtime/embedding/explain_reasons.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/report/embedding/explain_text.h"
#include "runtime/report/html/answer_json.h"
#include "runtime/report/html/change_json.h"

namespace shardwright {
namespace {

using embedding::OptionCost;
using Standing = OptionCost::Standing;

constexpr std::size_t kMostOptions = 24000;  // most on a page, about 2 MB
constexpr std::size_t kLeastOptions = 4;     // least of a table, with the chosen one

void write_digits(double number, JsonWriter& json) {
  constexpr int kDigits = 6;
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof(text), number, std::chars_format::general, kDigits);
  json.raw({text, end.ptr});
}

bool is_better_but_hindered(const OptionCost& cost) {
  return cost.standing > Standing::kPossible && cost.rating && cost.rating_change < 0;
}

// Returns the options to show, at most `most`.
std::vector<const OptionCost*> shown_of(const TableExplanation& table, std::size_t most) {
  std::vector<const OptionCost*> shown;
  for (const OptionCost& cost : table.options)
    shown.push_back(&cost);
  std::stable_partition(shown.begin() + 1, shown.end(),
                        [](const OptionCost* cost) { return is_better_but_hindered(*cost); });
  shown.resize(std::min(shown.size(), most));
  return shown;
}

void write_option(const OptionCost& cost, std::size_t name, JsonWriter& json) {
  json.begin_array().value(static_cast<int>(cost.standing)).value(name);
  if (cost.rating) {
    write_digits(*cost.rating, json);
    json.value(cost.busiest_rank);
  } else {
    json.null().null();
  }
  if (cost.part) {
    json.value(static_cast<int>(*cost.part));
    write_digits(cost.part_change_ms, json);
  } else {
    json.null().null();
  }
  write_digits(cost.time_ms, json);
  json.value(cost.storage.hbm.value()).value(cost.storage.ddr.value());
  json.value(cost.storage.ssd.value()).value(rank_list(cost.ranks));
  json.value(obstacle_text(cost.excluded_by, cost.lack)).end_array();
}

}  // namespace

void write_explained_tables(const ExplainedTables& explained, JsonWriter& json) {
  NameList names;
  const std::size_t tables = std::max<std::size_t>(explained.tables.size(), 1);
  const std::size_t most = std::max(kMostOptions / tables, kLeastOptions);
  json.key("explained").begin_array();
  for (const TableExplanation& table : explained.tables) {
    const std::vector<const OptionCost*> shown = shown_of(table, most);
    json.new_line().begin_array().value(table.table.value()).begin_array();
    for (const OptionCost* cost : shown)
      write_option(*cost, names.number_of(option_name(*cost->option)), json);
    json.end_array().value(table.options.size() - shown.size()).end_array();
  }
  json.end_array().new_line();
  names.write("option_names", json);
}

void write_infeasibility(const ExplanationAnswer& explanation, JsonWriter& json) {
  json.key("infeasible").begin_object().member("proved", explanation.infeasible->proved);
  json.member("message", explanation.infeasible->message).key("remedies").begin_array();
  for (const RemedyAnswer& remedy : *explanation.remedies) {
    const RemedyWords words = words_of(remedy);
    json.begin_array().value(words.change).value(words.from).value(words.to);
    json.value(words.one_step_less).value(words.flags).end_array();
  }
  json.end_array().key("in_vain").begin_array();
  for (const VainRemedy& vain : *explanation.in_vain)
    json.value(std::string(to_name(vain.kind)) + ": " + vain.message);
  json.end_array().end_object().new_line();
}

namespace {

using embedding::kMemoryTiers;
using embedding::MemoryTier;
using embedding::Perf;
using embedding::Storage;
using embedding::to_name;

void write_storage(const std::optional<Storage>& storage, JsonWriter& json) {
  storage ? write_storage(*storage, false, json) : static_cast<void>(json.null());
}

void write_perf(const Perf& perf, JsonWriter& json) {
  json.value(perf.fwd_compute.value())
      .value(perf.fwd_comms.value())
      .value(perf.bwd_compute.value())
      .value(perf.bwd_comms.value())
      .value(perf.prefetch_compute.value());
}

void write_problem(const PlanReport& report, JsonWriter& json) {
  const ReportedProblem& problem = report.problem;
  const bool bytes = problem.perf_model == embedding::PerfModel::kStorage;
  json.key("problem")
      .begin_object()
      .member("name", problem.name)
      .member("device", to_name(problem.device))
      .member("hosts", problem.hosts)
      .member("ranks_per_host", problem.ranks_per_host)
      .member("batch_size", problem.batch_size)
      .end_object()
      .new_line()
      .member("rating_in", bytes ? "bytes" : "ms")
      .member("rating", report.rating);
  json.member("lower_bound", report.lower_bound);
  const bool bounded = report.rating && report.lower_bound;
  const double to_bound = bounded ? gap(*report.rating, *report.lower_bound) : 0;
  json.key("gap");
  bounded ? json.value(to_bound) : json.null();
  json.member("proven_optimal", bounded && to_bound <= kProvenGap)
      .member("proof", report.proof)
      .member("release", library_version())
      .member("estimate", report.estimate)
      .member("problem_hash", report.problem_hash)
      .member("plan_hash", report.plan_hash)
      .member("ranks_sha1", report.ranks_sha1)
      .new_line();
  json.key("verdict").begin_array();
  for (const std::string& sentence : report.verdict)
    json.value(sentence);
  json.end_array().new_line();
}

void write_search(const ReportedSearch& search, JsonWriter& json) {
  json.key("search")
      .begin_object()
      .member("mode", name_of(search.mode))
      .member("options", search.num_options)
      .member("proposals", search.num_proposals)
      .member("plans", search.num_plans)
      .member("work", search.work)
      .member("threads", search.threads)
      .member("total_s", search.total_s)
      .member("stopped_by", name_of(search.stopped_by))
      .member("steps_are", search.steps_are_proposals ? "proposals" : "work")
      .key("steps")
      .begin_array();
  for (const embedding::ImprovementStep& step : search.steps)
    json.begin_array().value(step.work).value(step.rating).value(step.bound).end_array();
  json.end_array().end_object().new_line();
}

void write_reservation(const ReportedReservation& reservation, JsonWriter& json) {
  json.key("reservation")
      .begin_object()
      .member("type", kReservationTypeNames[static_cast<std::size_t>(reservation.type)])
      .member("percentage", reservation.percentage)
      .key("dense");
  write_storage(reservation.dense, json);
  json.key("inputs");
  write_storage(reservation.inputs, json);
  json.end_object().new_line();
}

void write_constraints(const std::vector<Constraint>& constraints, JsonWriter& json) {
  json.key("constraints").begin_array();
  for (const Constraint& constraint : constraints) {
    json.begin_object().member("text", constraint.text).key("tables").begin_array();
    for (const embedding::TableId table : constraint.tables)
      json.value(table.value());
    json.end_array().end_object();
  }
  json.end_array().new_line();
}

template <class Function>
void write_list(const char* key, const std::vector<ReportedRank>& ranks, const Function& value_of,
                JsonWriter& json) {
  json.key(key).begin_array();
  for (const ReportedRank& rank : ranks)
    json.value(value_of(rank));
  json.end_array().new_line();
}

// Writes each part as [hbm by rank, ddr by rank], plus ssd by rank if the problem counts SSD.
void write_memory(const std::vector<ReportedRank>& ranks, bool counts_ssd, JsonWriter& json) {
  constexpr std::pair<const char*, Storage MemoryParts::*> kParts[] = {
      {"capacity", &MemoryParts::capacity}, {"reservation", &MemoryParts::reservation},
      {"reserved", &MemoryParts::reserved}, {"margin", &MemoryParts::margin},
      {"tables", &MemoryParts::tables},     {"free", &MemoryParts::free}};
  json.key("memory").begin_object();
  for (const auto& [key, part] : kParts) {
    json.key(key).begin_array();
    for (const MemoryTier tier : kMemoryTiers) {
      if (tier == MemoryTier::kSsd && !counts_ssd) continue;
      json.begin_array();
      for (const ReportedRank& rank : ranks)
        json.value((rank.memory.*part)[tier].value());
      json.end_array();
    }
    json.end_array().new_line();
  }
  json.end_object();
}

void write_ranks(const std::vector<ReportedRank>& ranks, bool counts_ssd, JsonWriter& json) {
  constexpr std::pair<const char*, Milliseconds Perf::*> kTimes[] = {
      {"fwd_compute", &Perf::fwd_compute},
      {"fwd_comms", &Perf::fwd_comms},
      {"bwd_compute", &Perf::bwd_compute},
      {"bwd_comms", &Perf::bwd_comms},
      {"prefetch", &Perf::prefetch_compute}};
  json.key("ranks").begin_object().member("count", ranks.size()).new_line();
  write_list(
      "ms", ranks, [](const ReportedRank& rank) { return rank.perf_ms; }, json);
  for (const auto& [key, part] : kTimes) {
    const auto value = [part = part](const ReportedRank& rank) {
      return (rank.parts.*part).value();
    };
    write_list(key, ranks, value, json);
  }
  write_memory(ranks, counts_ssd, json);
  json.end_object().new_line();
}

void write_place(const ReportedPlace& place, bool counts_ssd, JsonWriter& json) {
  json.begin_array()
      .value(to_name(place.sharding_type))
      .value(to_name(place.compute_kernel))
      .value(place.load_factor)
      .value(place.num_shards)
      .value(place.shard_rows)
      .value(place.shard_columns)
      .value(place.even)
      .value(place.storage.hbm.value())
      .value(place.storage.ddr.value())
      .value(place.perf_ms)
      .begin_array();
  for (const ReportedShards& run : place.shards)
    json.value(run.first_rank).value(run.count).value(run.cost);
  json.end_array();
  if (counts_ssd) json.value(place.storage.ssd.value());
  json.end_array();
}

void write_tables(const PlanReport& report, JsonWriter& json) {
  const bool counts_ssd = report.problem.counts_ssd;
  json.key("costs").begin_array();
  for (const embedding::ShardCost& cost : report.costs) {
    json.begin_array().value(cost.storage.hbm.value()).value(cost.storage.ddr.value());
    write_perf(cost.perf, json);
    if (counts_ssd) json.value(cost.storage.ssd.value());
    json.end_array().new_line();
  }
  json.end_array().new_line().key("tables").begin_array();
  for (const ReportedTable& table : report.tables) {
    json.begin_array()
        .value(table.name)
        .value(table.module)
        .value(table.rows)
        .value(table.columns)
        .value(to_name(table.data_type));
    table.place ? write_place(*table.place, counts_ssd, json) : static_cast<void>(json.null());
    json.end_array().new_line();
  }
  json.end_array().new_line();
}

void write_needs(const MemoryNeeds& needs, bool counts_ssd, JsonWriter& json) {
  json.key("needs").begin_object();
  write_storage(needs.available, counts_ssd, json.key("available"));
  write_storage(needs.capacity, counts_ssd, json.key("capacity"));
  json.member("hbm", needs.hbm.value())
      .member("total", needs.total.value())
      .key("tables")
      .begin_array();
  for (const TableNeed& need : needs.tables) {
    if (!need.has_options) {
      json.null();
      continue;
    }
    json.begin_array()
        .value(need.hbm.value())
        .value(need.total.value())
        .value(need.fits)
        .end_array()
        .new_line();
  }
  json.end_array().end_object().new_line();
}

void write_migration(const Migration& migration, const std::vector<ReplanPoint>& front,
                     JsonWriter& json) {
  json.key("migration")
      .begin_object()
      .member("rating_before", migration.rating_before)
      .member("not_kept", migration.not_kept)
      .member("rating_kept", migration.rating_kept)
      .member("moved_bytes", migration.moved_bytes)
      .key("front")
      .begin_array();
  for (const ReplanPoint& point : front) {
    json.begin_object()
        .member("moved_bytes", point.moved_bytes)
        .member("rating", point.rating)
        .member("weight", point.weight)
        .end_object();
  }
  json.end_array().end_object().new_line();
}

void write_outcome(const PlanReport& report, JsonWriter& json) {
  json.key("violations").begin_array();
  for (const std::string& violation : report.violations)
    json.value(violation);
  json.end_array().new_line();
  if (report.failure) {
    json.key("failure")
        .begin_object()
        .member("type", name_of(report.failure->type))
        .member("reason", name_of(report.failure->reason))
        .member("message", report.failure->message)
        .end_object()
        .new_line();
  }
  if (report.needs) write_needs(*report.needs, report.problem.counts_ssd, json);
  if (report.migration) write_migration(*report.migration, report.front, json);
}

void write_report(const PlanReport& report, JsonWriter& json) {
  write_problem(report, json);
  write_search(report.search, json);
  write_reservation(report.reservation, json);
  write_constraints(report.constraints, json);
  write_outcome(report, json);
  write_ranks(report.ranks, report.problem.counts_ssd, json);
  write_tables(report, json);
}

void begin(const char* question, JsonWriter& json) {
  json.begin_object()
      .member("format", "shardwright.embedding.report/1")
      .member("version", library_version())
      .member("question", question)
      .new_line();
}

}  // namespace

void write_plan_report(const PlanReport& report, const ExplainedTables& explained,
                       const PlanChange* change, const TextSink& sink) {
  JsonWriter json(without_markup(sink));
  begin("plan", json);
  write_report(report, json);
  write_explained_tables(explained, json);
  if (change != nullptr) write_change(*change, json);
  json.end_object().finish();
}

void write_plan_report(const PlanReport& report, const Explanation& explanation,
                       const ExplanationAnswer& answer, const TextSink& sink) {
  JsonWriter json(without_markup(sink));
  begin("explain", json);
  write_report(report, json);
  write_explained_tables(explanation, json);
  if (answer.infeasible) write_infeasibility(answer, json);
  json.end_object().finish();
}

}  // namespace shardwright
