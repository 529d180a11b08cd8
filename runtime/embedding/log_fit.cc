#include "runtime/embedding/log_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "core/embedding/sharding_option.h"
#include "search/embedding/compat/estimate.h"
#include "search/embedding/model/shard_layout.h"

namespace shardwright {
namespace {

using embedding::ComputeKernel;
using embedding::DataType;
using embedding::Perf;
using embedding::Problem;
using embedding::ShardCost;
using embedding::ShardingOption;
using embedding::ShardingType;
using embedding::TableId;

// Tables from which the combination is chosen; more only cost time.
constexpr std::size_t kMostSampled = 400;
// An estimate agrees with a printed value beyond its digits within this part of it. TorchRec's
// formulas give the printed values to the last digit, or are off by a factor.
constexpr double kTolerance = 0.005;
// At least this part of the tables must agree.
constexpr double kEnough = 0.5;
constexpr double kFast = 1e15;  // bytes per ms: transfers that take no time

std::array<double, 5> parts_of(const Perf& perf) {
  return {perf.fwd_compute.value(), perf.fwd_comms.value(), perf.bwd_compute.value(),
          perf.bwd_comms.value(), perf.prefetch_compute.value()};
}

// The estimates of the options in use, each summed over its shards. Empty if the problem is not
// valid or a table has no estimate.
std::vector<ShardCost> estimates(const PlannerLog& log, const LogConstants& constants) {
  embedding::ProblemSpec spec = problem_of_log(log, constants, true);
  const Result<Problem> problem = Problem::make(std::move(spec));
  std::vector<ShardCost> sums;
  if (!problem.ok()) return sums;
  const embedding::Estimator estimator(*problem);
  for (std::size_t i = 0; i < log.tables.size(); ++i) {
    ShardingOption option;
    option.table = TableId(static_cast<std::uint32_t>(i));
    option.sharding_type = log.tables[i].sharding_type;
    option.compute_kernel = log.tables[i].compute_kernel;
    option.load_factor = log.tables[i].load_factor;
    const embedding::Table& table = problem->table(option.table);
    const embedding::ShardLayout layout =
        shard_layout(table, tensor_shape(table, problem->spec().sharder.type), option.sharding_type,
                     problem->topology());
    option.layout = &layout;
    Result<ShardingOption> estimated = estimator.estimate(std::move(option));
    if (!estimated.ok()) return {};
    Perf perf;
    for (std::size_t e = 0; e < layout.extents.size(); ++e) {
      const double count = layout.extents[e].count;
      const std::array<double, 5> part = parts_of(estimated->costs[e].perf);
      perf += {Milliseconds(count * part[0]), Milliseconds(count * part[1]),
               Milliseconds(count * part[2]), Milliseconds(count * part[3]),
               Milliseconds(count * part[4])};
    }
    sums.push_back({estimated->total_storage(), perf});
  }
  return sums;
}

// How far the printed inputs and outputs of a sample may be off, as a part of them.
double input_error(const LoggedTable& table) {
  const auto error = [](double value) { return value > 0 ? kPrintedHalfUnit / value : 0; };
  return error(table.num_indices) + error(table.num_poolings);
}

// A part of a table's time is memory / memory_bw + intra / intra_host_bw + inter / inter_host_bw.
struct Sizes {
  std::array<double, 5> memory, intra, inter;  // bytes by part
};

// The sizes of all tables, from estimates in which one bandwidth is 1 byte per ms.
std::vector<Sizes> sizes_of(const PlannerLog& log, LogConstants constants) {
  std::vector<Sizes> sizes(log.tables.size());
  for (const int which : {0, 1, 2}) {
    constants.memory_bw = which == 0 ? 1 : kFast;
    constants.intra_host_bw = which == 1 ? 1 : kFast;
    constants.inter_host_bw = which == 2 ? 1 : kFast;
    const std::vector<ShardCost> costs = estimates(log, constants);
    if (costs.size() != sizes.size()) return {};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::array<double, 5>& out = which == 0   ? sizes[i].memory
                                   : which == 1 ? sizes[i].intra
                                                : sizes[i].inter;
      out = parts_of(costs[i].perf);
      for (double& size : out)
        if (size < 1) size = 0;  // what the fast transfers take
    }
  }
  return sizes;
}

// Intervals of a reciprocal bandwidth, in ms per byte.
class Votes {
 public:
  void add(double low, double high) {
    if (!(high > 0)) return;
    ends_.emplace_back(std::max(low, 0.0) * (1 - kSlack), 1);
    ends_.emplace_back(high * (1 + kSlack), -1);
  }
  // Returns the interval that the most intervals contain.
  std::optional<std::pair<double, double>> winner() {
    if (ends_.empty()) return std::nullopt;
    std::sort(ends_.begin(), ends_.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    int now = 0;
    int most = 0;
    std::pair<double, double> best;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      now += ends_[i].second;
      if (now <= most) continue;
      most = now;
      best = {ends_[i].first, ends_[i + 1].first};
    }
    return best;
  }

