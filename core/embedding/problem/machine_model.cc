#include "core/embedding/problem/machine_model.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace shardwright::embedding {
namespace {

constexpr double kBytesOfOutput = 4;  // FBGEMM sums in FP32
constexpr double kBytesOfLine = 64;
constexpr double kNsPerMs = 1e6;
// The share of a cache that a kernel has for rows, beside indices, results and the stack.
constexpr double kShareOfCache = 0.75;

double row_bytes(const LookupKind& kind, const LookupCall& call) {
  return call.dim * bits(kind.data_type) / 8;
}

// The integral of (1 + x)^-zipf from 0 to `rank`.
double popularity(double rank, double zipf) {
  if (std::abs(zipf - 1) < 1e-9) return std::log1p(rank);
  return std::expm1((1 - zipf) * std::log1p(rank)) / (1 - zipf);
}

// How lookups spread over equal items: ranges of items of equal popularity.
class Popularity {
 public:
  static Popularity uniform(double items) { return Popularity({{items, 1 / items}}); }

  // A row of rank r, from 0, has a share of popularity(r + 1) - popularity(r). `each` rows of
  // neighbouring ranks make one item.
  static Popularity of_rows(double rows, double zipf, double each) {
    if (zipf == 0) return uniform(std::max(1.0, rows / each));
    constexpr double kGrowth = 1.15;  // of the ranges, whose items count as equally popular
    std::vector<Range> ranges;
    for (double first = 0, before = 0; first < rows;) {
      const double last = std::min(rows, std::max(first + 1, std::floor(first * kGrowth)));
      const double share = popular_share(last, rows, zipf);
      ranges.push_back({(last - first) / each, (share - before) / (last - first) * each});
      first = last;
      before = share;
    }
    return Popularity(std::move(ranges));
  }

  // Returns the expected number of distinct items among `draws` draws.
  double distinct(double draws) const {
    double sum = 0;
    for (const Range& range : ranges_)
      sum -= range.items * std::expm1(-draws * range.share);
    return sum;
  }

  // Returns the expected number of items that `draws` draws fetch into a cache of `capacity` items,
  // which is empty at first and drops what was not used for the longest time.
  // Source: Che, Tung, Wang, "Hierarchical Web caching systems", 2002.
  double misses(double draws, double capacity) const {
    const double different = distinct(draws);
    if (different <= capacity) return different;
    // The draws that fill the cache, by Newton's method from the left: the function is concave.
    double filling = capacity;
    double missed = 0;  // share of the draws after that
    for (int round = 0; round < 64; ++round) {
      double held = 0;
      missed = 0;
      for (const Range& range : ranges_) {
        const double unseen = std::exp(-filling * range.share);
        held += range.items * (1 - unseen);
        missed += range.items * range.share * unseen;
      }
      const double step = (capacity - held) / missed;
      if (!(step > 1e-9 * filling)) break;
      filling += step;
    }
    return std::min(draws, std::max(different, capacity + (draws - filling) * missed));
  }

 private:
  struct Range {
    double items;
    double share;  // of all draws, of one item
  };

  explicit Popularity(std::vector<Range> ranges) : ranges_(std::move(ranges)) {}

  std::vector<Range> ranges_;
};

double& term(CostTerms& terms, CostTerm of) { return terms[static_cast<std::size_t>(of)]; }

// Returns the sum of terms times coefficients in ms, without the fixed time of the call.
double part_of_call_ms(const FittedTime& time, const CostTerms& terms) {
  double ns = 0;
  for (std::size_t i = 0; i < kNumCostTerms; ++i) {
    if (i != static_cast<std::size_t>(CostTerm::kCall)) ns += time.ns[i] * terms[i];
  }
  return ns / kNsPerMs;
}

// Bytes of indices, rows and results, as TorchRec counts them.
double moved_bytes(const LookupKind& kind, const LookupCall& call) {
  constexpr double kBytesOfIndex = 8;
  return call.lookups * (kBytesOfIndex + row_bytes(kind, call)) +
         (kind.pooled ? call.bags : call.lookups) * call.dim * kBytesOfOutput;
}

}  // namespace

double popular_share(double most, double rows, double zipf) {
  return most >= rows ? 1 : popularity(most, zipf) / popularity(rows, zipf);
}

