#include "runtime/io/embedding/answers_json.h"

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/embedding/explain_reasons.h"
#include "runtime/embedding/sweep_points.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright {
namespace {

template <class Value>
void write_change(std::string_view key, const Change<Value>& change, JsonWriter& json) {
  json.key(key).begin_array().value(change.from).value(change.to).end_array();
}

void write_tables(const PlanDiff& diff, JsonWriter& json) {
  json.new_line().key("tables").begin_array();
  for (const TableDifference& table : diff.tables) {
    json.new_line().begin_object().member("table", table.table).member("what", table.what());
    for (const auto& [key, place] : {std::pair{"from", &table.from}, std::pair{"to", &table.to}}) {
      write_value(json.key(key), *place);
    }
    json.member("bytes", table.bytes).end_object();
  }
  json.end_array();
}

void write_ranks(const PlanDiff& diff, JsonWriter& json) {
  json.new_line().key("ranks").begin_array();
  for (const RankDifference& rank : diff.ranks) {
    json.new_line().begin_object();
    write_change("perf", rank.perf_ms, json);
    write_change("hbm", rank.hbm_bytes, json);
    write_change("ddr", rank.ddr_bytes, json);
    if (rank.ssd_bytes.from || rank.ssd_bytes.to) write_change("ssd", rank.ssd_bytes, json);
    json.end_object();
  }
  json.end_array();
}

void write_names(std::string_view key, const std::vector<std::string>& names, JsonWriter& json) {
  json.new_line().key(key).begin_array();
  for (const std::string& name : names)
    json.value(name);
  json.end_array();
}

}  // namespace

void write_diff(const PlanDiff& diff, const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object()
      .new_line()
      .member("kind", "plans")
      .member("same", diff.same())
      .member("same_problem", diff.same_problem)
      .key("problem_differs_in");
  diff.problem_differs_in.empty() ? json.null() : json.value(diff.problem_differs_in);
  write_change("rating", diff.rating, json);
  json.new_line()
      .member("tables_kept", diff.tables_kept)
      .member("tables_moved", diff.tables_moved)
      .member("tables_added", diff.tables_added)
      .member("tables_removed", diff.tables_removed)
      .member("moved_bytes", diff.moved_bytes)
      .member("placed_bytes", diff.placed_bytes);
  write_tables(diff, json);
  write_ranks(diff, json);
  json.new_line().end_object().finish();
}

void write_diff(const ProblemDiff& diff, const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object()
      .new_line()
      .member("kind", "problems")
      .member("same", diff.same())
      .member("search_differs", diff.search_differs);
  write_names("tables_added", diff.tables_added, json);
  write_names("tables_removed", diff.tables_removed, json);
  json.new_line().key("differences").begin_array();
  for (const FactDifference& fact : diff.facts) {
    json.new_line()
        .begin_object()
        .member("where", fact.place)
        .member("from", fact.from)
        .member("to", fact.to)
        .end_object();
  }
  json.end_array().new_line().end_object().finish();
}

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

namespace {

void write_rating(const embedding::ProblemSpec& problem, double rating, JsonWriter& json) {
  if (problem.perf_model == embedding::PerfModel::kStorage) {
    json.value(static_cast<std::int64_t>(rating));
  } else {
    json.value(rating);
  }
}

// Writes the price, and the speed if it is known.
void write_worth(const embedding::ProblemSpec& problem, const SweepPoint& point, bool on_front,
                 JsonWriter& json) {
  const std::optional<double> speed = samples_per_second(problem, point);
  if (point.price_per_hour) json.member("price_per_hour", *point.price_per_hour);
  if (!speed) return;
  json.member("samples_per_second", *speed)
      .member("samples_per_second_per_rank", *speed / static_cast<double>(point.ranks));
  if (point.price_per_hour)
    json.member("price_per_billion_samples", price_per_billion(problem, point));
  json.member("pareto", on_front);
}

void write_point(const embedding::ProblemSpec& problem, const SweepPoint& point, bool on_front,
                 JsonWriter& json) {
  json.begin_object()
      .member("ranks", point.ranks)
      .member("ranks_per_host", point.ranks_per_host)
      .member("hbm", point.hbm_bytes)
      .member("batch_size", point.batch_size);
  if (point.sharding_group_size) json.member("sharding_group_size", *point.sharding_group_size);
  if (point.pod_size) json.member("pod_size", *point.pod_size);
  json.member("fits", point.fits()).key("best_rating");
  point.fits() ? write_rating(problem, *point.rating, json) : static_cast<void>(json.null());
  json.member("lower_bound", point.lower_bound).key("gap");
  if (point.fits() && point.lower_bound) {
    const double to_bound = gap(*point.rating, *point.lower_bound);
    json.value(to_bound).member("proven_optimal", to_bound <= kProvenGap);
  } else {
    json.null().key("proven_optimal").null();
  }
  if (point.fits()) {
    json.key("peak_memory").begin_array().value(point.peak_hbm_bytes).value(point.peak_ddr_bytes);
    if (point.peak_ssd_bytes) json.value(*point.peak_ssd_bytes);
    json.end_array();
  } else {
    json.member("why", why_not(point));
  }
  if (point.failure) {
    json.key("error")
        .begin_object()
        .member("type", name_of(point.failure->type))
        .member("message", point.failure->message)
        .member("reason", name_of(point.failure->reason))
        .end_object();
  }
  if (point.invalid) {
    json.key("error")
        .begin_object()
        .member("type", "invalid_input")
        .member("message", point.invalid->message)
        .member("where", point.invalid->where)
        .end_object();
  }
  write_worth(problem, point, on_front, json);
  json.key("stopped_by");
  write_stop(point.stopped_by, json);
  json.end_object();
}

}  // namespace

