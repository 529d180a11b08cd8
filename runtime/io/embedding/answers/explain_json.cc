#include "runtime/io/embedding/answers/explain_json.h"

#include <cmath>
#include <string>

#include "runtime/embedding/explain/remedy_text.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright {
namespace {

using embedding::FailedRemedy;
using embedding::OptionCost;
using embedding::Problem;
using embedding::Remedy;
using embedding::to_name;

const char* standing_name(OptionCost::Standing standing) {
  constexpr const char* kNames[] = {"chosen", "possible", "too_large", "no_place", "excluded"};
  return kNames[static_cast<std::size_t>(standing)];
}

void write_texts(const char* key, const std::vector<std::string>& texts, JsonWriter& json) {
  json.key(key).begin_array();
  for (const std::string& text : texts)
    json.value(text);
  json.end_array();
}

// Writes whole numbers without a fraction: 3, not 3.0.
void write_number(double number, JsonWriter& json) {
  if (number == std::floor(number) && std::abs(number) < 1e15) {
    json.value(static_cast<std::int64_t>(number));
  } else {
    json.value(number);
  }
}

void write_rating(const Problem& problem, const char* key, double rating, JsonWriter& json) {
  json.key(key);
  if (problem.spec().perf_model == embedding::PerfModel::kStorage) {
    json.value(static_cast<std::int64_t>(rating));
  } else {
    json.value(rating);
  }
}

void write_shards(const embedding::ShardingOption& option, JsonWriter& json) {
  json.key("shards").begin_array();
  for (const embedding::ShardExtent& extent : option.layout->extents) {
    json.begin_object()
        .member("count", extent.count)
        .member("rows", extent.rows)
        .member("columns", extent.columns)
        .end_object();
  }
  json.end_array();
}

void write_option(const Problem& problem, const OptionCost& cost, JsonWriter& json) {
  const embedding::ShardingOption& option = *cost.option;
  json.new_line()
      .begin_object()
      .member("standing", standing_name(cost.standing))
      .member("sharding_type", to_name(option.sharding_type))
      .member("compute_kernel", to_name(option.compute_kernel))
      .member("load_factor", option.load_factor);
  write_shards(option, json);
  if (cost.rating) {
    write_rating(problem, "rating", *cost.rating, json);
    write_rating(problem, "rating_change", cost.rating_change, json);
    json.member("busiest_rank", cost.busiest_rank).key("part");
    if (cost.part) {
      json.begin_object()
          .member("name", to_name(*cost.part))
          .member("change", cost.part_change_ms)
          .end_object();
    } else {
      json.null();
    }
  }
  json.member("perf", cost.time_ms)
      .member("hbm", cost.storage.hbm.value())
      .member("ddr", cost.storage.ddr.value());
  if (problem.topology().counts_ssd() || cost.storage.ssd != Bytes())
    json.member("ssd", cost.storage.ssd.value());
  json.key("ranks").numbers(cost.ranks).key("lacks");
  if (cost.lack) {
    json.begin_object()
        .member("rank", cost.lack->rank)
        .member("tier", to_name(cost.lack->tier))
        .member("bytes", cost.lack->bytes)
        .end_object();
  } else {
    json.null();
  }
  write_texts("excluded_by", cost.excluded_by, json);
  json.end_object();
}

void write_tables(const Explanation& explanation, JsonWriter& json) {
  const Problem& problem = *explanation.problem;
  json.new_line();
  write_rating(problem, "best_rating", explanation.result.evaluation.rating, json);
  json.new_line().key("tables").begin_array();
  for (const TableExplanation& table : explanation.tables) {
    json.new_line()
        .begin_object()
        .member("table", problem.table(table.table).name)
        .member("module", problem.table(table.table).module);
    write_texts("reasons", table.reasons, json);
    json.key("options").begin_array();
    for (const OptionCost& cost : table.options)
      write_option(problem, cost, json);
    json.end_array().end_object();
  }
  json.new_line().end_array();
}

void write_reason(const Problem& problem, const Infeasibility& reason, JsonWriter& json) {
  json.new_line()
      .key("infeasible")
      .begin_object()
      .member("reason", to_name(reason.kind))
      .member("proved", reason.proved)
      .member("message", reason.message)
      .member("needed", reason.needed_bytes)
      .member("available", reason.available_bytes)
      .member("irreducible", reason.irreducible)
      .key("tables")
      .begin_array();
  for (const embedding::TableId id : reason.tables) {
    json.begin_object()
        .member("table", problem.table(id).name)
        .member("module", problem.table(id).module)
        .end_object();
  }
  json.end_array().end_object();
}

// Writes the values to set in the problem file, by JSON pointer.
void write_edit(const Problem& problem, const Remedy& remedy, JsonWriter& json) {
  const auto local = static_cast<std::int64_t>(problem.topology().local_world_size());
  const auto to = static_cast<std::int64_t>(remedy.to);
  json.key("set").begin_object();
  switch (remedy.kind) {
    case Remedy::Kind::kRanks:
      json.member("/topology/world_size", to).member("/topology/local_world_size", to);
      break;
    case Remedy::Kind::kHosts:
      json.member("/topology/world_size", to * local).member("/topology/local_world_size", local);
      break;
    case Remedy::Kind::kHbm:
      if (!remedy.each_rank_adds) json.member("/topology/hbm_cap", to);
      break;
    case Remedy::Kind::kDdr:
      if (!remedy.each_rank_adds) json.member("/topology/ddr_cap", to);
      break;
    case Remedy::Kind::kSsd:
      if (!remedy.each_rank_adds) json.member("/topology/ssd_cap", to);
      break;
    case Remedy::Kind::kBatchSize:
      json.member("/batch_size", to);
      break;
    case Remedy::Kind::kReservation:
      json.member("/reservation/percentage", remedy.to);
      break;
    case Remedy::Kind::kConstraint:
      break;
  }
  json.end_object();
}

void write_remedy(const Problem& problem, const Remedy& remedy, JsonWriter& json) {
  json.new_line().begin_object().member("kind", to_name(remedy.kind));
  if (remedy.kind == Remedy::Kind::kConstraint) {
    json.member("drop", remedy.constraint);
  } else {
    json.key("from");
    write_number(remedy.from, json);
    json.key("to");
    write_number(remedy.to, json);
    json.key("step");
    write_number(remedy.step, json);
    json.member("each_rank_adds", remedy.each_rank_adds).member("flags", flags_of(problem, remedy));
    write_edit(problem, remedy, json);
  }
  write_rating(problem, "first_rating", remedy.rating, json);
  json.member("one_step_less", remedy.less_is_impossible ? "impossible" : "no_plan_found")
      .end_object();
}

void write_infeasibility(const Explanation& explanation, JsonWriter& json) {
  const Infeasibility& reason = *explanation.infeasibility;
  write_reason(*explanation.problem, reason, json);
  json.new_line().key("remedies").begin_array();
  for (const Remedy& remedy : reason.remedies)
    write_remedy(*explanation.problem, remedy, json);
  json.new_line().end_array().new_line().key("in_vain").begin_array();
  for (const FailedRemedy& vain : reason.in_vain) {
    json.new_line()
        .begin_object()
        .member("kind", to_name(vain.kind))
        .member("message", failed_remedy_text(vain))
        .end_object();
  }
  json.new_line().end_array();
}

}  // namespace

void write_explanation(const Explanation& explanation, const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object().new_line().member("format", "shardwright.embedding.explanation/1");
  const Problem& problem = *explanation.problem;
  if (!problem.name().empty()) json.member("name", problem.name());
  json.new_line()
      .member("feasible", explanation.result.plan.has_value())
      .member("mode", name_of(explanation.result.mode));
  if (explanation.result.plan) write_tables(explanation, json);
  if (explanation.infeasibility) write_infeasibility(explanation, json);
  json.new_line()
      .member("plannings", explanation.plannings)
      .member("threads", explanation.result.threads)
      .key("timing")
      .begin_object()
      .member("total_s", explanation.total_s)
      .end_object()
      .new_line()
      .end_object()
      .finish();
}

}  // namespace shardwright
