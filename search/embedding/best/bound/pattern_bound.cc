#include "search/embedding/best/bound/pattern_bound.h"

#include <algorithm>
#include <limits>

#include "search/linear_program.h"

namespace shardwright::embedding {
namespace {

// By how much the tables must be worth more than the ranks can hold, relatively, to count as proof.
constexpr double kMargin = 1e-7;
// Steps of a filler that a pivot takes as long as: beside a fixed part one per row and column, up
// to where programs are sparse enough for more not to matter (measured from 50 to 15,000 rows).
constexpr std::uint64_t kPivotCost = 500;
constexpr std::uint64_t kMostSizeCost = 3000;
// A class's excess in the program below which a mix of patterns counts as one that fits.
constexpr double kFits = 1e-9;

}  // namespace

// Least common excess of ranks used over ranks there are, such that every table has one choice in
// all, and patterns hold its shards.
class PatternBound::Master {
 public:
  Master(const BoundRows& rows, const std::vector<Zone>& zones,
         const std::vector<AlikeTables>& groups)
      : rows_(rows), zones_(zones), groups_(groups) {
    for (const AlikeTables& group : groups)
      table_row_.push_back(program_.add_row(group.size(), group.size()));
    for (const RankClass& own : rows.classes())
      class_row_.push_back(program_.add_row(-LinearProgram::kInfinity, own.size));
    row_.assign(rows.rows().size(), kNone);
    for (const AlikeTables& group : groups) {
      for (const std::uint32_t choice : possible_choices(group)) {
        const std::uint32_t first = rows.first_row(choice);
        for (std::uint32_t r = first; r < rows.first_row(choice + 1); ++r) {
          // A filler looks at two runs of a choice; the needs of others are left out.
          if (rows.rows()[r].in_class || r < first + 2)
            row_[r] = program_.add_row(0, LinearProgram::kInfinity);
        }
      }
    }
    add_choices();
  }

  void add(const RankPattern& pattern) {
    entries_.clear();
    for (const auto& [row, count] : pattern.shards) {
      if (row_[row] != kNone) entries_.push_back({row_[row], static_cast<double>(count)});
    }
    entries_.push_back({class_row_[pattern.rank_class], 1});
    patterns_.emplace_back(pattern, program_.add_column(0, 0, LinearProgram::kInfinity, entries_));
  }

  bool solve() { return program_.solve(); }
  double excess() const { return program_.objective(); }
  std::size_t iterations() const { return program_.iterations(); }
  std::uint64_t cost_of_pivot() const {
    const std::uint64_t size = program_.num_rows() + program_.num_columns();
    return kPivotCost + std::min(size, kMostSizeCost);
  }

  // Of one shard of every row.
  void worths(std::vector<double>& worth) const {
    for (std::size_t r = 0; r < worth.size(); ++r)
      worth[r] = row_[r] == kNone ? 0 : std::max(0.0, program_.dual(row_[r]));
  }
  double price_of_rank(std::uint32_t rank_class) const {
    return std::max(0.0, -program_.dual(class_row_[rank_class]));
  }

  void tell(FractionalPlan& plan) const {
    plan.shares.assign(zones_.size(), 0);
    plan.shards.assign(row_.size(), std::vector<double>(class_row_.size(), 0));
    for (const auto& [pattern, column] : patterns_) {
      for (const auto& [row, count] : pattern.shards)
        plan.shards[row][pattern.rank_class] += count * program_.value(column);
    }
    for (const AlikeTables& group : groups_)
      deal(group, plan);
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  std::vector<std::uint32_t> possible_choices(const AlikeTables& group) const {
    std::vector<std::uint32_t> possible;
    const ChoiceModel& model = rows_.model();
    for (std::uint32_t i = 0; i < model.choices(group.first()).size(); ++i) {
      const std::uint32_t choice = model.first_choice(group.first()) + i;
      if (zones_[choice] != 0) possible.push_back(choice);
    }
    return possible;
  }

  void add_choices() {
    choice_column_.assign(zones_.size(), kNone);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (const std::uint32_t choice : possible_choices(groups_[g])) {
        entries_.assign(1, {table_row_[g], 1});
        for (std::uint32_t r = rows_.first_row(choice); r < rows_.first_row(choice + 1); ++r) {
          if (row_[r] == kNone) continue;
          entries_.push_back({row_[r], -static_cast<double>(rows_.rows()[r].need)});
        }
        choice_column_[choice] = program_.add_column(0, 0, LinearProgram::kInfinity, entries_);
      }
    }
    entries_.clear();
    for (std::size_t c = 0; c < class_row_.size(); ++c)
      entries_.push_back({class_row_[c], -static_cast<double>(rows_.classes()[c].size)});
    program_.add_column(1, 0, LinearProgram::kInfinity, entries_);
  }

