#include "search/embedding/best/moves/rank_sampler.h"

#include <span>

namespace shardwright::embedding {

Rank RankSampler::draw_loaded() {
  const std::span<const RankLoad> ranks = state_->ranks();
  Rank worst = random_->below(ranks.size());
  for (std::uint32_t drawn = 1; drawn < parameters_->loaded_rank_tournament; ++drawn) {
    const Rank other = random_->below(ranks.size());
    if (ranks[other].energy > ranks[worst].energy) worst = other;
  }
  return worst;
}

Rank RankSampler::draw_target(const ShardUse& use, Window window) {
  const bool any = random_->coin();
  Rank best = placer_->draw_rank(use, window);
  if (any) return best;
  double least = state_->gain(best, use);
  for (std::uint32_t drawn = 1; drawn < parameters_->target_tournament; ++drawn) {
    const Rank other = placer_->draw_rank(use, window);
    const double gain = state_->gain(other, use);
    if (gain < least) {
      least = gain;
      best = other;
    }
  }
  return best;
}

std::uint32_t RankSampler::breadth() {
  const std::uint32_t world = state_->model().world_size();
  if (world <= parameters_->few_ranks || random_->one_in(parameters_->full_scan_one_in))
    return world;
  return parameters_->sampled_ranks;
}

}  // namespace shardwright::embedding
