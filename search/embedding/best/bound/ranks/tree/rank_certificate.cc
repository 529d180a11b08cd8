#include "search/embedding/best/bound/ranks/tree/rank_certificate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/embedding/bound/check_bound.h"

namespace shardwright::embedding {
namespace {

// Writes nodes in preorder.
// Thread safety: one thread at a time. Refers to its arguments.
class RankCertificate {
 public:
  RankCertificate(const RankModel& model, const std::vector<const RankNode*>& visited)
      : model_(model), visited_(visited) {
    std::sort(visited_.begin(), visited_.end(),
              [](const RankNode* a, const RankNode* b) { return a->place < b->place; });
  }

  void write(const MultiplierList& fixing, double bound, BoundCertificate& certificate) const {
    const std::vector<CapacityMultipliers> nothing(model_.num_ranks());
    struct Next {
      RankNodePlace place;
      const std::vector<CapacityMultipliers>* multipliers;  // of its parent
    };
    std::vector<Next> next{{{}, &nothing}};
    while (!next.empty()) {
      auto [place, multipliers] = next.back();
      next.pop_back();
      const RankNode* const visited = node_at(place);
      BoundNode& node = certificate.nodes.emplace_back();
      if (!place.parent) node.fixing = fixing;
      if (visited != nullptr) {
        node.fixing.insert(node.fixing.end(), visited->fixing.begin(), visited->fixing.end());
        if (!visited->multipliers.empty()) multipliers = &visited->multipliers;
      }
      node.is_leaf = visited == nullptr || !visited->division || visited->bound >= bound;
      if (node.is_leaf) {
        node.multipliers = *multipliers;
        node.by_search = visited != nullptr && visited->is_searched;
        continue;
      }
      write_division(*visited->division, node);
      next.push_back({{visited->id, false}, multipliers});
      next.push_back({{visited->id, true}, multipliers});
    }
  }

 private:
  // Null if none was visited there.
  const RankNode* node_at(const RankNodePlace& place) const {
    const auto found =
        std::lower_bound(visited_.begin(), visited_.end(), place,
                         [](const RankNode* a, const RankNodePlace& b) { return a->place < b; });
    return found != visited_.end() && (*found)->place == place ? *found : nullptr;
  }

  void write_division(const RankDivision& division, BoundNode& node) const {
    const ChoiceModel& model = model_.model();
    node.tables = {model.table(division.table)};
    if (division.first_child.empty()) {
      node.rank_branch = {division.rank, division.orbit};
      return;
    }
    for (const std::uint32_t c : division.first_child)
      node.first_child.push_back({model.choices()[c].option, model_.everywhere()});
  }

  const RankModel& model_;
  std::vector<const RankNode*> visited_;  // by place
};

}  // namespace

// A certificate of a bound has the children of all nodes below it.
double affordable_bound(const std::vector<const RankNode*>& visited, double bound,
                        std::uint64_t check_steps) {
  std::vector<std::pair<double, std::uint64_t>> steps;  // by the bound above which they count
  for (const RankNode* const node : visited) {
    if (!node->place.parent) continue;
    const auto parent =
        std::lower_bound(visited.begin(), visited.end(), *node->place.parent,
                         [](const RankNode* own, const RankNodeId& id) { return own->id < id; });
    if ((*parent)->bound >= bound) continue;
    steps.emplace_back((*parent)->bound, node->all_check_steps());
  }
  std::sort(steps.begin(), steps.end());
  std::uint64_t sum = 0;
  for (const auto& [below, own] : steps) {
    sum += own;
    if (sum > check_steps) return below;
  }
  return bound;
}

BoundCertificate rank_certificate(const RankModel& model, const MultiplierList& fixing,
                                  const std::vector<const RankNode*>& visited, double bound) {
  BoundCertificate certificate;
  certificate.bound = bound * (1 - kBoundRounding);
  certificate.ranks_apart = true;
  for (std::uint32_t rank = 0; rank < model.num_ranks(); ++rank)
    certificate.class_of_rank.push_back(rank);
  RankCertificate(model, visited).write(fixing, bound, certificate);
  return certificate;
}

}  // namespace shardwright::embedding
