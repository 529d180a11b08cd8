#include "search/operators/autoshard/elimination.h"

#include <limits>

#include "core/check.h"

namespace shardwright::operators::autoshard {
namespace {

constexpr std::size_t kPairEntries = 9;
constexpr std::uint64_t kManyCounts = std::numeric_limits<std::uint64_t>::max();

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return a > kManyCounts - b ? kManyCounts : a + b;
}

// Precondition: neither is 0.
std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) {
  return a > kManyCounts / b ? kManyCounts : a * b;
}

std::size_t missing_pairs(const InteractionGraph& graph, std::uint32_t variable) {
  const auto& scope = graph.neighbours(variable);
  std::size_t missing = 0;
  for (std::size_t i = 0; i < scope.size(); ++i) {
    for (std::size_t j = i + 1; j < scope.size(); ++j)
      missing += graph.adjacent(scope[i], scope[j]) ? 0U : 1U;
  }
  return missing;
}

}  // namespace

std::optional<std::uint32_t> Elimination::run(const PairwiseModel& model) {
  model_ = &model;
  sizes_.clear();
  sizes_.reserve(model.variables().size());
  for (const PairwiseModel::Variable& variable : model.variables())
    sizes_.push_back(variable.size);
  if (choose_order(Rule::kFewestNeighbours)) {
    if (const auto too_wide = choose_order(Rule::kFewestNewPairs)) return too_wide;
  }
  fill_pair_tables();
  buckets_.build(order_, sizes_, pairs_);
  if (costs_.size() < buckets_.num_entries()) {
    costs_.resize(buckets_.num_entries());
    counts_.resize(buckets_.num_entries());
  }
  optimum_ = 0;
  num_optimal_ = 1;
  for (const Buckets::Bucket& bucket : buckets_.list()) {
    fill_message(bucket);
    if (bucket.parent != Buckets::kNone) continue;
    optimum_ += costs_[bucket.first_message];
    num_optimal_ = saturating_multiply(num_optimal_, counts_[bucket.first_message]);
  }
  return std::nullopt;
}

// Returns the variable at which there are too many states, or nothing.
std::optional<std::uint32_t> Elimination::choose_order(Rule rule) {
  InteractionGraph& graph = order_.graph();
  graph.reset(sizes_.size());
  for (const PairwiseModel::Pair& pair : model_->pairs()) {
    graph.add_neighbour(pair.first, pair.second);
    graph.add_neighbour(pair.second, pair.first);
  }
  graph.sort();
  std::size_t total = 0;
  std::optional<std::uint32_t> too_wide;
  const auto admit = [&](std::uint32_t variable, const ScoreQueue&) -> EliminationOrder::Decision {
    std::size_t states = 1;
    for (const std::uint32_t neighbour : graph.neighbours(variable)) {
      states *= sizes_[neighbour];
      if (states > kMaxStates) break;
    }
    total += states;
    if (total <= kMaxStates) return {};
    too_wide = variable;
    return {EliminationOrder::Step::kStop};
  };
  if (rule == Rule::kFewestNeighbours) {
    const auto degree = [&](std::uint32_t v) {
      return static_cast<double>(graph.neighbours(v).size());
    };
    order_.choose(EliminationOrder::ScoreReach::kNeighbours, degree, admit);
  } else {
    const auto fill = [&](std::uint32_t v) { return static_cast<double>(missing_pairs(graph, v)); };
    order_.choose(EliminationOrder::ScoreReach::kNeighboursOfThese, fill, admit);
  }
  return too_wide;
}

// The variable that is eliminated first runs fastest.
void Elimination::fill_pair_tables() {
  const auto& pairs = model_->pairs();
  pairs_.clear();
  pairs_.reserve(pairs.size());
  pair_costs_.resize(pairs.size() * kPairEntries);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const PairwiseModel::Pair& pair = pairs[p];
    const std::uint32_t rows = sizes_[pair.first], columns = sizes_[pair.second];
    const bool first = order_.position(pair.first) < order_.position(pair.second);
    pairs_.push_back({pair.first, pair.second});
    std::int64_t* table = pair_costs_.data() + p * kPairEntries;
    for (std::uint32_t i = 0; i < rows; ++i) {
      for (std::uint32_t j = 0; j < columns; ++j)
        table[first ? j * rows + i : i * columns + j] = pair.costs[3 * i + j];
    }
  }
}

void Elimination::start(const Buckets::Bucket& bucket) {
  const auto factors = buckets_.factors(bucket);
  sum_.start(buckets_.shape(bucket), model_->variables()[bucket.variable].costs.data(),
             [&](std::size_t f) {
               return factors[f].is_message
                          ? costs_.data() + buckets_[factors[f].source].first_message
                          : pair_costs_.data() + factors[f].source * kPairEntries;
             });
}

void Elimination::fill_message(const Buckets::Bucket& bucket) {
  start(bucket);
  for (std::size_t entry = 0; entry < bucket.entries; ++entry, sum_.advance()) {
    const auto sums = sum_.sums();
    std::int64_t least = sums[0];
    for (std::size_t value = 1; value < sums.size(); ++value)
      least = std::min(least, sums[value]);
    std::uint64_t count = 0;
    for (std::size_t value = 0; value < sums.size(); ++value) {
      if (sums[value] == least) count = saturating_add(count, count_of(bucket, value));
    }
    costs_[bucket.first_message + entry] = least;
    counts_[bucket.first_message + entry] = count;
  }
}

// At the present assignment: the number of optimal assignments of everything eliminated behind the
// bucket if its variable takes the value.
std::uint64_t Elimination::count_of(const Buckets::Bucket& bucket, std::size_t value) const {
  std::uint64_t count = 1;
  if (bucket.num_children == 0) return count;
  const auto factors = buckets_.factors(bucket);
  for (std::size_t f = 0; f < factors.size(); ++f) {
    if (!factors[f].is_message) continue;
    const auto at = static_cast<std::size_t>(sum_.row(f) - costs_.data());
    count = saturating_multiply(count, counts_[at + value]);
  }
  return count;
}

// The cost of a value beyond the entry of the message is what the whole assignment loses by it. The
// losses of all variables add up to cost - optimum.
std::span<const std::uint8_t> Elimination::select(std::int64_t slack) {
  SHARDWRIGHT_CHECK(slack >= 0);
  chosen_.assign(buckets_.size(), 0);
  for (std::size_t b = buckets_.size(); b-- > 0;) {
    const Buckets::Bucket& bucket = buckets_[b];
    const auto separator = buckets_.separator(bucket);
    std::size_t entry = 0;
    for (const std::uint32_t variable : separator)
      entry = entry * sizes_[variable] + chosen_[variable];
    const std::int64_t least = costs_[bucket.first_message + entry];
    start(bucket);
    sum_.seek([&](std::size_t i) { return chosen_[separator[i]]; });
    const auto sums = sum_.sums();
    std::uint8_t value = 0;
    while (sums[value] - least > slack)
      ++value;
    slack -= sums[value] - least;
    chosen_[bucket.variable] = value;
  }
  return chosen_;
}

}  // namespace shardwright::operators::autoshard