 private:
  static constexpr double kSlack = 1e-6;  // of rounding in estimates
  std::vector<std::pair<double, int>> ends_;
};

// Returns the roundest bandwidth whose reciprocal is within the interval: TorchRec's default, then
// multiples of ever smaller steps in GiB/s and GB/s.
double round_bandwidth(std::pair<double, double> interval, double usual) {
  const double low = 1 / interval.second;
  const double high =
      interval.first > 0 ? 1 / interval.first : std::numeric_limits<double>::infinity();
  if (usual >= low && usual <= high) return usual;
  for (const double step : {100.0, 50.0, 10.0, 5.0, 1.0, 0.5, 0.25, 0.1, 0.05, 0.01}) {
    for (const double unit : {0x1p30 / 1000, 1e9 / 1000}) {
      const double rounded = std::ceil(low / (step * unit)) * step * unit;
      if (rounded <= high) return rounded;
    }
  }
  return 2 / (interval.first + interval.second);
}

// Infers the bandwidths for one combination of data types, and counts the tables that agree.
class Hypothesis {
 public:
  Hypothesis(const PlannerLog& log, const KnownConstants& known, const LogConstants& constants)
      : log_(log), known_(known), constants_(constants), sizes_(sizes_of(log, constants)) {}

  bool is_valid() const { return !sizes_.empty(); }
  const LogConstants& constants() const { return constants_; }
  bool has_memory() const { return has_[0]; }
  bool has_intra() const { return has_[1]; }
  bool has_inter() const { return has_[2]; }

  void infer() {
    const embedding::TopologySpec usual;
    // Communication is printed alone; tables that use both links come second.
    for (const bool both : {false, true}) {
      infer_link(both, false, known_.inter_host_bw, usual.inter_host_bw, constants_.inter_host_bw);
      infer_link(both, true, known_.intra_host_bw, usual.intra_host_bw, constants_.intra_host_bw);
    }
    infer_memory();
  }

  // The number of tables whose printed time agrees, and then the sum of the deviations.
  std::pair<std::size_t, double> score() const {
    std::pair<std::size_t, double> score{0, 0};
    for (std::size_t i = 0; i < log_.tables.size(); ++i) {
      const LoggedTable& table = log_.tables[i];
      double total = 0;
      for (std::size_t part = 0; part < 5; ++part)
        total += time(i, part);
      const double off = std::abs(total - table.time.total) - kPrintedHalfUnit;
      const double relative = std::max(0.0, off) / std::max(table.time.total, kPrintedHalfUnit);
      if (relative <= kTolerance + input_error(table)) ++score.first;
      score.second += std::min(relative, 1.0);
    }
    return score;
  }

 private:
  static constexpr std::array<std::size_t, 2> kComms{1, 3};

  double time(std::size_t i, std::size_t part) const {
    return sizes_[i].memory[part] / constants_.memory_bw +
           sizes_[i].intra[part] / constants_.intra_host_bw +
           sizes_[i].inter[part] / constants_.inter_host_bw;
  }

