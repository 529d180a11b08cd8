#include "runtime/io/embedding/answers/sweep_json.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/embedding/sweep/choices.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/json/stop_json.h"

namespace shardwright {
namespace {

void write_rating(const embedding::ProblemSpec& problem, double rating, JsonWriter& json) {
  if (problem.perf_model == embedding::PerfModel::kStorage) {
    json.value(static_cast<std::int64_t>(rating));
  } else {
    json.value(rating);
  }
}

// The price, and for what can be timed the speed.
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

}  // namespace shardwright
