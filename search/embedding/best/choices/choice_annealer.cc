#include "search/embedding/best/choices/choice_annealer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace shardwright::embedding {
namespace {

constexpr double kTinyEnergy = 1e-12;  // a temperature must not be zero

}  // namespace

ChoiceAnnealer::ChoiceAnnealer(const SearchContext& context, const AnnealingParameters& parameters)
    : context_(&context), parameters_(&parameters) {
  constexpr double kReadsPerUpdate = 4;  // every rank is compared, in order
  const ChoiceAnnealingParameters& own = parameters.choices;
  const ChoiceModel& model = context.model();
  if (model.num_tables() < 2 || model.rules().any()) return;
  const auto tables = static_cast<double>(model.num_tables());
  const auto reads = static_cast<double>(model.world_size() * (1 + model.tiers().size()));
  const double affordable =
      static_cast<double>(own.most_work) / (tables * tables * (2 + reads / kReadsPerUpdate));
  if (affordable >= own.least_moves_per_table)
    moves_per_table_ = std::min(affordable, own.moves_per_table);
}

// Tables with another choice, or with another host for the only one.
std::vector<std::uint32_t> ChoiceAnnealer::open_tables(const ConsideredChoices& considered) const {
  std::vector<std::uint32_t> tables;
  for (std::uint32_t table = 0; table < context_->model().num_tables(); ++table) {
    const std::uint32_t blocks = placer_->num_blocks(placer_->placed()[table].choice);
    if (considered.count(table) > 1 || (blocks > 0 && placer_->num_hosts() > 1))
      tables.push_back(table);
  }
  return tables;
}

void ChoiceAnnealer::change(std::uint32_t table, const ConsideredChoices& considered,
                            RandomGenerator& random) {
  const std::uint32_t current = placer_->placed()[table].choice;
  const bool is_movable = placer_->num_hosts() > 1 && placer_->num_blocks(current) > 0;
  const bool moves = is_movable && (considered.count(table) < 2 ||
                                    random.fraction() < parameters_->choices.moved_part);
  PlacedChoice next{moves ? current : considered.draw(table, current, random), {}};
  const std::uint32_t blocks = placer_->num_blocks(next.choice);
  if (next.choice == current && !is_movable) return;
  for (std::uint32_t block = 0; block < blocks; ++block)
    next.hosts.push_back(random.below(placer_->num_hosts()));
  placer_->exchange(table, next);
  changes_.push_back({table, std::move(next)});
}

void ChoiceAnnealer::take_back() {
  for (auto own = changes_.rbegin(); own != changes_.rend(); ++own)
    placer_->exchange(own->table, own->other);
}

Allocation ChoiceAnnealer::improve(const std::vector<std::uint32_t>& choices,
                                   const ConsideredChoices& considered, double rating,
                                   double target, RandomGenerator& random, StopCheck& stopped) {
  const ChoiceAnnealingParameters& own = parameters_->choices;
  if (!placer_) placer_.emplace(*context_, parameters_->construct);
  placer_->begin(choices, {target, own.memory_weight});
  double energy = placer_->energy(std::numeric_limits<double>::infinity());
  const std::vector<std::uint32_t> tables = open_tables(considered);
  double least = energy;
  std::vector<PlacedChoice> best = placer_->placed();
  const double distance = std::max(0.0, rating / target - 1);
  const double unit = context_->model().world_size() * distance * distance + kTinyEnergy;
  const auto moves = static_cast<int>(moves_per_table_ * static_cast<double>(tables.size()));
  const double fall = std::log(own.coldest / own.hottest);
  for (int i = 0; i < moves && least > 0 && !stopped(placer_->work()); ++i) {
    changes_.clear();
    const int count = random.fraction() < own.pair_part ? 2 : 1;
    for (int j = 0; j < count; ++j)
      change(tables[random.below(tables.size())], considered, random);
    if (changes_.empty()) continue;
    const double temperature = unit * own.hottest * std::exp(fall * i / moves);
    const double most = energy - temperature * std::log(1 - random.fraction());
    const double next = placer_->energy(most);
    if (next > most) {
      take_back();
      continue;
    }
    energy = next;
    if (energy >= least) continue;
    least = energy;
    best = placer_->placed();
  }
  for (std::uint32_t table = 0; table < best.size(); ++table)
    placer_->exchange(table, best[table]);
  return placer_->allocation();
}

}  // namespace shardwright::embedding
