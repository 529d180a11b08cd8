#include "search/embedding/bound/column_generation.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace shardwright::embedding {

void PatternPool::begin(double target, const Domain& domain, const std::vector<EqualTables>& groups,
                        const std::function<std::size_t(const RankPattern&)>& add) {
  ++question_;
  forget_unused(known_, capacity_);
  groups_of_kind_.assign(kinds_->size(), {});
  for (std::size_t g = 0; g < groups.size(); ++g)
    groups_of_kind_[groups[g].kind].push_back(g);
  for (Known& known : known_) {
    const std::optional<RankPattern> pattern = by_group(known.pattern, target, domain, groups);
    known.column = pattern ? add(*pattern) : kNoColumn;
  }
}

void PatternPool::forget_unused(std::vector<Known>& known, std::size_t capacity) {
  if (known.size() <= capacity) return;
  std::stable_sort(known.begin(), known.end(),
                   [](const Known& a, const Known& b) { return a.last_used > b.last_used; });
  known.resize(capacity);
}

void PatternPool::add(const RankPattern& pattern, std::size_t column) {
  known_.push_back({{by_kind(pattern), question_}, column});
}

KnownPatterns PatternPool::known() const {
  std::vector<Known> kept = known_;
  forget_unused(kept, capacity_);
  return {question_, {kept.begin(), kept.end()}};
}

void PatternPool::learn(const KnownPatterns& other) {
  question_ = other.question;
  known_.clear();
  for (const KnownPatterns::Pattern& pattern : other.patterns)
    known_.push_back({pattern, kNoColumn});
}

void PatternPool::end(const std::function<bool(std::size_t)>& is_basic) {
  for (Known& known : known_) {
    if (known.column != kNoColumn && is_basic(known.column)) known.last_used = question_;
  }
}

// Returns the pattern in rows of the first tables of kinds. Adds up rows of groups of one kind.
RankPattern PatternPool::by_kind(const RankPattern& pattern) const {
  const ChoiceModel& model = rows_->model();
  RankPattern other{pattern.rank_class, {}, pattern.load};
  for (const auto& [row, count] : pattern.shards) {
    const std::size_t table = model.table_of(rows_->rows()[row].choice);
    const std::uint32_t first = kinds_->first_of(kinds_->kind_of(table));
    const std::uint32_t own = rows_->first_row(model.first_choice(first)) + row -
                              rows_->first_row(model.first_choice(table));
    const auto same = std::find_if(other.shards.begin(), other.shards.end(),
                                   [&](const auto& shards) { return shards.first == own; });
    if (same == other.shards.end()) {
      other.shards.emplace_back(own, count);
    } else {
      same->second += count;
    }
  }
  return other;
}

// Returns the pattern in rows of the groups. Returns nothing if the pattern does not fit below the
// target, or if the domain does not allow it.
std::optional<RankPattern> PatternPool::by_group(const RankPattern& pattern, double target,
                                                 const Domain& domain,
                                                 const std::vector<EqualTables>& groups) const {
  if (pattern.load > rows_->classes().load_limit(pattern.rank_class, target)) return std::nullopt;
  const ChoiceModel& model = rows_->model();
  RankPattern own{pattern.rank_class, {}, pattern.load};
  Storage storage;
  for (const auto& [row, count] : pattern.shards) {
    storage += count * rows_->rows()[row].storage;
    const std::size_t table = model.table_of(rows_->rows()[row].choice);
    std::uint32_t left = count;
    for (const std::size_t g : groups_of_kind_[kinds_->kind_of(table)]) {
      const EqualTables& group = groups[g];
      const std::uint32_t other = rows_->first_row(model.first_choice(group.first())) + row -
                                  rows_->first_row(model.first_choice(table));
      const BoundRow& held = rows_->rows()[other];
      if ((domain[held.choice] >> pattern.rank_class & 1) == 0) continue;
      const std::uint32_t here = std::min(left, group.size() * held.max_per_rank);
      if (here > 0) own.shards.emplace_back(other, here);
      left -= here;
    }
    if (left > 0) return std::nullopt;
  }
  if (!storage.fits_in(rows_->classes()[pattern.rank_class].room)) return std::nullopt;
  return own;
}

ColumnGeneration::ColumnGeneration(const BoundRows& rows, const BoundParameters& parameters)
    : rows_(&rows),
      parameters_(parameters),
      pool_(rows, ColumnGenerationParameters::kMaxKnownPatterns),
      center_(rows) {
  for (std::uint32_t c = 0; c < rows.classes().size(); ++c)
    pricing_.emplace_back(rows, c, parameters.pricing);
  answers_.resize(pricing_.size());
}

std::size_t ColumnGeneration::max_rows() const {
  const ChoiceModel& model = rows_->model();
  std::size_t size = 0;
  for (std::uint32_t kind = 0; kind < rows_->kinds().size(); ++kind) {
    const std::uint32_t table = rows_->kinds().first_of(kind);
    size += rows_->first_row(model.first_choice(table + 1)) -
            rows_->first_row(model.first_choice(table));
  }
  return size;
}

