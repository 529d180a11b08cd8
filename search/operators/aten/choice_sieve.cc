#include "search/operators/aten/choice_sieve.h"

#include <algorithm>
#include <utility>

#include "search/operators/aten/aten_variables.h"

namespace shardwright::operators {
namespace {

constexpr double kLeastPart = 1e-9;

bool is_identity(const std::vector<std::uint32_t>& leaders) {
  for (std::uint32_t v = 0; v < leaders.size(); ++v) {
    if (leaders[v] != v) return false;
  }
  return true;
}

}  // namespace

ChoiceSieve::ChoiceSieve(const AtenModel& model, std::vector<std::uint32_t> leaders,
                         PlacementMessages messages)
    : model_(&model), leaders_(std::move(leaders)), messages_(std::move(messages)) {}

ChoiceSieve::ChoiceSieve(const AtenModel& model, const SieveParameters& parameters)
    : ChoiceSieve(model, model.leaders, first_messages(model, parameters)) {}

PlacementMessages ChoiceSieve::first_messages(const AtenModel& model,
                                              const SieveParameters& parameters) {
  const std::vector<std::uint32_t> blocks = block_leaders(model.variables);
  if (blocks == model.leaders || is_identity(blocks)) {
    PlacementMessages messages(model, model.leaders);
    messages.sweep(parameters.first_sweeps);
    return messages;
  }
  ChoiceSieve sieve = of_blocks(model, parameters).spread();
  sieve.messages_.hurry(parameters.hurried, parameters.haste);
  sieve.messages_.sweep(parameters.sweeps_from_blocks);
  return std::move(sieve.messages_);
}

ChoiceSieve ChoiceSieve::of_blocks(const AtenModel& model, const SieveParameters& parameters) {
  std::vector<std::uint32_t> leaders = block_leaders(model.variables);
  if (is_identity(leaders)) leaders = model.leaders;
  PlacementMessages messages(model, leaders);
  ChoiceSieve sieve(model, std::move(leaders), std::move(messages));
  sieve.settle(parameters);
  return sieve;
}

ChoiceSieve ChoiceSieve::spread() const {
  return {*model_, model_->leaders, PlacementMessages(messages_, model_->leaders)};
}

void ChoiceSieve::settle(const SieveParameters& parameters) {
  double before = -kForbidden;
  for (int round = 0; round < parameters.most_block_rounds; ++round) {
    messages_.sweep(parameters.block_sweeps);
    if (messages_.bound() - before < parameters.least_block_gain * messages_.bound()) break;
    before = messages_.bound();
  }
}

void ChoiceSieve::settle_at(std::span<const double> prices, std::int64_t limit,
                            const SieveParameters& parameters) {
  messages_.set_prices(prices, limit);
  settle(parameters);
}

KeptChoices ChoiceSieve::at_most(double most) const {
  KeptChoices kept(leaders_.size());
  for (std::uint32_t v = 0; v < kept.size(); ++v) {
    if (leaders_[v] != v) {
      kept[v] = kept[leaders_[v]];
      continue;
    }
    for (std::uint32_t choice = 0; choice < model_->costs[v].size(); ++choice) {
      if (messages_.bound_with(v, choice) <= most) kept[v].push_back(choice);
    }
  }
  return kept;
}

KeptChoices ChoiceSieve::near(double& part, double choices) const {
  const double scale = std::max(1.0, messages_.bound());
  const auto within = [&] { return at_most(messages_.least_bound_with() + part * scale); };
  KeptChoices kept = within();
  while (per_variable(kept) > choices && part > kLeastPart) {
    part /= 2;
    kept = within();
  }
  return kept;
}

double ChoiceSieve::per_variable(const KeptChoices& kept) const {
  std::size_t sum = 0;
  std::size_t variables = 0;
  for (std::uint32_t v = 0; v < kept.size(); ++v) {
    if (leaders_[v] != v || model_->costs[v].size() < 2) continue;
    sum += kept[v].size();
    ++variables;
  }
  return static_cast<double>(sum) / static_cast<double>(std::max<std::size_t>(variables, 1));
}

double ChoiceSieve::least_left_out(const KeptChoices& kept) const {
  double least = kForbidden;
  for (std::uint32_t v = 0; v < kept.size(); ++v) {
    if (leaders_[v] != v) continue;
    auto next = kept[v].begin();
    for (std::uint32_t choice = 0; choice < model_->costs[v].size(); ++choice) {
      if (next != kept[v].end() && *next == choice) {
        ++next;
        continue;
      }
      least = std::min(least, messages_.bound_with(v, choice));
    }
  }
  return least;
}

}  // namespace shardwright::operators