  // One table of the group after the other gets its choice, so that few mix choices, and its part
  // of the choice's shards.
  void deal(const AlikeTables& group, FractionalPlan& plan) const {
    const std::uint32_t begin = rows_.model().first_choice(group.first());
    std::size_t next = 0;
    double room = 1;  // of the next table
    std::vector<std::vector<double>> all;
    for (const std::uint32_t choice : possible_choices(group)) {
      const std::uint32_t first_row = rows_.first_row(choice);
      all.assign(plan.shards.begin() + first_row,
                 plan.shards.begin() + rows_.first_row(choice + 1));
      for (std::uint32_t r = first_row; r < rows_.first_row(choice + 1); ++r)
        std::fill(plan.shards[r].begin(), plan.shards[r].end(), 0);
      const double whole = program_.value(choice_column_[choice]);
      double left = whole;
      while (left > 0 && next < group.size()) {
        const double share = std::min(left, room);
        const std::uint32_t own = rows_.model().first_choice(group.tables[next]) + (choice - begin);
        plan.shares[own] += share;
        for (std::size_t r = 0; r < all.size(); ++r) {
          for (std::size_t c = 0; c < all[r].size(); ++c)
            plan.shards[rows_.first_row(own) + r][c] += all[r][c] * share / whole;
        }
        left -= share;
        room -= share;
        if (room > kLeastShare) continue;
        ++next;
        room = 1;
      }
    }
  }

  static constexpr double kLeastShare = 1e-9;

  const BoundRows& rows_;
  const std::vector<Zone>& zones_;
  const std::vector<AlikeTables>& groups_;
  LinearProgram program_;
  std::vector<std::size_t> table_row_;  // by group
  std::vector<std::size_t> class_row_;
  std::vector<std::size_t> row_;  // of the program, by row of the model
  std::vector<std::size_t> choice_column_;
  std::vector<std::pair<RankPattern, std::size_t>> patterns_;  // with their columns
  std::vector<LinearProgram::Entry> entries_;
};

namespace {

// What the tables are worth, each by its cheapest choice.
double worth_of_tables(const BoundRows& rows, const std::vector<Zone>& zones,
                       const std::vector<AlikeTables>& groups, const std::vector<double>& worth) {
  const ChoiceModel& model = rows.model();
  double sum = 0;
  for (const AlikeTables& group : groups) {
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t i = 0; i < model.choices(group.first()).size(); ++i) {
      const std::uint32_t choice = model.first_choice(group.first()) + i;
      if (zones[choice] == 0) continue;
      double own = 0;
      for (std::uint32_t r = rows.first_row(choice); r < rows.first_row(choice + 1); ++r)
        own += rows.rows()[r].need * worth[r];
      least = std::min(least, own);
    }
    sum += group.size() * least;
  }
  return sum;
}

BoundNode make_leaf(const BoundRows& rows, const std::vector<AlikeTables>& groups,
                    const std::vector<double>& worth, const std::vector<RankFill>& fills) {
  BoundNode leaf;
  const ChoiceModel& model = rows.model();
  for (const AlikeTables& group : groups) {
    const std::uint32_t first = rows.first_row(model.first_choice(group.first()));
    for (const std::uint32_t table : group.tables) {
      const std::uint32_t begin = rows.first_row(model.first_choice(table));
      const std::uint32_t end = rows.first_row(model.first_choice(table + 1));
      for (std::uint32_t r = begin; r < end; ++r) {
        const BoundRow& row = rows.rows()[r];
        const double own = worth[first + r - begin];
        if (own > 0) leaf.shards.push_back({model.choices()[row.choice].option, row.run, own});
      }
    }
  }
  for (const RankFill& fill : fills) {
    leaf.prices.push_back(fill.prices);
    leaf.most_worth.push_back(fill.most);
  }
  return leaf;
}

}  // namespace

PatternBound::PatternBound(const BoundRows& rows) : rows_(&rows), kinds_(rows.model()) {
  for (std::uint32_t c = 0; c < rows.classes().size(); ++c)
    fillers_.emplace_back(rows, c);
  worth_.resize(rows.rows().size());
  fills_.resize(fillers_.size());
}

PatternBound::~PatternBound() = default;

std::size_t PatternBound::size() const {
  const ChoiceModel& model = rows_->model();
  std::size_t size = 0;
  for (std::uint32_t kind = 0; kind < kinds_.size(); ++kind) {
    const std::uint32_t table = kinds_.first_of(kind);
    size += rows_->first_row(model.first_choice(table + 1)) -
            rows_->first_row(model.first_choice(table));
  }
  return size;
}

void PatternBound::drop() { master_.reset(); }