PricingKnowledge ColumnGeneration::known() const {
  PricingKnowledge known{pool_.known(), center_.point(), {}};
  for (const PricingProblem& problem : pricing_)
    known.was_easy.push_back(problem.was_easy() ? 1 : 0);
  return known;
}

void ColumnGeneration::learn(const PricingKnowledge& other) {
  pool_.learn(other.patterns);
  center_.set_point(other.center);
  for (std::size_t c = 0; c < pricing_.size(); ++c)
    pricing_[c].set_was_easy(other.was_easy[c] != 0);
}

void ColumnGeneration::begin(double target, const Domain& domain, std::uint64_t work) {
  question_.target = target;
  question_.work_left = work;
  question_.domain = domain;
  question_.groups = rows_->kinds().groups(domain);
  is_new_ = true;
  center_.begin();
  master_ = std::make_unique<RestrictedMaster>(*rows_, target, question_.domain, question_.groups,
                                               parameters_.columns);
  for (const EqualTables& group : question_.groups)
    add_single_shards(group);
  pool_.begin(target, question_.domain, question_.groups,
              [&](const RankPattern& pattern) { return master_->add(pattern); });
}

// Adds every single shard as a pattern, so that patterns hold every choice from the start.
void ColumnGeneration::add_single_shards(const EqualTables& group) {
  const ChoiceModel& model = rows_->model();
  const std::uint32_t end = rows_->first_row(model.first_choice(group.first() + 1));
  for (std::uint32_t r = rows_->first_row(model.first_choice(group.first())); r < end; ++r) {
    const BoundRow& row = rows_->rows()[r];
    for (std::uint32_t c = 0; c < rows_->classes().size(); ++c) {
      const bool here =
          (question_.domain[row.choice] >> c & 1) != 0 && !rows_->classes().is_for_uniform(c);
      if (here && rows_->fits(row, c) &&
          row.load <= rows_->classes().load_limit(c, question_.target))
        master_->add({c, {{r, 1}}, row.load});
    }
  }
}

std::optional<RelaxationAnswer> ColumnGeneration::iterate(Budget& budget) {
  RelaxationAnswer answer;
  const std::uint64_t work_before = budget.work_done();
  if (std::exchange(is_new_, false) && is_excluded_at_center(budget)) {
    answer.kind = RelaxationAnswer::Kind::kInfeasible;
    answer.leaf = make_leaf();
    return end(std::move(answer));
  }
  const std::size_t pivots_before = master_->num_pivots();
  const bool solved = master_->solve();
  budget.spend(master_->steps_per_solve() +
               master_->steps_per_pivot() * (master_->num_pivots() - pivots_before));
  if (solved && master_->excess() < ColumnGenerationParameters::kFeasibleExcess) {
    answer.kind = RelaxationAnswer::Kind::kFeasible;
    answer.plan = master_->plan();
  } else if (solved && add_columns(budget, answer)) {
    const std::uint64_t spent = budget.work_done() - work_before;
    question_.work_left -= std::min(question_.work_left, spent);
    if (question_.work_left > 0) return std::nullopt;
    answer.plan = master_->plan();
  }
  return end(std::move(answer));
}

RelaxationAnswer ColumnGeneration::end(RelaxationAnswer answer) {
  pool_.end([&](std::size_t column) { return master_->is_basic(column); });
  center_.end(question_.groups);
  if (!answer.plan.shares.empty()) answer.plan.patterns = master_->take_patterns();
  master_.reset();
  return answer;
}

// Prices at the center of an earlier question, which may prove this question infeasible. Scales the
// values of ranks to the largest for which it would. A pattern worth more enters the program.
bool ColumnGeneration::is_excluded_at_center(Budget& budget) {
  if (center_.empty()) return false;
  DualPoint point = center_.point();
  point_.shards = point.shards;
  point_.whole = point.whole;
  const double tables = value_of_tables() * (1 - 2 * ColumnGenerationParameters::kMargin);
  const double left = tables - value_of_whole_ranks();
  if (left <= 0) return false;
  double ranks = 0;
  for (std::uint32_t c = 0; c < point.ranks.size(); ++c)
    ranks += rows_->classes()[c].size * point.ranks[c];
  for (double& value : point.ranks)
    value *= left / ranks;
  price(std::move(point), false, budget);
  return proves_infeasible();
}

// Adds improving columns. Returns false if there are none, or if the dual values prove that no plan
// exists. Pricing takes up to three passes, until a pass adds a column: heuristic pricing between
// the dual values of the program and the center, heuristic pricing at the dual values of the
// program, and exact pricing at the same values.
bool ColumnGeneration::add_columns(Budget& budget, RelaxationAnswer& answer) {
  enum class Way : std::uint8_t { kCentered, kIncomplete, kExact };
  const DualPoint own = master_->dual_values();
  for (const Way way : {Way::kCentered, Way::kIncomplete, Way::kExact}) {
    if (way == Way::kCentered && !center_.is_rated()) continue;
    const bool added = price(
        way == Way::kCentered ? center_.mix(own, ColumnGenerationParameters::kCenterShare) : own,
        way == Way::kExact, budget);
    if (proves_infeasible()) {
      answer.kind = RelaxationAnswer::Kind::kInfeasible;
      answer.leaf = make_leaf();
      return false;
    }
    if (added) return true;
  }
  answer.plan = master_->plan();
  return false;
}

