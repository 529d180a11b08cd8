#include "search/embedding/questions/replan/move_proof.h"

#include <cmath>
#include <cstdint>
#include <numeric>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/caches/check_load_factors.h"

namespace shardwright::embedding {
namespace {

// The check proves slightly more than it is asked for, and adds in another order.
constexpr double kProofGap = 3e-9;
constexpr std::uint64_t kCheckSteps = std::uint64_t{1} << 24;  // about 0.2 s
constexpr std::uint64_t kCheckWork = 20'000;                   // what it counts as

BoundCertificate certificate_of(const RankPrices& prices, const ChoiceModel& model) {
  BoundCertificate certificate;
  certificate.by_search = true;
  certificate.class_of_rank.resize(model.world_size());
  std::iota(certificate.class_of_rank.begin(), certificate.class_of_rank.end(), 0U);
  BoundNode& leaf = certificate.nodes.emplace_back();
  for (Rank rank = 0; rank < model.world_size(); ++rank) {
    const PerTier<double>& bytes = prices.bytes[rank];
    leaf.multipliers.push_back(
        {prices.load[rank] * model.time_scale(rank), bytes.hbm, bytes.ddr, bytes.ssd});
  }
  certificate.load_factors = load_factors_of(model.pool().space());
  return certificate;
}

}  // namespace

MoveProof prove_moves(const MoveSearch& search, const ChoiceModel& model, const HeldPlan& held,
                      double rating_bound, Budget& budget) {
  MoveProof proof;
  if (std::isfinite(rating_bound)) proof.bound = rating_bound;
  BoundCertificate certificate = certificate_of(search.prices(), model);
  for (const double bound : {search.bound(), search.bound_by_prices()}) {
    if (budget.interrupted()) break;
    certificate.bound = bound * (1 - kProofGap);
    if (!(certificate.bound > proof.bound) || !std::isfinite(bound)) continue;
    budget.spend(kCheckWork);
    const auto is_stopped = [&] { return budget.interrupted().has_value(); };
    if (check_move_bound(model.pool().space(), model.available(), held, certificate, kCheckSteps,
                         is_stopped))
      continue;
    proof.bound = certificate.bound;
    proof.certificate = certificate;
    break;
  }
  return proof;
}

}  // namespace shardwright::embedding
