#include "runtime/io/embedding/answers/sweep_csv.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/embedding/sweep/choices.h"
#include "runtime/io/json/json_number.h"

namespace shardwright {
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