// Solves the pricing problems of all classes at this point. Returns true if a column was added.
bool ColumnGeneration::price(DualPoint point, bool exact, Budget& budget) {
  point_ = std::move(point);
  bool added = false;
  std::vector<double> most;
  for (std::uint32_t c = 0; c < pricing_.size(); ++c) {
    const double least = point_.ranks[c];
    const PricingQuery query{
        duals_in(c), question_.target, question_.domain, question_.groups, least, exact};
    answers_[c] = rows_->classes().is_for_uniform(c) ? pricing_[c].relax(query, budget)
                                                     : pricing_[c].solve(query, budget);
    // Covers the rounding of (dual value - price), also where the difference is 0.
    answers_[c].max_value += kPricingTolerance * value_of_whole_rank(c);
    most.push_back(answers_[c].max_value);
    if (answers_[c].value <= least * (1 + ColumnGenerationParameters::kMinRelativeGain) +
                                 ColumnGenerationParameters::kMinGain)
      continue;
    pool_.add(answers_[c].pattern, master_->add(answers_[c].pattern));
    added = true;
  }
  center_.offer(point_, value_of_tables(), value_of_ranks(), std::move(most));
  return added;
}

bool ColumnGeneration::proves_infeasible() const {
  return value_of_tables() > value_of_ranks() * (1 + ColumnGenerationParameters::kMargin);
}

// An upper bound of the dual value that all ranks can hold.
double ColumnGeneration::value_of_ranks() const {
  double sum = value_of_whole_ranks();
  for (std::uint32_t c = 0; c < answers_.size(); ++c)
    sum += rows_->classes()[c].size * answers_[c].max_value;
  return sum;
}

double ColumnGeneration::value_of_whole_ranks() const {
  double sum = 0;
  for (std::uint32_t c = 0; c < point_.whole.size(); ++c)
    sum += rows_->classes()[c].size * value_of_whole_rank(c);
  return sum;
}

// The price of the full capacity of a rank of the class; 0 if whole ranks have no price.
double ColumnGeneration::value_of_whole_rank(std::uint32_t rank_class) const {
  if (point_.whole.empty()) return 0;
  const std::uint32_t own = rows_->classes().whole_class(rank_class);
  const RankClass& whole = rows_->classes().whole(own);
  const CapacityMultipliers& prices = point_.whole[own];
  return add_priced(prices.load * question_.target / whole.time_scale, prices,
                    as_doubles(whole.room));
}

// The dual values of shards on a rank of the class, less the price of their use of a whole rank.
std::span<const double> ColumnGeneration::duals_in(std::uint32_t rank_class) {
  if (point_.whole.empty()) return point_.shards;
  const CapacityMultipliers& prices = point_.whole[rows_->classes().whole_class(rank_class)];
  duals_ = point_.shards;
  for (std::size_t r = 0; r < duals_.size(); ++r) {
    const BoundRow& row = rows_->rows()[r];
    if (duals_[r] > 0)
      duals_[r] = std::max(0.0, duals_[r] - add_priced(prices.load * row.load, prices, row.bytes));
  }
  return duals_;
}

// The dual value of all tables, each with its choice of least value.
double ColumnGeneration::value_of_tables() const {
  const ChoiceModel& model = rows_->model();
  double sum = 0;
  for (const EqualTables& group : question_.groups) {
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t i = 0; i < model.choices(group.first()).size(); ++i) {
      const std::uint32_t choice = model.first_choice(group.first()) + i;
      if (question_.domain[choice] == 0) continue;
      double value = 0;
      for (std::uint32_t r = rows_->first_row(choice); r < rows_->first_row(choice + 1); ++r)
        value += rows_->rows()[r].need * point_.shards[r];
      least = std::min(least, value);
    }
    sum += group.size() * least;
  }
  return sum;
}

BoundNode ColumnGeneration::make_leaf() const {
  BoundNode leaf;
  const ChoiceModel& model = rows_->model();
  for (const EqualTables& group : question_.groups) {
    const std::uint32_t first = rows_->first_row(model.first_choice(group.first()));
    for (const std::uint32_t table : group.tables) {
      const std::uint32_t begin = rows_->first_row(model.first_choice(table));
      const std::uint32_t end = rows_->first_row(model.first_choice(table + 1));
      for (std::uint32_t r = begin; r < end; ++r) {
        const BoundRow& row = rows_->rows()[r];
        const double value = point_.shards[first + r - begin];
        if (value <= 0) continue;
        leaf.shard_duals.push_back({model.choices()[row.choice].option, row.run, value});
      }
    }
  }
  for (const PricingAnswer& answer : answers_) {
    leaf.multipliers.push_back(answer.multipliers);
    leaf.max_pattern_values.push_back(answer.max_value);
  }
  leaf.whole_multipliers = point_.whole;
  return leaf;
}

}  // namespace shardwright::embedding