  void infer_link(bool both, bool is_intra, const std::optional<double>& given, double usual,
                  double& out) {
    bool& has = has_[is_intra ? 1 : 2];
    if (given) out = *given;
    if (given || has) return;
    Votes votes;
    for (std::size_t i = 0; i < log_.tables.size(); ++i) {
      const LoggedTable& table = log_.tables[i];
      for (const std::size_t part : kComms) {
        const double own = is_intra ? sizes_[i].intra[part] : sizes_[i].inter[part];
        const double other = is_intra ? sizes_[i].inter[part] : sizes_[i].intra[part];
        if (own == 0 || (other > 0) != both || (part == 3 && sizes_[i].memory[part] > 0)) continue;
        const double other_bw = is_intra ? constants_.inter_host_bw : constants_.intra_host_bw;
        const double alone = table.time.parts[part] - other / other_bw;
        const double off =
            table.time.half_units[part] + table.time.parts[part] * input_error(table);
        votes.add((alone - off) / own, (alone + off) / own);
      }
    }
    const auto interval = votes.winner();
    if (!interval) return;
    has = true;
    out = round_bandwidth(*interval, usual);
  }

  void infer_memory() {
    if (known_.memory_bw) constants_.memory_bw = *known_.memory_bw;
    if (known_.memory_bw) return;
    Votes votes;
    for (std::size_t i = 0; i < log_.tables.size(); ++i) {
      const LoggedTable& table = log_.tables[i];
      const ComputeKernel kernel = table.compute_kernel;
      if (kernel != ComputeKernel::kFused && kernel != ComputeKernel::kDense) continue;
      double links = 0;
      double bytes = 0;
      for (std::size_t part = 0; part < 5; ++part) {
        bytes += sizes_[i].memory[part];
        links += sizes_[i].intra[part] / constants_.intra_host_bw +
                 sizes_[i].inter[part] / constants_.inter_host_bw;
      }
      if (!(bytes > 0)) continue;
      const double off = kPrintedHalfUnit + table.time.total * input_error(table);
      votes.add((table.time.total - links - off) / bytes, (table.time.total - links + off) / bytes);
    }
    const auto interval = votes.winner();
    if (!interval) return;
    has_[0] = true;
    constants_.memory_bw = round_bandwidth(*interval, default_memory_bw(log_));
  }

