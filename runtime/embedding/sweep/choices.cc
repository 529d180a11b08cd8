#include "runtime/embedding/sweep/choices.h"

#include <algorithm>
#include <array>

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

std::vector<bool> pareto_front(const ProblemSpec& problem, const Sweep& sweep) {
  // What is wanted little of, and samples per second, negated.
  const auto costs = [&](const SweepPoint& point) {
    const double samples = samples_per_second(problem, point).value_or(0);
    if (point.price_per_hour) return std::array{*point.price_per_hour, 0.0, -samples};
    const auto hbm = static_cast<double>(point.hbm_bytes.value_or(0));
    return std::array{static_cast<double>(point.ranks), hbm, -samples};
  };
  const auto dominates = [](const auto& a, const auto& b) {
    bool better = false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] > b[i]) return false;
      better = better || a[i] < b[i];
    }
    return better;
  };
  std::vector<std::size_t> timed;
  std::vector<std::array<double, 3>> costs_of_timed;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    if (!samples_per_second(problem, sweep.points[i])) continue;
    timed.push_back(i);
    costs_of_timed.push_back(costs(sweep.points[i]));
  }
  std::vector<bool> front(sweep.points.size());
  for (std::size_t t = 0; t < timed.size(); ++t) {
    front[timed[t]] =
        std::none_of(costs_of_timed.begin(), costs_of_timed.end(),
                     [&](const auto& other) { return dominates(other, costs_of_timed[t]); });
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

}  // namespace shardwright
