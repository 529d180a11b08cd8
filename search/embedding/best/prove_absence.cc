#include "search/embedding/best/prove_absence.h"

#include <algorithm>
#include <limits>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/caches/check_load_factors.h"
#include "search/embedding/best/bound/bound_prover.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright {
namespace {

using embedding::BoundCertificate;
using embedding::BoundParameters;
using embedding::BoundProver;
using embedding::ChoiceModel;
using embedding::OptionPool;
using embedding::Topology;

// Work limit of a certificate's check: a fraction of a second.
constexpr std::uint64_t kAbsenceCheckSteps = std::uint64_t{1} << 27;
// The target lies this far above the rating that must be proved, which leaves room for rounding.
constexpr double kTargetFactor = 2;
// A small shortage needs large prices to lift the bound to the target. For a bound of the rating
// alone such prices are useless.
constexpr double kMaxMultiplier = 1e6;
// The bound is looked at after this many steps.
constexpr std::uint64_t kSlice = 10'000;

// All ranks in one class and no prices: enough if a table has no place at all.
BoundCertificate closed_root(const embedding::SearchSpace& space, const Topology& available) {
  BoundCertificate certificate;
  certificate.bound = std::numeric_limits<double>::infinity();
  certificate.class_of_rank.assign(available.world_size(), 0);
  certificate.nodes.emplace_back().multipliers.resize(1);
  certificate.load_factors = load_factors_of(space);
  return certificate;
}

// Runs the prover against a rating that every plan stays below.
std::optional<BoundCertificate> raise_above(double rating, const ChoiceModel& model,
                                            std::uint64_t work, Budget& budget,
                                            BoundParameters parameters) {
  parameters.aggregate.max_multiplier = kMaxMultiplier;
  parameters.targets.light_trees = 1;  // a lower target would be of no use
  BoundProver prover(model, parameters);
  const std::uint64_t end = budget.work_done() + work;
  while (prover.bound() < rating) {
    const std::uint64_t before = budget.work_done();
    if (prover.finished() || before >= end || budget.interrupted()) return std::nullopt;
    prover.run(std::min(kSlice, end - before), kTargetFactor * rating, budget);
    if (budget.work_done() == before) return std::nullopt;
  }
  BoundCertificate certificate = prover.certificate();
  certificate.bound = std::numeric_limits<double>::infinity();
  return certificate;
}

}  // namespace

std::optional<BoundCertificate> prove_absence(const OptionPool& pool, const Topology& available,
                                              std::uint64_t work, Budget& budget,
                                              const BoundParameters& parameters) {
  // A proof covers the options of the space only.
  if (pool.num_added() > 0 || budget.interrupted()) return std::nullopt;
  const std::optional<double> rating = embedding::unreachable_rating(pool.space());
  if (!rating) return std::nullopt;
  const auto is_proved = [&](const BoundCertificate& certificate) {
    return !embedding::check_absence(pool.space(), available, certificate, kAbsenceCheckSteps,
                                     [&] { return budget.interrupted().has_value(); });
  };
  BoundCertificate root = closed_root(pool.space(), available);
  if (is_proved(root)) return root;
  const ChoiceModel model(pool, available, budget);
  if (!model.status().ok()) return std::nullopt;
  std::optional<BoundCertificate> found = raise_above(*rating, model, work, budget, parameters);
  if (found && !is_proved(*found)) found.reset();
  return found;
}

}  // namespace shardwright
