// Writes answers of the operator-sharding solver as JSON.
#include "runtime/io/operators/solve_json.h"

#include <cstddef>
#include <cstdint>

#include "runtime/io/json/json_writer.h"

namespace shardwright {

void write_solution(const operators::OperatorProblem& problem, const OperatorsResult& result,
                    double seconds, const TextSink& sink) {
  const bool found = !result.choice.empty() || result.status == operators::SolveStatus::kOptimal;
  JsonWriter json(sink);
  json.begin_object().member("status", name_of(result.status)).new_line().key("objective");
  found ? json.value(result.objective) : json.null();
  json.new_line().key("choice");
  found ? json.numbers(result.choice) : json.null();
  if (found && !problem.strategy_names.empty()) {
    json.new_line().key("names").begin_array();
    for (std::size_t n = 0; n < result.choice.size(); ++n)
      json.value(problem.strategy_names[n][result.choice[n]]);
    json.end_array();
  }
  if (const auto& shortage = result.shortage) {
    json.new_line().key("error").begin_object();
    json.member("type", "insufficient_memory").member("message", shortage_text(*shortage));
    json.member("limit_bytes", shortage->limit_bytes);
    json.member("minimum_bytes", shortage->minimum_bytes);
    json.member("minimum_is_exact", shortage->minimum_is_exact).end_object();
  } else if (result.status == operators::SolveStatus::kInfeasible) {
    json.new_line().key("error").begin_object().member("type", "no_choice");
    json.member("message", "no choice keeps every limit and avoids what is forbidden");
    json.end_object();
  }
  if (found) {
    json.new_line().member("peak_bytes", result.peak_bytes);
    if (problem.soft_budget) json.member("overbudget_cost", result.overbudget_cost);
  }
  json.new_line().member("lower_bound", result.lower_bound);
  json.new_line().member("work", result.work).member("threads", result.threads).key("stopped_by");
  write_stop(result.stopped_by, json);
  json.new_line().member("solve_seconds", result.solve_s).member("seconds", seconds);
  json.end_object().finish();
}

}  // namespace shardwright
