#include "search/embedding/bound/coarse_proof.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "search/embedding/bound/aggregate_bound.h"
#include "search/embedding/bound/round_patterns.h"

namespace shardwright::embedding {
namespace {

using Runs = std::vector<ChoiceRun>;

void keep_least(ChoiceRun& run, const ChoiceRun& other) {
  run.load = std::min(run.load, other.load);
  run.storage = least_of(run.storage, other.storage);
}

// One run of the smallest shard where ranks of a choice all have one.
Runs runs_of(const ChoiceModel& model, const Choice& choice) {
  const std::span<const ChoiceRun> own = model.runs(choice);
  if (choice.reach == Reach::kDevice || choice.reach == Reach::kHost)
    return {own.begin(), own.end()};
  std::optional<ChoiceRun> least;
  for (const ChoiceRun& run : own) {
    if (run.count == 0) continue;
    if (!least) least = run;
    keep_least(*least, run);
  }
  least->count = choice.num_shards;
  return {*least};
}

// Numbers values such that those of one number differ by less than a part of themselves. What is
// next to nothing beside what a table has on average is nothing.
// Thread safety: a value.
class Scale {
 public:
  // `all`: what all ranks have. `tables`: that share it.
  Scale(double all, std::size_t tables, double least_part)
      : least_(std::max(all, 1e-300) / static_cast<double>(tables) * least_part) {}

  std::int64_t cell(double value, std::uint32_t num_shards, double step) const {
    const double part = value * num_shards / least_;
    return part < 1 ? 0 : 1 + static_cast<std::int64_t>(std::log(part) / std::log1p(step));
  }

 private:
  double least_;
};

// Thread safety: one thread at a time. Refers to its arguments.
class Coarsening {
 public:
  Coarsening(const BoundRows& rows, const Domain& domain, double target,
             const std::vector<CapacityMultipliers>& multipliers, double step, double dear_step)
      : model_(rows.model()),
        costs_(rows, target, domain),
        multipliers_(multipliers),
        step_(step),
        dear_step_(dear_step),
        load_(all_load(rows, target), model_.num_tables(), step),
        runs_(domain.size()),
        cells_(domain.size()) {
    for (const MemoryTier tier : kMemoryTiers)
      memory_.emplace_back(all_room(tier), model_.num_tables(), step);
  }

  ChoiceModel coarsened() {
    for (std::size_t group = 0; group < costs_.groups().size(); ++group)
      add(group);
    for (std::size_t choice = 0; choice < runs_.size(); ++choice) {
      for (std::size_t run = 0; run < runs_[choice].size(); ++run)
        keep_least(runs_[choice][run], least_of_[cells_[choice][run]]);
    }
    return model_.relaxed(runs_);
  }

 private:
  static double all_load(const BoundRows& rows, double target) {
    double sum = 0;
    for (const RankClass& own : rows.classes().all())
      sum += own.size * target / own.time_scale;
    return sum;
  }

  double all_room(MemoryTier tier) const {
    double sum = 0;
    for (const Storage& room : model_.room())
      sum += static_cast<double>(std::max(room[tier], Bytes()).value());
    return sum;
  }

  // By which part of itself a shard's use of the tier, or else its load, may become less. What has
  // no price is not what is scarce.
  double step_of(std::optional<MemoryTier> tier, int exponent) const {
    const bool has_price = std::any_of(
        multipliers_.begin(), multipliers_.end(),
        [&](const CapacityMultipliers& own) { return (tier ? own[*tier] : own.load) > 0; });
    return has_price ? std::ldexp(1.0, exponent) : dear_step_;
  }

  // By which part of itself a choice may become cheaper, as a power of two.
  int exponent_of(std::uint32_t choice, double least) const {
    const double cost = costs_.cost_of(choice, multipliers_);
    const double dear = cost > 0 ? dear_step_ * (cost - least) / cost : 0;
    return std::ilogb(std::max(step_, dear));
  }

  // Puts the shards of all choices of equal tables in their cells.
  void add(std::size_t group) {
    const EqualTables& equal = costs_.groups()[group];
    double least = std::numeric_limits<double>::infinity();
    for (const std::uint32_t choice : costs_.possible(group))
      least = std::min(least, costs_.cost_of(choice, multipliers_));
    for (const std::uint32_t choice : costs_.possible(group)) {
      const Runs runs = runs_of(model_, model_.choices()[choice]);
      std::vector<std::size_t> cells;
      for (const ChoiceRun& run : runs)
        cells.push_back(cell_of(choice, run, exponent_of(choice, least)));
      for (const std::uint32_t table : equal.tables) {
        const std::uint32_t own =
            model_.first_choice(table) + choice - model_.first_choice(equal.first());
        runs_[own] = runs;
        cells_[own] = cells;
      }
    }
  }

