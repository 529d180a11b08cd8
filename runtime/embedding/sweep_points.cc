#include "runtime/embedding/sweep_points.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/embedding/verdict.h"
#include "runtime/execution/processes/message.h"

namespace shardwright {

using embedding::ProblemSpec;

std::optional<double> samples_per_second(const ProblemSpec& problem, const SweepPoint& point) {
  const bool timed = problem.perf_model == embedding::PerfModel::kPerf;
  if (!timed || !point.fits() || !(*point.rating > 0)) return std::nullopt;
  constexpr double kMsPerSecond = 1000;
  const auto samples = static_cast<double>(point.ranks) * static_cast<double>(point.batch_size);
  return samples * kMsPerSecond / *point.rating;
}

std::optional<double> price_per_billion(const ProblemSpec& problem, const SweepPoint& point) {
  const std::optional<double> speed = samples_per_second(problem, point);
  if (!speed || !point.price_per_hour) return std::nullopt;
  constexpr double kSecondsPerHour = 3600;
  constexpr double kBillion = 1e9;
  return *point.price_per_hour / kSecondsPerHour * (kBillion / *speed);
}

// What the Pareto front minimises, and the speed that it maximises.
struct MachineCost {
  std::array<double, 2> price;  // or ranks and memory
  double samples = 0;           // per second
  double most_samples = 0;      // no plan of the machine is faster
};

// A machine that costs more is on the front only if it is faster than every plan of each machine
// that costs less: differences within the gaps do not count.
bool dominates(const MachineCost& a, const MachineCost& b) {
  if (a.price[0] > b.price[0] || a.price[1] > b.price[1]) return false;
  if (a.price != b.price) return a.most_samples >= b.samples;
  return a.samples > b.samples;
}

std::vector<bool> pareto_front(const ProblemSpec& problem, const Sweep& sweep) {
  std::vector<std::size_t> timed;
  std::vector<MachineCost> costs;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const SweepPoint& point = sweep.points[i];
    const std::optional<double> samples = samples_per_second(problem, point);
    if (!samples) continue;
    const double bound = point.lower_bound.value_or(0);
    const auto hbm = static_cast<double>(point.hbm_bytes.value_or(0));
    timed.push_back(i);
    costs.push_back({point.price_per_hour ? std::array{*point.price_per_hour, 0.0}
                                          : std::array{static_cast<double>(point.ranks), hbm},
                     *samples, bound > 0 ? *samples * *point.rating / bound : *samples});
  }
  std::vector<bool> front(sweep.points.size());
  for (std::size_t t = 0; t < timed.size(); ++t) {
    front[timed[t]] = std::none_of(costs.begin(), costs.end(), [&](const MachineCost& other) {
      return dominates(other, costs[t]);
    });
  }
  return front;
}

std::string why_not(const SweepPoint& point) {
  if (point.fits()) return "";
  if (point.invalid) return point.invalid->to_string();
  if (!point.failure)
    return "stopped by " + std::string(text_of(point.stopped_by)) + " before anything was found";
  const std::string& message = point.failure->message;
  std::size_t end = std::min(message.find(". "), message.find("; "));
  if (end == std::string::npos) end = message.size();
  while (end > 0 && message[end - 1] == '.')
    --end;
  return message.substr(0, end);
}

std::vector<SmallestMachine> smallest_machines(const Sweep& sweep) {
  std::vector<SmallestMachine> machines;
  for (const SweepPoint& point : sweep.points) {
    auto at = std::find_if(machines.begin(), machines.end(), [&](const SmallestMachine& machine) {
      return machine.hbm_bytes == point.hbm_bytes && machine.batch_size == point.batch_size;
    });
    if (at == machines.end())
      at = machines.insert(at, {point.hbm_bytes, point.batch_size, std::nullopt});
    if (point.fits()) at->ranks = std::min(at->ranks.value_or(point.ranks), point.ranks);
  }
  return machines;
}

std::vector<std::size_t> best_by_ranks(const Sweep& sweep) {
  std::vector<std::size_t> best;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const SweepPoint& point = sweep.points[i];
    if (!point.fits()) continue;
    const auto known = std::find_if(best.begin(), best.end(), [&](std::size_t other) {
      return sweep.points[other].ranks == point.ranks &&
             sweep.points[other].batch_size == point.batch_size;
    });
    if (known == best.end()) {
      best.push_back(i);
    } else if (*point.rating < *sweep.points[*known].rating) {
      *known = i;
    }
  }
  return best;
}

namespace {

void add_reasons(const SweepPoint& point, SweepAnswer::Point& out) {
  if (!point.fits()) out.why_not = why_not(point);
  if (const auto& failure = point.failure) {
    out.failure = {std::string(name_of(failure->type)), failure->message,
                   std::string(name_of(failure->reason)), std::nullopt};
  }
  if (const auto& invalid = point.invalid)
    out.failure = {"invalid_input", invalid->message, std::nullopt, invalid->where};
}

SweepAnswer::Point answer_point(const ProblemSpec& problem, const SweepPoint& point,
                                bool on_front) {
  SweepAnswer::Point out;
  out.ranks = point.ranks;
  out.ranks_per_host = point.ranks_per_host;
  out.hbm_bytes = point.hbm_bytes;
  out.batch_size = point.batch_size;
  out.sharding_group_size = point.sharding_group_size;
  out.pod_size = point.pod_size;
  out.lower_bound = point.lower_bound;
  out.price_per_hour = point.price_per_hour;
  out.stopped_by = point.stopped_by;
  add_reasons(point, out);
  if (!point.fits()) return out;
  out.rating = rating_amount(problem, *point.rating);
  if (point.lower_bound) {
    out.gap = gap(*point.rating, *point.lower_bound);
    out.proven_optimal = *out.gap <= kProvenGap;
  }
  out.peak_bytes = {point.peak_hbm_bytes, point.peak_ddr_bytes};
  if (point.peak_ssd_bytes) out.peak_bytes->push_back(*point.peak_ssd_bytes);
  out.samples_per_second = samples_per_second(problem, point);
  if (!out.samples_per_second) return out;
  out.samples_per_second_per_rank = *out.samples_per_second / static_cast<double>(point.ranks);
  out.price_per_billion = price_per_billion(problem, point);
  out.on_front = on_front;
  return out;
}

}  // namespace