// In rows of the first tables of kinds, so that it can serve other groups.
RankPattern PatternBound::by_kind(const RankPattern& pattern) const {
  const ChoiceModel& model = rows_->model();
  RankPattern other = pattern;
  for (auto& [row, count] : other.shards) {
    const std::size_t table = model.table_of(rows_->rows()[row].choice);
    const std::uint32_t first = kinds_.first_of(kinds_.kind_of(table));
    row = rows_->first_row(model.first_choice(first)) + row -
          rows_->first_row(model.first_choice(table));
  }
  return other;
}

// A pattern by kinds as one by groups, if their tables may be there.
std::optional<RankPattern> PatternBound::usable(const RankPattern& pattern) const {
  if (pattern.load > rows_->limit(pattern.rank_class, target_)) return std::nullopt;
  const ChoiceModel& model = rows_->model();
  RankPattern own{pattern.rank_class, {}, pattern.load};
  for (const auto& [row, count] : pattern.shards) {
    const std::size_t table = model.table_of(rows_->rows()[row].choice);
    std::uint32_t left = count;
    for (const std::size_t g : groups_of_[kinds_.kind_of(table)]) {
      const std::uint32_t first = groups_[g].first();
      const std::uint32_t other = rows_->first_row(model.first_choice(first)) + row -
                                  rows_->first_row(model.first_choice(table));
      const BoundRow& held = rows_->rows()[other];
      if ((zones_[held.choice] >> pattern.rank_class & 1) == 0) continue;
      const std::uint32_t here = std::min(left, groups_[g].size() * held.most_per_rank);
      if (here > 0) own.shards.emplace_back(other, here);
      left -= here;
    }
    if (left > 0) return std::nullopt;
  }
  return own;
}

void PatternBound::ask(double target, const std::vector<Zone>& zones, std::uint64_t work) {
  target_ = target;
  work_left_ = work;
  zones_ = zones;
  groups_ = kinds_.groups(zones);
  groups_of_.assign(kinds_.size(), {});
  for (std::size_t g = 0; g < groups_.size(); ++g)
    groups_of_[groups_[g].kind].push_back(g);
  master_ = std::make_unique<Master>(*rows_, zones_, groups_);
  for (const AlikeTables& group : groups_)
    add_single_shards(group);
  for (const RankPattern& pattern : pool_) {
    if (const std::optional<RankPattern> own = usable(pattern)) master_->add(*own);
  }
}

// One shard alone is a pattern; without these a table might have none at first.
void PatternBound::add_single_shards(const AlikeTables& group) {
  const ChoiceModel& model = rows_->model();
  const std::uint32_t end = rows_->first_row(model.first_choice(group.first() + 1));
  for (std::uint32_t r = rows_->first_row(model.first_choice(group.first())); r < end; ++r) {
    const BoundRow& row = rows_->rows()[r];
    for (std::uint32_t c = 0; c < rows_->classes().size(); ++c) {
      const bool here = (zones_[row.choice] >> c & 1) != 0;
      if (here && rows_->fits(row, c) && row.load <= rows_->limit(c, target_))
        master_->add({c, {{r, 1}}, row.load});
    }
  }
}

std::optional<PatternAnswer> PatternBound::advance(Budget& budget) {
  PatternAnswer answer;
  const std::uint64_t begin = budget.work_done();
  const std::size_t before = master_->iterations();
  const bool solved = master_->solve();
  budget.spend(master_->cost_of_pivot() * (master_->iterations() - before));
  if (solved && master_->excess() < kFits) {
    answer.kind = PatternAnswer::Kind::kPossible;
    master_->tell(answer.plan);
  } else if (solved && add_patterns(budget, answer)) {
    const std::uint64_t spent = budget.work_done() - begin;
    work_left_ -= std::min(work_left_, spent);
    if (work_left_ > 0) return std::nullopt;
    master_->tell(answer.plan);
  }
  master_.reset();
  return answer;
}

// Patterns that lessen the excess, for another round. False where there are none, or where the
// worths already show that there is no plan.
bool PatternBound::add_patterns(Budget& budget, PatternAnswer& answer) {
  master_->worths(worth_);
  for (const bool exact : {false, true}) {
    bool added = false;
    double capacity = 0;
    for (std::uint32_t c = 0; c < fillers_.size(); ++c) {
      const double price = master_->price_of_rank(c);
      fills_[c] = fillers_[c].best(worth_, target_, zones_, groups_, price, exact, budget);
      capacity += rows_->classes()[c].size * fills_[c].most;
      if (fills_[c].worth <= price * (1 + 1e-9) + 1e-12) continue;
      master_->add(fills_[c].pattern);
      pool_.push_back(by_kind(fills_[c].pattern));
      added = true;
    }
    if (worth_of_tables(*rows_, zones_, groups_, worth_) > capacity * (1 + kMargin)) {
      answer.kind = PatternAnswer::Kind::kExcluded;
      answer.leaf = make_leaf(*rows_, groups_, worth_, fills_);
      return false;
    }
    if (added) return true;
  }
  master_->tell(answer.plan);
  return false;
}

}  // namespace shardwright::embedding
