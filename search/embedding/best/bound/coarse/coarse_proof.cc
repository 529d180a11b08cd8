#include "search/embedding/best/bound/coarse/coarse_proof.h"

#include <algorithm>

#include "search/embedding/best/bound/coarse/coarse_model.h"
#include "search/embedding/best/bound/coarse/even_places.h"
#include "search/embedding/best/bound/rounding/round_patterns.h"
#include "search/embedding/best/bound/tree/pins.h"

namespace shardwright::embedding {

CoarseProof::CoarseProof(const BoundRows& rows, double bound, double goal,
                         const BoundParameters& parameters)
    : rows_(rows),
      parameters_(parameters),
      bound_(bound),
      goal_(goal),
      ceiling_(goal),
      target_(next_target()) {
  parameters_.columns.shares_rows = true;
  // Each class has a part for uniform choices.
  ended_ = rows_.kinds().size() < parameters.coarse.least_kinds ||
           2 * rows.classes().size() > parameters.classes.max_apart;
}

void CoarseProof::step(Budget& budget) {
  if (ended_) return;
  if (domain_.empty()) {
    reduce(budget);
  } else if (columns_ == nullptr) {
    coarsen(budget);
  } else if (!columns_->is_active()) {
    ask();
  } else if (std::optional<RelaxationAnswer> answer = columns_->iterate(budget)) {
    take(*std::move(answer), budget);
  }
}

// What is in no plan below the goal is in none below lower targets.
void CoarseProof::reduce(Budget& budget) {
  domain_ = root_domain(rows_, goal_);
  DomainReduction reduced = reduce_domain(rows_, goal_, domain_, parameters_.aggregate, budget);
  fixing_ = std::move(reduced.fixing);
  multipliers_ = std::move(reduced.multipliers);
  ended_ = reduced.excluded;  // a light tree shows that, too
}

// As finely as there are not too many kinds of tables.
void CoarseProof::coarsen(Budget& budget) {
  const CoarseParameters& own = parameters_.coarse;
  coarse_gap_ = (goal_ - bound_) / goal_;
  failures_ = 0;
  const std::size_t most =
      std::min(own.most_kinds, rows_.kinds().size() / own.least_tables_of_kind);
  std::unique_ptr<const ChoiceModel> finest;
  for (double part = own.most_step; part >= own.least_step; part /= 2) {
    budget.spend(own.choice_steps * domain_.size());
    auto model = std::make_unique<const ChoiceModel>(
        coarse_model(rows_, domain_, goal_, multipliers_, coarse_gap_ * part, part));
    if (budget.interrupted() || TableKinds(*model).size() > most) break;
    finest = std::move(model);
  }
  ended_ = finest == nullptr && model_ == nullptr;
  if (ended_) return;
  if (finest != nullptr) {
    model_ = std::move(finest);
    coarse_rows_ = std::make_unique<BoundRows>(
        *model_, RankClasses::apart_jointly(rows_.model(), parameters_.classes));
  }
  columns_ = std::make_unique<ColumnGeneration>(*coarse_rows_, parameters_);
  if (!known_.was_easy.empty()) columns_->learn(known_);
}

void CoarseProof::ask() {
  coarse_rows_->set_uniform_use(std::vector<UniformUse>(rows_.classes().size()), target_);
  question_ = root_domain(*coarse_rows_, target_);
  for (std::size_t table = 0; table < model_->num_tables(); ++table) {
    const auto first = question_.begin() + model_->first_choice(table);
    const auto end = first + static_cast<std::ptrdiff_t>(model_->choices(table).size());
    // No choice of the table is possible: the aggregate bound says so, too.
    if (std::all_of(first, end, [](ClassSet classes) { return classes == 0; })) return fail();
  }
  columns_->begin(target_, question_, parameters_.coarse.work);
}

void CoarseProof::take(RelaxationAnswer answer, Budget& budget) {
  if (answer.kind == RelaxationAnswer::Kind::kInfeasible) return prove(std::move(answer.leaf));
  if (answer.kind == RelaxationAnswer::Kind::kFeasible) {
    suggestion_ = {round_patterns(*coarse_rows_, question_, columns_->groups(), answer.plan,
                                  target_, parameters_, budget),
                   target_};
    even_places(*model_, rows_.model(), suggestion_->start);
    for (std::uint32_t& choice : suggestion_->start.choice)
      choice = *rows_.model().choice_of(model_->choices()[choice].option);
  }
  fail();
}

void CoarseProof::prove(BoundNode leaf) {
  leaf = joined(std::move(leaf));
  leaf.fixing = fixing_;
  proof_ = {target_, std::move(leaf)};
  bound_ = target_;
  ended_ = bound_ >= goal_;
  if ((goal_ - bound_) / goal_ <= coarse_gap_ / 2) {
    known_ = columns_->known();
    known_.patterns = {};
    columns_.reset();
    ceiling_ = goal_;
  }
  target_ = next_target();
}

// Targets far below the goal are proved in a hundredth of the work.
double CoarseProof::next_target() const {
  const bool is_near = ceiling_ - bound_ <= parameters_.coarse.near * goal_;
  return is_near && ceiling_ == goal_ ? goal_ : (bound_ + ceiling_) / 2;
}

void CoarseProof::fail() {
  ceiling_ = target_;
  target_ = next_target();
  ended_ = ++failures_ == parameters_.coarse.most_failures;
}

// In terms of whole ranks. What uniform choices may add to a pattern is next to nothing, because
// their shards are worth the price of what they take.
BoundNode CoarseProof::joined(BoundNode leaf) const {
  // So that rounding makes none worth more.
  constexpr double kNoMore = 1 - 1e-9;
  const auto num_classes = static_cast<std::uint32_t>(rows_.classes().size());
  for (ShardDual& shard : leaf.shard_duals) {
    const Choice& choice = model_->choices()[*model_->choice_of(shard.option)];
    if (choice.reach == Reach::kAllRanks) shard.run -= num_classes;
    if (is_uniform(choice)) shard.value *= kNoMore;
  }
  for (std::uint32_t c = 0; c < num_classes; ++c)
    leaf.max_pattern_values[c] += leaf.max_pattern_values[num_classes + c];
  leaf.multipliers.resize(num_classes);
  leaf.max_pattern_values.resize(num_classes);
  return leaf;
}

}  // namespace shardwright::embedding