void write_sweep(const embedding::ProblemSpec& problem, const Sweep& sweep, const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object().new_line().member("format", "shardwright.embedding.sweep/1");
  if (!problem.name.empty()) json.member("name", problem.name);
  json.new_line().key("points").begin_array();
  const std::vector<bool> front = pareto_front(problem, sweep);
  for (std::size_t i = 0; i < front.size(); ++i) {
    json.new_line();
    write_point(problem, sweep.points[i], front[i], json);
  }
  json.new_line().end_array().new_line().key("smallest_ranks").begin_array();
  for (const SmallestMachine& machine : smallest_machines(sweep)) {
    json.new_line()
        .begin_object()
        .member("hbm", machine.hbm_bytes)
        .member("batch_size", machine.batch_size)
        .member("ranks", machine.ranks)
        .end_object();
  }
  json.new_line().end_array().new_line().key("best_by_ranks").begin_array();
  for (const std::size_t i : best_by_ranks(sweep)) {
    const SweepPoint& point = sweep.points[i];
    json.new_line()
        .begin_object()
        .member("ranks", point.ranks)
        .member("batch_size", point.batch_size)
        .member("hbm", point.hbm_bytes)
        .key("best_rating");
    write_rating(problem, *point.rating, json);
    json.end_object();
  }
  json.new_line()
      .end_array()
      .new_line()
      .member("threads", sweep.threads)
      .key("timing")
      .begin_object()
      .member("total_s", sweep.total_s)
      .end_object()
      .new_line()
      .end_object()
      .finish();
}

namespace {

// The cells of a row of comma-separated values.
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

std::string csv_row(const embedding::ProblemSpec& problem, const SweepPoint& point, bool on_front) {
  CsvRow row;
  row.add(point.ranks);
  row.add(point.ranks_per_host);
  row.add(point.hbm_bytes);
  row.add(point.batch_size);
  row.add(point.sharding_group_size);
  row.add(point.pod_size);
  row.add(point.fits() ? "yes" : "no");
  row.add(point.rating);
  row.add(point.lower_bound);
  row.add(point.fits() ? std::optional(point.peak_hbm_bytes) : std::nullopt);
  row.add(point.fits() ? std::optional(point.peak_ddr_bytes) : std::nullopt);
  row.add(samples_per_second(problem, point));
  row.add(point.price_per_hour);
  row.add(price_per_billion(problem, point));
  row.add(on_front ? "yes" : "no");
  row.add(why_not(point));
  return row.take();
}

}  // namespace

void write_sweep_csv(const embedding::ProblemSpec& problem, const Sweep& sweep,
                     const TextSink& sink) {
  const bool timed = problem.perf_model == embedding::PerfModel::kPerf;
  sink(std::string("ranks,ranks_per_host,hbm_bytes,batch_size,sharding_group_size,pod_size,fits,") +
       (timed ? "rating_ms,lower_bound_ms" : "rating_bytes,lower_bound_bytes") +
       ",peak_hbm_bytes,peak_ddr_bytes,samples_per_second,price_per_hour,"
       "price_per_billion_samples,pareto,why_not\n");
  const std::vector<bool> front = pareto_front(problem, sweep);
  for (std::size_t i = 0; i < front.size(); ++i)
    sink(csv_row(problem, sweep.points[i], front[i]));
}

}  // namespace shardwright