bool SweepAnswer::rates_bytes() const {
  return is_by_storage || std::any_of(points.begin(), points.end(), [](const Point& point) {
           return point.rating && point.rating->is_whole;
         });
}

bool SweepAnswer::any_fits() const {
  return std::any_of(points.begin(), points.end(), [](const Point& point) { return point.fits(); });
}

SweepAnswer sweep_answer(const ProblemSpec& problem, const Sweep& sweep) {
  SweepAnswer out;
  if (!problem.name.empty()) out.name = problem.name;
  if (std::string estimate = estimate_text(problem, false); !estimate.empty())
    out.estimate = std::move(estimate);
  const std::vector<bool> front = pareto_front(problem, sweep);
  for (std::size_t i = 0; i < front.size(); ++i)
    out.points.push_back(answer_point(problem, sweep.points[i], front[i]));
  out.smallest = smallest_machines(sweep);
  for (const std::size_t i : best_by_ranks(sweep)) {
    const SweepAnswer::Point& point = out.points[i];
    out.best_by_ranks.push_back({point.ranks, point.batch_size, point.hbm_bytes, *point.rating});
  }
  out.threads = sweep.threads;
  out.total_s = sweep.total_s;
  out.num_tables = problem.tables.size();
  out.is_by_storage = problem.perf_model == embedding::PerfModel::kStorage;
  return out;
}

namespace {

void put(MessageWriter& to, const Error& error) {
  to.put(static_cast<std::uint8_t>(error.code));
  to.put_text(error.message);
  to.put_text(error.where);
}

Error get_error(MessageReader& from) {
  Error error;
  error.code = static_cast<ErrorCode>(from.get<std::uint8_t>());
  error.message = from.get_text();
  error.where = from.get_text();
  return error;
}

void put(MessageWriter& to, const SweepPoint& point) {
  for (const std::int64_t number : {point.ranks, point.ranks_per_host, point.batch_size,
                                    point.peak_hbm_bytes, point.peak_ddr_bytes})
    to.put(number);
  for (const std::optional<std::int64_t>& number :
       {point.hbm_bytes, point.sharding_group_size, point.pod_size, point.peak_ssd_bytes})
    to.put_if(number);
  to.put_if(point.rating);
  to.put_if(point.lower_bound);
  to.put_if(point.price_per_hour);
  to.put(static_cast<std::uint8_t>(point.stopped_by));
  to.put_flag(point.invalid.has_value());
  if (point.invalid) put(to, *point.invalid);
  to.put_flag(point.failure.has_value());
  if (!point.failure) return;
  to.put(static_cast<std::uint8_t>(point.failure->type));
  to.put(static_cast<std::uint8_t>(point.failure->reason));
  to.put_text(point.failure->message);
  to.put_flag(point.failure->proof.has_value());
  if (point.failure->proof) to.put(static_cast<std::uint8_t>(*point.failure->proof));
}

SweepPoint get_point(MessageReader& from) {
  SweepPoint point;
  for (std::int64_t* const number : {&point.ranks, &point.ranks_per_host, &point.batch_size,
                                     &point.peak_hbm_bytes, &point.peak_ddr_bytes})
    *number = from.get<std::int64_t>();
  for (std::optional<std::int64_t>* const number :
       {&point.hbm_bytes, &point.sharding_group_size, &point.pod_size, &point.peak_ssd_bytes})
    *number = from.get_if<std::int64_t>();
  point.rating = from.get_if<double>();
  point.lower_bound = from.get_if<double>();
  point.price_per_hour = from.get_if<double>();
  point.stopped_by = static_cast<StopReason>(from.get<std::uint8_t>());
  if (from.get_flag()) point.invalid = get_error(from);
  if (!from.get_flag()) return point;
  PlanFailure& failure = point.failure.emplace();
  failure.type = static_cast<FailureType>(from.get<std::uint8_t>());
  failure.reason = static_cast<FailureReason>(from.get<std::uint8_t>());
  failure.message = from.get_text();
  if (from.get_flag()) failure.proof = static_cast<AbsenceProof>(from.get<std::uint8_t>());
  return point;
}

}  // namespace

std::string to_message(const Status& status, const Sweep& points) {
  MessageWriter to;
  to.put_flag(status.ok());
  if (!status.ok()) {
    put(to, status.error());
    return to.take();
  }
  to.put(points.threads);
  to.put_each(points.points, [&](const SweepPoint& point) { put(to, point); });
  return to.take();
}

Status add_points(const std::string& message, Sweep& sweep) {
  MessageReader from(message);
  if (!from.get_flag()) return get_error(from);
  sweep.threads = from.get<int>();
  for (SweepPoint& point : from.get_each<SweepPoint>([&] { return get_point(from); }))
    sweep.points.push_back(std::move(point));
  return {};
}

}  // namespace shardwright