  const PlannerLog& log_;
  const KnownConstants& known_;
  LogConstants constants_;
  std::vector<Sizes> sizes_;
  std::array<bool, 3> has_{};  // memory, intra, inter: the log tells it
};

// The log with every so many of its tables, at most kMostSampled.
PlannerLog sample_of(const PlannerLog& log) {
  const std::size_t step = (log.tables.size() + kMostSampled - 1) / kMostSampled;
  PlannerLog sample = log;
  sample.tables.clear();
  for (std::size_t i = 0; i < log.tables.size(); i += step)
    sample.tables.push_back(log.tables[i]);
  return sample;
}

// A host-wise table fills a host, and a table_column_wise one stays on a host.
Result<std::int64_t> ranks_per_host(const PlannerLog& log, const KnownConstants& known,
                                    InferredFrom& from) {
  constexpr std::int64_t kUsual = 8;
  const auto world = static_cast<std::int64_t>(log.ranks.size());
  std::int64_t hosts = known.ranks_per_host.value_or(0);
  from = hosts == 0 ? InferredFrom::kDefault : InferredFrom::kFlag;
  for (const LoggedTable& table : log.tables) {
    const bool is_grid = table.sharding_type == ShardingType::kGridShard;
    if (table.sharding_type != ShardingType::kTableRowWise && !is_grid) continue;
    const std::int64_t blocks = is_grid ? table.columns / table.shard_columns : 1;
    const std::int64_t host = static_cast<std::int64_t>(table.ranks.size()) / blocks;
    if (hosts != 0 && hosts != host) {
      return invalid_input(
          from == InferredFrom::kFlag ? "ranks_per_host" : "line " + std::to_string(table.line),
          "table " + quoted(table.name) + " of line " + std::to_string(table.line) +
              " fills hosts of " + std::to_string(host) + " ranks, not of " +
              std::to_string(hosts));
    }
    if (hosts == 0) from = InferredFrom::kLog;
    hosts = host;
  }
  if (hosts != 0) return hosts;
  if (world <= kUsual) return world;
  const auto stays = [&](std::int64_t host) {
    return std::all_of(log.tables.begin(), log.tables.end(), [&](const LoggedTable& table) {
      return table.sharding_type != ShardingType::kTableColumnWise ||
             table.ranks.front() / host == table.ranks.back() / host;
    });
  };
  std::int64_t host = world % kUsual == 0 ? kUsual : world;
  while (host < world && (!stays(host) || world % host != 0))
    host *= 2;
  return std::min(host, world);
}

// Returns the median and the worst of the deviations.
void summarise(std::vector<double> deviations, FitOfColumn& column) {
  if (deviations.empty()) return;
  const auto middle = deviations.begin() + static_cast<std::ptrdiff_t>(deviations.size() / 2);
  std::nth_element(deviations.begin(), middle, deviations.end());
  column.median = *middle;
  column.worst = *std::max_element(deviations.begin(), deviations.end());
}

// The relative deviation beyond the printed digits.
double deviation(double estimate, double printed, double half_unit) {
  const double off = std::max(0.0, std::abs(estimate - printed) - half_unit);
  const double scale = std::max(printed, half_unit);
  if (off > 0) return scale > 0 ? off / scale : 1;
  return 0;
}

// Fills the columns of the fit from the estimates of all tables.
void compare(const PlannerLog& log, const std::vector<ShardCost>& costs, LogFit& fit) {
  constexpr double kFewDigits = 0.02;  // a column with a larger unit tells nothing
  std::array<std::vector<double>, 4> deviations;
  const std::array<FitOfColumn*, 4> columns{&fit.compute, &fit.communication, &fit.total,
                                            &fit.memory};
  fit.follows.assign(log.tables.size(), false);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const LoggedTable& table = log.tables[i];
    const std::array<double, 5> parts = parts_of(costs[i].perf);
    const embedding::Storage storage = costs[i].storage;
    const auto gib = static_cast<double>((storage.hbm + storage.ddr).value()) / 0x1p30;
    const double printed_gib = table.storage_gib.hbm + table.storage_gib.ddr;
    const LoggedTime& time = table.time;
    double total = 0;
    for (const double part : parts)
      total += part;
    const auto note = [&](std::size_t column, double estimate, double printed, double half_unit) {
      const double off = deviation(estimate, printed, half_unit + printed * input_error(table));
      if (half_unit <= kFewDigits * printed) deviations[column].push_back(off);
      if (off > kTolerance) columns[column]->not_followed.push_back(i);
      return off <= kTolerance;
    };
    note(0, parts[0] + parts[2], time.parts[0] + time.parts[2],
         time.half_units[0] + time.half_units[2]);
    note(1, parts[1] + parts[3], time.parts[1] + time.parts[3],
         time.half_units[1] + time.half_units[3]);
    const bool has_time = note(2, total, time.total, kPrintedHalfUnit);
    fit.follows[i] = note(3, gib, printed_gib, 2 * kPrintedHalfUnit) && has_time;
  }
  for (std::size_t column = 0; column < columns.size(); ++column)
    summarise(std::move(deviations[column]), *columns[column]);
}

// Chooses the optimizer and the pipeline whose memory the most tables agree with.
void infer_memory_parts(const PlannerLog& log, LogConstants& constants) {
  using embedding::Optimizer;
  using embedding::PipelineType;
  LogConstants best = constants;
  double least = std::numeric_limits<double>::infinity();
  for (const Optimizer optimizer :
       {Optimizer::kUnset, Optimizer::kRowWiseAdagrad, Optimizer::kAdam, Optimizer::kAdagrad}) {
    for (const PipelineType pipeline : {PipelineType::kNone, PipelineType::kTrainSparseDist,
                                        PipelineType::kTrainPrefetchSparseDist}) {
      LogConstants tried = constants;
      tried.optimizer = optimizer;
      tried.pipeline_type = pipeline;
      double sum = 0;
      const std::vector<ShardCost> costs = estimates(log, tried);
      for (std::size_t i = 0; i < costs.size(); ++i) {
        const LoggedTable& table = log.tables[i];
        const embedding::Storage storage = costs[i].storage;
        const auto gib = static_cast<double>((storage.hbm + storage.ddr).value()) / 0x1p30;
        sum += std::min(1.0, deviation(gib, table.storage_gib.hbm + table.storage_gib.ddr,
                                       2 * kPrintedHalfUnit));
      }
      if (costs.empty() || !(sum < least - 1e-9)) continue;
      least = sum;
      best = tried;
    }
  }
  constants = best;
}

