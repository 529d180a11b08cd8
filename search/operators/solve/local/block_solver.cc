// Bucket elimination over a block of nodes, with prices raised where memory is exceeded.
#include "search/operators/solve/local/block_solver.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/random.h"

namespace shardwright::operators {
namespace {

// How often prices are raised before a block is given up.
constexpr int kMaxAttempts = 5;
// By how much a raise exceeds the price at which what was found would not pay.
constexpr double kOvershoot = 1.3;
// Of so many variables drawn, the heaviest stays outside.
constexpr int kDraws = 6;

std::uint32_t heaviest(const std::vector<double>& weight, const std::vector<std::uint8_t>& gone,
                       RandomGenerator& random) {
  std::uint32_t most = ~std::uint32_t{0};
  for (int draw = 0; draw < kDraws; ++draw) {
    std::uint32_t v = random.remainder(weight.size());
    while (gone[v] != 0)
      v = v + 1 == weight.size() ? 0 : v + 1;
    if (most == ~std::uint32_t{0} || weight[v] > weight[most]) most = v;
  }
  return most;
}

// Smallest sum of two columns.
double least_sum(const double* a, const double* b, std::size_t size) {
  double least = kForbidden, other = kForbidden;
  std::size_t i = 0;
  for (; i + 1 < size; i += 2) {
    least = std::min(least, a[i] + b[i]);
    other = std::min(other, a[i + 1] + b[i + 1]);
  }
  if (i < size) least = std::min(least, a[i] + b[i]);
  return std::min(least, other);
}

}  // namespace

BlockSolver::BlockSolver(const ChoiceGraph& graph, std::size_t max_table)
    : graph_(graph), max_table_(max_table), local_(graph.num_nodes(), kOutside) {}

void BlockSolver::add_boundary(const SearchState& state, std::span<const std::uint32_t> start,
                               std::uint32_t v) {
  Variable& variable = variables_[v];
  const std::uint32_t n = variable.node, size = graph_.num_strategies(n);
  const double* priced = state.priced.data() + graph_.first_strategy(n);
  column_.assign(priced, priced + size);
  work_ += size;
  for (const ChoiceGraph::Arc& arc : graph_.arcs(n)) {
    if (local_[arc.node] != kOutside) continue;
    const double* row = graph_.row(n, arc, start[arc.node]);
    for (std::uint32_t s = 0; s < size; ++s)
      column_[s] += row[s];
    work_ += size;
  }
  variable.first = static_cast<std::uint32_t>(base_.size());
  for (std::uint32_t s = 0; s < size; ++s) {
    if (column_[s] == kForbidden) continue;
    if (s == start[n]) {
      variable.current = static_cast<std::uint32_t>(base_.size()) - variable.first;
    }
    base_.push_back(column_[s]);
    strategy_.push_back(s);
  }
  variable.size = static_cast<std::uint32_t>(base_.size()) - variable.first;
}

bool BlockSolver::load(const SearchState& state, std::span<const std::uint32_t> start,
                       std::span<const std::uint32_t> nodes) {
  variables_.clear();
  base_.clear();
  strategy_.clear();
  for (const std::uint32_t n : nodes) {
    local_[n] = static_cast<std::uint32_t>(variables_.size());
    variables_.push_back({n, 0, 0, 0, kOutside, 0});
  }
  const std::size_t count = variables_.size();
  for (std::uint32_t v = 0; v < count; ++v)
    add_boundary(state, start, v);
  if (neighbors_.size() < count) {
    neighbors_.resize(count);
    bucket_.resize(count);
    scope_of_.resize(count);
  }
  for (std::uint32_t v = 0; v < count; ++v) {
    neighbors_[v].clear();
    bucket_[v].clear();
    for (const ChoiceGraph::Arc& arc : graph_.arcs(variables_[v].node)) {
      if (local_[arc.node] != kOutside) neighbors_[v].push_back(local_[arc.node]);
    }
    std::sort(neighbors_[v].begin(), neighbors_[v].end());
  }
  return std::any_of(variables_.begin(), variables_.end(),
                     [](const Variable& variable) { return variable.size > 1; });
}

// Repeatedly takes the variable whose table would be smallest; where that is too large, the one
// with the largest, but for chance, stays outside.
void BlockSolver::order(std::uint64_t key) {
  const std::size_t count = variables_.size();
  sequence_.clear();
  std::vector<double>& weight = partial_;
  weight.assign(count, 0.0);
  const auto weigh = [&](std::uint32_t v) {
    double product = static_cast<double>(variables_[v].size);
    for (const std::uint32_t w : neighbors_[v])
      product *= static_cast<double>(variables_[w].size);
    weight[v] = product;
  };
  for (std::uint32_t v = 0; v < count; ++v)
    weigh(v);
  RandomGenerator random(key);
  const auto leave = [&](std::uint32_t v) {
    for (const std::uint32_t w : neighbors_[v]) {
      auto& list = neighbors_[w];
      list.erase(std::lower_bound(list.begin(), list.end(), v));
    }
  };
  std::vector<std::uint8_t> gone(count, 0);
  std::vector<std::uint32_t> joined;
  for (std::size_t left = count; left > 0; --left) {
    std::uint32_t least = kOutside;
    for (std::uint32_t v = 0; v < count; ++v) {
      if (gone[v] == 0 && (least == kOutside || weight[v] < weight[least])) least = v;
    }
    const bool fits = weight[least] <= static_cast<double>(max_table_);
    const std::uint32_t v = fits ? least : heaviest(weight, gone, random);
    gone[v] = 1;
    leave(v);
    if (fits) {
      variables_[v].position = static_cast<std::uint32_t>(sequence_.size());
      sequence_.push_back(v);
      scope_of_[v] = neighbors_[v];
      for (const std::uint32_t w : neighbors_[v]) {
        joined.clear();
        std::set_union(neighbors_[w].begin(), neighbors_[w].end(), neighbors_[v].begin(),
                       neighbors_[v].end(), std::back_inserter(joined));
        joined.erase(std::lower_bound(joined.begin(), joined.end(), w));
        neighbors_[w] = joined;
      }
    }
    for (const std::uint32_t w : neighbors_[v])
      weigh(w);
  }
  // Variables that stayed outside are constants; those that were eliminated before them still name
  // them.
  for (const std::uint32_t v : sequence_) {
    std::vector<std::uint32_t>& scope = scope_of_[v];
    std::erase_if(scope, [&](std::uint32_t w) { return variables_[w].position == kOutside; });
    std::sort(scope.begin(), scope.end(), [&](std::uint32_t a, std::uint32_t b) {
      return variables_[a].position > variables_[b].position;
    });
  }
}

// Pairs within the block; pairs with a variable that stayed outside go to the base costs.
void BlockSolver::make_tables() {
  tables_.clear();
  scopes_.clear();
  entries_.clear();
  for (const std::uint32_t v : sequence_) {
    const Variable& variable = variables_[v];
    for (const ChoiceGraph::Arc& arc : graph_.arcs(variable.node)) {
      const std::uint32_t w = local_[arc.node];
      if (w == kOutside) continue;
      const Variable& other = variables_[w];
      const std::uint32_t* own = strategy_.data() + variable.first;
      if (other.position == kOutside) {
        const double* row = graph_.row(variable.node, arc, strategy_[other.first + other.current]);
        for (std::uint32_t i = 0; i < variable.size; ++i)
          base_[variable.first + i] += row[own[i]];
        continue;
      }
      if (other.position < variable.position) continue;
      bucket_[v].push_back(static_cast<std::uint32_t>(tables_.size()));
      tables_.push_back({static_cast<std::uint32_t>(scopes_.size()), 2, entries_.size()});
      scopes_.push_back(w);
      scopes_.push_back(v);
      for (std::uint32_t j = 0; j < other.size; ++j) {
        const double* row = graph_.row(variable.node, arc, strategy_[other.first + j]);
        for (std::uint32_t i = 0; i < variable.size; ++i)
          entries_.push_back(row[own[i]]);
      }
      work_ += std::uint64_t{other.size} * variable.size;
    }
  }
  num_pairs_ = tables_.size();
  pair_entries_ = entries_.size();
  pair_scopes_ = scopes_.size();
}

// Level l is complete when the first l variables of the scope have values.
void BlockSolver::prepare(std::uint32_t v, std::span<const std::uint32_t> scope) {
  if (at_level_.size() < scope.size() + 1) at_level_.resize(scope.size() + 1);
  for (std::size_t l = 0; l <= scope.size(); ++l)
    at_level_[l].clear();
  if (steps_.size() < bucket_[v].size()) steps_.resize(bucket_[v].size());
  for (std::uint32_t b = 0; b < bucket_[v].size(); ++b) {
    const Table& table = tables_[bucket_[v][b]];
    std::vector<Step>& steps = steps_[b];
    steps.clear();
    std::size_t stride = variables_[v].size;
    for (std::size_t i = table.scope_size - 1; i-- > 0;) {
      const std::uint32_t w = scopes_[table.first_scope + i];
      const auto level =
          static_cast<std::uint32_t>(std::find(scope.begin(), scope.end(), w) - scope.begin());
      steps.push_back({level, stride});
      stride *= variables_[w].size;
    }
    // A scope of its own begins with the latest, as this one, so the last level is the first step.
    at_level_[steps.empty() ? 0 : steps.front().level + 1].push_back(b);
  }
}

void BlockSolver::eliminate(std::uint32_t v) {
  const std::span<const std::uint32_t> scope = scope_of_[v];
  const std::size_t depth = scope.size(), size = variables_[v].size;
  prepare(v, scope);
  partial_.resize((depth + 1) * size);
  values_.assign(depth, 0);
  const auto row = [&](std::uint32_t b) {
    std::size_t offset = tables_[bucket_[v][b]].first_entry;
    for (const Step& step : steps_[b])
      offset += step.stride * values_[step.level];
    return entries_.data() + offset;
  };
  std::size_t count = 1;
  for (const std::uint32_t w : scope)
    count *= variables_[w].size;
  const std::size_t first_entry = entries_.size();
  entries_.resize(first_entry + count);
  work_ += count * size;

  std::size_t from = 0;  // the first level whose partial sum is out of date
  for (std::size_t entry = 0; entry < count; ++entry) {
    for (std::size_t l = from; l < depth || l == 0; ++l) {
      double* sum = partial_.data() + l * size;
      const double* below = l == 0 ? base_.data() + variables_[v].first : sum - size;
      std::copy(below, below + size, sum);
      for (const std::uint32_t b : at_level_[l]) {
        const double* terms = row(b);
        for (std::size_t s = 0; s < size; ++s)
          sum[s] += terms[s];
      }
    }
    double least = kForbidden;
    if (depth == 0) {
      least =
          *std::min_element(partial_.begin(), partial_.begin() + static_cast<std::ptrdiff_t>(size));
    } else {
      const double* below = partial_.data() + (depth - 1) * size;
      const auto& last = at_level_[depth];
      for (std::size_t i = 0; i + 1 < last.size(); ++i) {
        double* sum = partial_.data() + depth * size;
        const double* terms = row(last[i]);
        for (std::size_t s = 0; s < size; ++s)
          sum[s] = below[s] + terms[s];
        below = sum;
      }
      if (last.empty()) {
        least = *std::min_element(below, below + size);
      } else {
        least = least_sum(below, row(last.back()), size);
      }
    }
    entries_[first_entry + entry] = least;
    from = depth;
    while (from > 0 && ++values_[from - 1] == variables_[scope[from - 1]].size) {
      values_[--from] = 0;
    }
  }
  if (depth == 0) return;
  bucket_[scope.back()].push_back(static_cast<std::uint32_t>(tables_.size()));
  tables_.push_back(
      {static_cast<std::uint32_t>(scopes_.size()), static_cast<std::uint32_t>(depth), first_entry});
  scopes_.insert(scopes_.end(), scope.begin(), scope.end());
}

template <class StrategyOf>
double BlockSolver::block_cost(const SearchState& state, const StrategyOf& strategy_of) const {
  double cost = 0;
  for (std::uint32_t v = 0; v < variables_.size(); ++v) {
    const std::uint32_t n = variables_[v].node, s = strategy_of(v);
    cost += state.priced[graph_.first_strategy(n) + s];
    for (const ChoiceGraph::Arc& arc : graph_.arcs(n)) {
      const std::uint32_t w = local_[arc.node];
      if (w != kOutside && w < v) continue;
      cost += graph_.row(n, arc, w == kOutside ? state.choice[arc.node] : strategy_of(w))[s];
    }
  }
  return cost;
}

double BlockSolver::cost_before(const SearchState& state) const {
  return block_cost(state, [&](std::uint32_t v) { return state.choice[variables_[v].node]; });
}

double BlockSolver::cost_after(const SearchState& state) const {
  return block_cost(state, [&](std::uint32_t v) {
    return strategy_[variables_[v].first + variables_[v].chosen];
  });
}

void BlockSolver::reset_tables() {
  tables_.resize(num_pairs_);
  entries_.resize(pair_entries_);
  scopes_.resize(pair_scopes_);
  for (const std::uint32_t v : sequence_) {
    std::erase_if(bucket_[v], [&](std::uint32_t t) { return t >= num_pairs_; });
  }
}

// Backwards through the elimination; the present strategy where it is among the best.
void BlockSolver::choose() {
  for (Variable& variable : variables_)
    variable.chosen = variable.current;
  for (std::size_t i = sequence_.size(); i-- > 0;) {
    const std::uint32_t v = sequence_[i];
    Variable& variable = variables_[v];
    column_.assign(base_.begin() + variable.first, base_.begin() + variable.first + variable.size);
    for (const std::uint32_t t : bucket_[v]) {
      const Table& table = tables_[t];
      std::size_t offset = table.first_entry, stride = variable.size;
      for (std::size_t j = table.scope_size - 1; j-- > 0;) {
        const Variable& other = variables_[scopes_[table.first_scope + j]];
        offset += stride * other.chosen;
        stride *= other.size;
      }
      for (std::uint32_t s = 0; s < variable.size; ++s)
        column_[s] += entries_[offset + s];
    }
    std::uint32_t best = variable.current;
    for (std::uint32_t s = 0; s < variable.size; ++s) {
      if (column_[s] < column_[best]) best = s;
    }
    variable.chosen = best;
  }
}

BlockSolver::Outcome BlockSolver::solve(const SearchState& state,
                                        std::span<const std::uint32_t> start,
                                        std::span<const std::uint32_t> nodes, bool within_limits,
                                        std::uint64_t key) {
  Outcome outcome;
  work_ = 0;
  changed_.clear();
  if (load(state, start, nodes)) {
    order(key);
    make_tables();
    const double before = cost_before(state);
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      if (attempt > 0) reset_tables();
      for (const std::uint32_t v : sequence_)
        eliminate(v);
      choose();
      changed_.clear();
      for (const Variable& variable : variables_) {
        const std::uint32_t s = strategy_[variable.first + variable.chosen];
        if (s != state.choice[variable.node]) changed_.push_back({variable.node, s});
      }
      const double gain = before - cost_after(state);
      // Sums of other orders may differ by rounding.
      if (changed_.empty() || !(gain > 1e-12 * std::abs(before))) {
        changed_.clear();
        break;
      }
      std::uint32_t begin = 0, end = 0;
      std::int64_t more = 0;
      work_ += changed_.size();
      if (!within_limits || worst_excess(state, &begin, &end, &more) <= 0) {
        outcome.improved = true;
        outcome.gain = gain;
        break;
      }
      changed_.clear();
      const double worth = gain / static_cast<double>(more);
      if (!outcome.blocked) {
        outcome.blocked = true;
        outcome.blocked_at = static_cast<std::uint32_t>(state.profile.most_exceeded(begin, end));
        outcome.worth = worth;
      }
      raise_prices(begin, end, kOvershoot * worth);
    }
  }
  for (const Variable& variable : variables_)
    local_[variable.node] = kOutside;
  outcome.work = work_;
  return outcome;
}

}  // namespace shardwright::operators