  // Of a shard: cells of choices that may become cheaper by different parts differ, too.
  std::size_t cell_of(std::uint32_t choice, const ChoiceRun& run, int exponent) {
    const std::uint32_t shards = model_.choices()[choice].num_shards;
    std::vector<std::int64_t> cell{exponent,
                                   load_.cell(run.load, shards, step_of(std::nullopt, exponent))};
    for (const MemoryTier tier : kMemoryTiers) {
      const auto bytes = static_cast<double>(run.storage[tier].value());
      cell.push_back(
          memory_[static_cast<std::size_t>(tier)].cell(bytes, shards, step_of(tier, exponent)));
    }
    const auto [found, is_new] = number_of_.try_emplace(std::move(cell), least_of_.size());
    if (is_new) least_of_.push_back(run);
    keep_least(least_of_[found->second], run);
    return found->second;
  }

  const ChoiceModel& model_;
  LagrangianFunction costs_;
  const std::vector<CapacityMultipliers>& multipliers_;
  double step_;
  double dear_step_;
  Scale load_;
  std::vector<Scale> memory_;                    // by tier
  std::vector<Runs> runs_;                       // by choice; empty if it is not in the domain
  std::vector<std::vector<std::size_t>> cells_;  // by choice and run
  std::map<std::vector<std::int64_t>, std::size_t> number_of_;
  std::vector<ChoiceRun> least_of_;  // by cell
};

// Places of equal shards, those first where shards take least beyond the coarse model.
using Places = std::priority_queue<std::pair<double, Rank>, std::vector<std::pair<double, Rank>>,
                                   std::greater<>>;

struct Shard {
  double excess = 0;  // beyond the coarse model
  std::uint32_t table = 0;
  std::uint32_t index = 0;
  Places* places = nullptr;
};

std::vector<ChoiceRun> each_shard(const ChoiceModel& model, const Choice& choice) {
  std::vector<ChoiceRun> shards;
  for (const ChoiceRun& run : model.runs(choice))
    shards.insert(shards.end(), run.count, run);
  return shards;
}

}  // namespace

ChoiceModel coarse_model(const BoundRows& rows, const Domain& domain, double target,
                         const std::vector<CapacityMultipliers>& multipliers, double step,
                         double dear_step) {
  return Coarsening(rows, domain, target, multipliers, step, dear_step).coarsened();
}

void even_places(const ChoiceModel& coarse, const ChoiceModel& model, Allocation& start) {
  std::map<std::pair<double, Storage>, Places> by_size;
  std::vector<Shard> shards;
  for (std::uint32_t table = 0; table < start.choice.size(); ++table) {
    const Choice& choice = coarse.choices()[start.choice[table]];
    if (choice.reach != Reach::kDevice || start.ranks[table].empty()) continue;
    const std::vector<ChoiceRun> sizes = each_shard(coarse, choice);
    const std::vector<ChoiceRun> own =
        each_shard(model, model.choices()[*model.choice_of(choice.option)]);
    for (std::uint32_t i = 0; i < sizes.size(); ++i) {
      Places& places = by_size[{sizes[i].load, sizes[i].storage}];
      places.emplace(0, start.ranks[table][i]);
      shards.push_back({own[i].load - sizes[i].load, table, i, &places});
    }
  }
  std::stable_sort(shards.begin(), shards.end(),
                   [](const Shard& a, const Shard& b) { return a.excess > b.excess; });
  std::vector<double> excess(coarse.world_size(), 0.0);
  for (const Shard& shard : shards) {
    Places& places = *shard.places;
    // Ranks have got more since their place was entered.
    while (places.top().first < excess[places.top().second]) {
      const Rank rank = places.top().second;
      places.pop();
      places.emplace(excess[rank], rank);
    }
    const Rank rank = places.top().second;
    places.pop();
    excess[rank] += shard.excess;
    start.ranks[shard.table][shard.index] = rank;
  }
}

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

bool CoarseMethod::is_due(const Proof& proof) const {
  const CoarseParameters& own = proof.parameters().coarse;
  const double gap = proof.goal() - proof.bound();
  return proof.rating() < rating_ * (1 - own.rating_fall) && gap > 0 &&
         gap < own.most_gap * proof.goal();
}

void CoarseMethod::step(Proof& proof, Budget& budget) {
  const BoundRows& rows = proof.views().view(RankView::kJoint).rows();
  if (!proof_) {
    rating_ = proof.rating();
    proof_.emplace(rows, proof.bound(), proof.goal(), proof.parameters());
  }
  proof_->step(budget);
  if (auto own = proof_->take_proof())
    proof.accept(own->target, rows.classes(), {std::move(own->leaf)});
  if (auto suggested = proof_->take_suggestion())
    proof.suggest(std::move(suggested->start), suggested->target);
  if (proof_->has_ended()) proof_.reset();
}

}  // namespace shardwright::embedding