CostTerms cost_terms(const LookupKind& kind, const LookupCall& call, const DeviceMemory& memory) {
  const double row = row_bytes(kind, call);
  const double draws = call.lookups;
  const double lines = std::ceil(row / kBytesOfLine);  // of an item: a row, or several in a line
  const double rows_of_item = std::max(1.0, std::floor(kBytesOfLine / row));
  const Popularity rows = Popularity::of_rows(call.rows, call.zipf, 1);
  const Popularity items = Popularity::of_rows(call.rows, call.zipf, rows_of_item);
  const auto missed_by = [&](double cache) {
    return items.misses(draws, kShareOfCache * cache / (kBytesOfLine * lines));
  };
  const CacheSizes& caches = memory.caches;
  const double from_l3 = missed_by(caches.l2);
  const double from_memory = caches.l3 > 0 ? missed_by(caches.l3) : from_l3;
  const double pages = std::max(1.0, call.rows * row / memory.page_bytes);
  constexpr double kPagesOfLine = 8;  // that one cache line of a page table translates
  const double walked = pages / kPagesOfLine;
  const double outputs = kind.pooled ? call.bags : draws;
  const double gradient_lines = std::ceil(call.dim * kBytesOfOutput / kBytesOfLine);
  // Lines of gradients, of which every lookup needs that of its bag.
  const auto gathered = [&](double cache) {
    if (!kind.pooled) return draws * gradient_lines;
    const double capacity = kShareOfCache * cache / (kBytesOfLine * gradient_lines);
    return gradient_lines * Popularity::uniform(call.bags).misses(draws, capacity);
  };
  const double updated = rows.distinct(draws);
  CostTerms terms{};
  term(terms, CostTerm::kTable) = 1;
  term(terms, CostTerm::kLookup) = draws;
  term(terms, CostTerm::kLookupElement) = draws * call.dim;
  term(terms, CostTerm::kBag) = outputs;
  term(terms, CostTerm::kOutputElement) = outputs * call.dim;
  term(terms, CostTerm::kL3Line) = lines * from_l3;
  term(terms, CostTerm::kMemoryLine) = lines * from_memory;
  term(terms, CostTerm::kWalkLine) =
      walked <= 1 ? 1
                  : Popularity::uniform(walked).misses(std::min(draws, from_l3),
                                                       kShareOfCache * caches.l2 / kBytesOfLine);
  term(terms, CostTerm::kPage) = Popularity::uniform(pages).distinct(updated);
  term(terms, CostTerm::kHostByte) = draws * row * (1 - call.hit_rate);
  term(terms, CostTerm::kSortPass) = draws * std::ceil(std::log2(std::max(2.0, call.rows)) / 8);
  term(terms, CostTerm::kRow) = updated;
  const double touched = items.distinct(draws);
  term(terms, CostTerm::kScatteredRow) =
      touched * (1 - touched / std::max(touched, call.rows / rows_of_item));
  term(terms, CostTerm::kRowElement) = updated * call.dim;
  term(terms, CostTerm::kGradientLine) = gathered(caches.l2);
  term(terms, CostTerm::kGradientMemoryLine) = gathered(caches.l3 > 0 ? caches.l3 : caches.l2);
  term(terms, CostTerm::kTableByte) = kind.kernel == ComputeKernel::kDense ? call.rows * row : 0;
  for (double& value : terms)
    value *= call.tables;
  term(terms, CostTerm::kCall) = 1;
  return terms;
}

DeviceMemory MachineSpec::memory() const {
  constexpr double kPageOfGpu = 2 << 20;
  return device == ComputeDevice::kCpu ? DeviceMemory{caches} : DeviceMemory{caches, kPageOfGpu};
}

LookupCall LookupModel::nearest(LookupCall call) const {
  for (std::size_t i = 0; i < kCallSizes.size(); ++i) {
    double& size = call.*kCallSizes[i].member;
    size = std::clamp(size, measured[i].least, measured[i].most);
  }
  return call;
}

bool LookupModel::has_measured(const LookupCall& call) const {
  for (std::size_t i = 0; i < kCallSizes.size(); ++i) {
    if (!measured[i].has(call.*kCallSizes[i].member)) return false;
  }
  return true;
}

double MeasuredCollective::us(double size) const {
  return latency_us + us_per_byte_below * std::min(size, knee_bytes) +
         us_per_byte_above * std::max(0.0, size - knee_bytes);
}

const LookupModel* MachineModel::find(const LookupKind& kind) const {
  const auto kernel = [](const LookupKind& own) {
    return std::tuple(own.kernel, own.data_type, own.weighted, own.pooled);
  };
  for (const LookupModel& model : spec_.lookups) {
    const bool has_optimizer = kind.optimizer.empty() || kind.optimizer == model.kind.optimizer;
    if (has_optimizer && kernel(model.kind) == kernel(kind)) return &model;
  }
  return nullptr;
}

const MeasuredCollective* MachineModel::find(Collective operation, LinkScope scope,
                                             std::int64_t ranks) const {
  for (const MeasuredCollective& model : spec_.collectives) {
    if (model.operation == operation && model.scope == scope && model.ranks == ranks) return &model;
  }
  return nullptr;
}