// All combinations to try, the usual ones first: of equally good ones the first is taken.
std::vector<LogConstants> combinations(const PlannerLog& log, const KnownConstants& known,
                                       LogConstants constants) {
  const auto choices = [](const std::optional<DataType>& given) {
    return given ? std::vector<DataType>{*given}
                 : std::vector<DataType>{DataType::kFp32, DataType::kFp16, DataType::kInt8};
  };
  const bool has_reduction =
      std::any_of(log.tables.begin(), log.tables.end(), [](const LoggedTable& table) {
        return (table.sharding_type == ShardingType::kRowWise && table.is_pooled) ||
               table.sharding_type == ShardingType::kTableRowWise ||
               table.sharding_type == ShardingType::kGridShard;
      });
  std::vector<LogConstants> all;
  for (const auto release :
       {embedding::TorchRecRelease::k1_9_2, embedding::TorchRecRelease::kA48cef79}) {
    constants.release = release;
    for (const DataType weights : choices(known.weights)) {
      constants.weights = weights;
      // Without codecs first.
      std::vector<DataType> widths = choices(known.communication);
      std::stable_partition(widths.begin(), widths.end(),
                            [&](DataType type) { return type == weights; });
      for (const DataType forward : widths) {
        for (const DataType backward : widths) {
          constants.forward = forward;
          constants.backward = backward;
          for (const DataType reduction :
               has_reduction ? choices(known.reduction)
                             : std::vector<DataType>{known.reduction.value_or(DataType::kFp32)}) {
            constants.reduction = reduction;
            all.push_back(constants);
          }
        }
      }
    }
  }
  return all;
}

}  // namespace

bool LogFit::explains() const {
  const auto agreeing = std::count(follows.begin(), follows.end(), true);
  return static_cast<double>(agreeing) >= kEnough * static_cast<double>(follows.size());
}

Result<LogFit> fit_log(const PlannerLog& log, const KnownConstants& known, const Budget& budget) {
  LogFit fit;
  LogConstants constants;
  constants.memory_bw = default_memory_bw(log);
  SHARDWRIGHT_ASSIGN_OR_RETURN(constants.ranks_per_host,
                               ranks_per_host(log, known, fit.from.ranks_per_host));
  const PlannerLog sample = sample_of(log);
  std::pair<std::size_t, double> best{0, std::numeric_limits<double>::infinity()};
  bool has_reduction = false;
  fit.constants = constants;
  const std::vector<LogConstants> all = combinations(log, known, constants);
  for (const LogConstants& tried : all) {
    if (budget.interrupted())
      return Error{ErrorCode::kStopped, "stopped while costs were inferred", ""};
    has_reduction = has_reduction || tried.reduction != all.front().reduction;
    Hypothesis hypothesis(sample, known, tried);
    if (!hypothesis.is_valid()) continue;
    hypothesis.infer();
    const std::pair<std::size_t, double> score = hypothesis.score();
    const bool better = score.first > best.first ||
                        (score.first == best.first && score.second < best.second * (1 - 1e-6));
    if (!better) continue;
    best = score;
    fit.constants = hypothesis.constants();
    const auto source = [](bool is_given, bool is_in_log) {
      return is_given    ? InferredFrom::kFlag
             : is_in_log ? InferredFrom::kLog
                         : InferredFrom::kDefault;
    };
    fit.from.memory_bw = source(known.memory_bw.has_value(), hypothesis.has_memory());
    fit.from.intra_host_bw = source(known.intra_host_bw.has_value(), hypothesis.has_intra());
    fit.from.inter_host_bw = source(known.inter_host_bw.has_value(), hypothesis.has_inter());
    fit.from.weights = source(known.weights.has_value(), hypothesis.has_memory());
    fit.from.communication =
        source(known.communication.has_value(), hypothesis.has_intra() || hypothesis.has_inter());
  }
  fit.from.reduction = known.reduction ? InferredFrom::kFlag
                       : has_reduction ? InferredFrom::kLog
                                       : InferredFrom::kDefault;
  infer_memory_parts(sample, fit.constants);
  compare(log, estimates(log, fit.constants), fit);
  return fit;
}

}  // namespace shardwright
