#include "search/embedding/bound/proof.h"

#include "core/embedding/load_factors.h"
#include "search/embedding/bound/aggregate_bound.h"

namespace shardwright::embedding {

Proof::Proof(const ChoiceModel& model, const BoundParameters& parameters)
    : parameters_(parameters), shared_trees_(model, parameters_) {
  const RankClasses& classes = shared_trees_.tree_of(HostClasses::kJoint).rows().classes();
  certificate_.class_of_rank = classes.class_of_rank();
  certificate_.load_factors = load_factors_of(model.pool().space());
  certificate_.nodes.emplace_back().multipliers.resize(classes.size());
}

void Proof::accept(double bound, const RankClasses& classes, std::vector<BoundNode> nodes,
                   bool by_search) {
  const double rounded = bound * (1 - kBoundRounding);
  if (!(rounded > certificate_.bound)) return;
  certificate_.bound = rounded;
  certificate_.class_of_rank = classes.class_of_rank();
  certificate_.uniform_apart = classes.uniform_apart();
  certificate_.nodes = std::move(nodes);
  certificate_.by_search = by_search;
}

// With placement rules there are no suggestions, because the proof's model may have other choices.
void Proof::suggest(Allocation start, double target) {
  constexpr std::size_t kMost = 8;
  if (!parameters_.methods.suggestions) return;
  if (start.choice.empty() || shared_trees_.has_own_model()) return;
  if (suggestions_.size() == kMost) suggestions_.erase(suggestions_.begin());
  suggestions_.push_back({std::move(start), target});
}

}  // namespace shardwright::embedding