LookupTimes MachineModel::times(const LookupModel& model, const LookupCall& call) const {
  if (call.lookups <= 0 || call.rows <= 0 || call.dim <= 0) return {};
  const LookupCall nearest = model.nearest(call);
  const double grown = moved_bytes(model.kind, call) / moved_bytes(model.kind, nearest);
  const CostTerms terms = cost_terms(model.kind, nearest, spec_.memory());
  LookupTimes times;
  times.forward_ms = part_of_call_ms(model.forward, terms) * grown;
  if (model.backward) times.backward_ms = part_of_call_ms(*model.backward, terms) * grown;
  return times;
}

namespace {

Status check_number(double value, const std::string& where) {
  if (std::isfinite(value) && value >= 0) return {};
  return invalid_input(where, "must be a finite number, 0 or above");
}

Status check_time(const FittedTime& time, const std::string& where) {
  for (std::size_t i = 0; i < kNumCostTerms; ++i) {
    const std::string name(EnumNames<CostTerm>::kNames[i]);
    SHARDWRIGHT_RETURN_IF_ERROR(check_number(time.ns[i], where + "/ns/" + name));
  }
  return {};
}

Status check_lookup(const LookupModel& model, const std::string& where) {
  for (std::size_t i = 0; i < kCallSizes.size(); ++i) {
    const MeasuredRange& range = model.measured[i];
    const bool may_be_0 = kCallSizes[i].member == &LookupCall::zipf;
    const bool is_range = may_be_0 ? range.least >= 0 : range.least > 0;
    if (is_range && range.least <= range.most && std::isfinite(range.most)) continue;
    return invalid_input(where + "/measured/" + std::string(kCallSizes[i].name),
                         "must be a range of finite numbers above 0");
  }
  SHARDWRIGHT_RETURN_IF_ERROR(check_time(model.forward, where + "/forward"));
  return model.backward ? check_time(*model.backward, where + "/backward") : Status();
}

Status check_collective(const MeasuredCollective& model, const std::string& where) {
  if (model.ranks < 2) return invalid_input(where + "/ranks", "must be at least 2");
  SHARDWRIGHT_RETURN_IF_ERROR(check_number(model.latency_us, where + "/latency_us"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_number(model.knee_bytes, where + "/knee_bytes"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_number(model.us_per_byte_below, where + "/us_per_byte_below"));
  return check_number(model.us_per_byte_above, where + "/us_per_byte_above");
}

}  // namespace

Result<MachineModel> MachineModel::make(MachineSpec spec) {
  constexpr std::int64_t kMostMemory = std::int64_t{1} << 53;
  if (spec.name.empty()) return invalid_input("/machine/name", "must not be empty");
  if (spec.memory_bytes < 1 || spec.memory_bytes > kMostMemory)
    return invalid_input("/machine/memory", "must be between 1 and 2^53 bytes");
  SHARDWRIGHT_RETURN_IF_ERROR(check_number(spec.caches.l2, "/machine/caches/l2"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_number(spec.caches.l3, "/machine/caches/l3"));
  MachineModel model(std::move(spec));
  const auto& [lookups, collectives] = std::tie(model.spec_.lookups, model.spec_.collectives);
  for (std::size_t i = 0; i < lookups.size(); ++i) {
    const std::string where = "/embedding/models/" + std::to_string(i);
    SHARDWRIGHT_RETURN_IF_ERROR(check_lookup(lookups[i], where));
    for (std::size_t j = 0; j < i; ++j) {
      if (lookups[i].kind == lookups[j].kind)
        return invalid_input(where, "has the kernel of model " + std::to_string(j));
    }
  }
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    const std::string where = "/collectives/models/" + std::to_string(i);
    const MeasuredCollective& own = collectives[i];
    SHARDWRIGHT_RETURN_IF_ERROR(check_collective(own, where));
    if (model.find(own.operation, own.scope, own.ranks) != &own)
      return invalid_input(where, "is of a collective that has a model");
  }
  return model;
}

// Source: EmbOptimType, fbgemm_gpu/split_embedding_configs.py.
std::string_view fbgemm_name(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kSgd:
      return "exact_sgd";
    case Optimizer::kAdam:
      return "adam";
    case Optimizer::kAdagrad:
      return "exact_adagrad";
    case Optimizer::kRowWiseAdagrad:
      return "exact_row_wise_adagrad";
    case Optimizer::kOther:
      return "other";
    case Optimizer::kUnset:
      break;
  }
  return "";
}

}  // namespace shardwright::embedding
