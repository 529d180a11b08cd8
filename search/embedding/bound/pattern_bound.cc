#include "search/embedding/bound/pattern_bound.h"

#include <algorithm>
#include <limits>

#include "search/linear_program.h"

namespace shardwright::embedding {
namespace {

// By how much the tables must be worth more than the ranks can hold, relatively, to count as proof.
constexpr double kMargin = 1e-7;
// Steps of a filler that a pivot takes as long as, per row.
constexpr std::uint64_t kPivotCost = 12;
// A class's excess in the program below which a mix of patterns counts as one that fits.
constexpr double kFits = 1e-9;

}  // namespace

// Least common excess of ranks used over ranks there are, such that every table has one choice in
// all, and patterns hold its shards.
class PatternBound::Master {
 public:
  Master(const BoundRows& rows, const std::vector<Zone>& zones) : rows_(rows), zones_(zones) {
    const ChoiceModel& model = rows.model();
    for (std::size_t table = 0; table < model.num_tables(); ++table)
      table_row_.push_back(program_.add_row(1, 1));
    for (const RankClass& own : rows.classes())
      class_row_.push_back(program_.add_row(-LinearProgram::kInfinity, own.size));
    row_.assign(rows.rows().size(), kNone);
    for (std::uint32_t choice = 0; choice < model.choices().size(); ++choice) {
      if (zones[choice] == 0) continue;
      const std::uint32_t first = rows.first_row(choice);
      const std::size_t count = rows.rows_of(choice).size();
      for (std::uint32_t r = first; r < first + count; ++r) {
        // A filler looks at two runs of a choice; the needs of others are left out.
        if (rows.rows()[r].in_class || r < first + 2)
          row_[r] = program_.add_row(0, LinearProgram::kInfinity);
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

  // Of one shard of every row.
  void worths(std::vector<double>& worth) const {
    for (std::size_t r = 0; r < worth.size(); ++r)
      worth[r] = row_[r] == kNone ? 0 : std::max(0.0, program_.dual(row_[r]));
  }
  double price_of_rank(std::uint32_t rank_class) const {
    return std::max(0.0, -program_.dual(class_row_[rank_class]));
  }
  void tell(FractionalPlan& plan) const {
    plan.shares = shares();
    plan.shards.assign(row_.size(), std::vector<double>(class_row_.size(), 0));
    for (const auto& [pattern, column] : patterns_) {
      for (const auto& [row, count] : pattern.shards)
        plan.shards[row][pattern.rank_class] += count * program_.value(column);
    }
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  std::vector<double> shares() const {
    std::vector<double> shares(zones_.size(), 0);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (choice_column_[i] != kNone) shares[i] = program_.value(choice_column_[i]);
    }
    return shares;
  }

  void add_choices() {
    const ChoiceModel& model = rows_.model();
    choice_column_.assign(zones_.size(), kNone);
    for (std::size_t table = 0; table < model.num_tables(); ++table) {
      for (std::uint32_t i = 0; i < model.choices(table).size(); ++i) {
        const std::uint32_t choice = model.first_choice(table) + i;
        if (zones_[choice] == 0) continue;
        entries_.assign(1, {table_row_[table], 1});
        const std::uint32_t first = rows_.first_row(choice);
        for (std::uint32_t r = 0; r < rows_.rows_of(choice).size(); ++r) {
          if (row_[first + r] == kNone) continue;
          entries_.push_back({row_[first + r], -static_cast<double>(rows_.rows()[first + r].need)});
        }
        choice_column_[choice] = program_.add_column(0, 0, LinearProgram::kInfinity, entries_);
      }
    }
    entries_.clear();
    for (std::size_t c = 0; c < class_row_.size(); ++c)
      entries_.push_back({class_row_[c], -static_cast<double>(rows_.classes()[c].size)});
    program_.add_column(1, 0, LinearProgram::kInfinity, entries_);
  }

  const BoundRows& rows_;
  const std::vector<Zone>& zones_;
  LinearProgram program_;
  std::vector<std::size_t> table_row_;
  std::vector<std::size_t> class_row_;
  std::vector<std::size_t> row_;  // of the program, by row of the model
  std::vector<std::size_t> choice_column_;
  std::vector<std::pair<RankPattern, std::size_t>> patterns_;  // with their columns
  std::vector<LinearProgram::Entry> entries_;
};

namespace {

// What the tables are worth, each by its cheapest choice.
double worth_of_tables(const BoundRows& rows, const std::vector<Zone>& zones,
                       const std::vector<double>& worth) {
  const ChoiceModel& model = rows.model();
  double sum = 0;
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t i = 0; i < model.choices(table).size(); ++i) {
      const std::uint32_t choice = model.first_choice(table) + i;
      if (zones[choice] == 0) continue;
      double own = 0;
      const std::uint32_t first = rows.first_row(choice);
      for (std::uint32_t r = 0; r < rows.rows_of(choice).size(); ++r)
        own += rows.rows()[first + r].need * worth[first + r];
      least = std::min(least, own);
    }
    sum += least;
  }
  return sum;
}

BoundNode make_leaf(const BoundRows& rows, const std::vector<double>& worth,
                    const std::vector<RankFill>& fills) {
  BoundNode leaf;
  for (std::size_t r = 0; r < worth.size(); ++r) {
    const BoundRow& row = rows.rows()[r];
    if (worth[r] > 0)
      leaf.shards.push_back({rows.model().choices()[row.choice].option, row.run, worth[r]});
  }
  for (const RankFill& fill : fills) {
    leaf.prices.push_back(fill.prices);
    leaf.most_worth.push_back(fill.most);
  }
  return leaf;
}

}  // namespace

PatternBound::PatternBound(const BoundRows& rows) : rows_(&rows) {
  for (std::uint32_t c = 0; c < rows.classes().size(); ++c)
    fillers_.emplace_back(rows, c);
  worth_.resize(rows.rows().size());
  fills_.resize(fillers_.size());
}

PatternBound::~PatternBound() = default;

void PatternBound::drop() { master_.reset(); }

bool PatternBound::usable(const RankPattern& pattern) const {
  return pattern.load <= rows_->limit(pattern.rank_class, target_) &&
         std::all_of(pattern.shards.begin(), pattern.shards.end(), [&](const auto& shard) {
           const Zone zone = zones_[rows_->rows()[shard.first].choice];
           return (zone >> pattern.rank_class & 1) != 0;
         });
}

void PatternBound::ask(double target, const std::vector<Zone>& zones, std::uint64_t work) {
  target_ = target;
  work_left_ = work;
  zones_ = zones;
  master_ = std::make_unique<Master>(*rows_, zones_);
  // One shard alone is a pattern; without these a table might have none at first.
  for (std::uint32_t r = 0; r < rows_->rows().size(); ++r) {
    const BoundRow& row = rows_->rows()[r];
    for (std::uint32_t c = 0; c < rows_->classes().size(); ++c) {
      const bool here = (zones_[row.choice] >> c & 1) != 0;
      if (here && rows_->fits(row, c) && row.load <= rows_->limit(c, target_))
        master_->add({c, {{r, 1}}, row.load});
    }
  }
  for (const RankPattern& pattern : pool_) {
    if (usable(pattern)) master_->add(pattern);
  }
}

std::optional<PatternAnswer> PatternBound::advance(Budget& budget) {
  PatternAnswer answer;
  const std::uint64_t begin = budget.work_done();
  const std::size_t before = master_->iterations();
  const bool solved = master_->solve();
  budget.spend(kPivotCost * (master_->iterations() - before) * rows_->rows().size());
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
      fills_[c] = fillers_[c].best(worth_, target_, zones_, price, exact, budget);
      capacity += rows_->classes()[c].size * fills_[c].most;
      if (fills_[c].worth <= price * (1 + 1e-9) + 1e-12) continue;
      master_->add(fills_[c].pattern);
      pool_.push_back(fills_[c].pattern);
      added = true;
    }
    if (worth_of_tables(*rows_, zones_, worth_) > capacity * (1 + kMargin)) {
      answer.kind = PatternAnswer::Kind::kExcluded;
      answer.leaf = make_leaf(*rows_, worth_, fills_);
      return false;
    }
    if (added) return true;
  }
  master_->tell(answer.plan);
  return false;
}

}  // namespace shardwright::embedding
