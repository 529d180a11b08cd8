#include "search/embedding/best/bound/tree/light_tree.h"

#include <utility>

#include "search/embedding/best/bound/relaxation/domain_reduction.h"
#include "search/embedding/best/bound/tree/bound_tree.h"

namespace shardwright::embedding {

std::vector<BoundNode> prove_by_light_tree(const BoundRows& rows, const Branching& branching,
                                           const TableKinds& kinds, double target,
                                           const BoundParameters& parameters, Budget& budget) {
  const std::uint64_t end = budget.work_done() + parameters.targets.light_work;
  BoundTree tree(rows);
  struct Open {
    BoundTree::NodeId node;
    Domain domain;
  };
  std::vector<Open> open;
  open.push_back({0, tree.domain(0, target, budget)});
  while (!open.empty()) {
    if (budget.work_done() >= end || budget.interrupted()) return {};
    Open next = std::move(open.back());
    open.pop_back();
    DomainReduction reduced =
        reduce_domain(rows, target, next.domain, parameters.aggregate, budget);
    if (reduced.excluded) {
      BoundNode leaf;
      leaf.fixing = std::move(reduced.fixing);
      leaf.multipliers = std::move(reduced.multipliers);
      tree.close(next.node, target, std::move(leaf));
      continue;
    }
    if (reduced.plan.shares.empty()) return {};
    const std::vector<EqualTables> groups = kinds.groups(next.domain);
    std::optional<Branch> branch =
        branching.choose_large(next.domain, groups, reduced.plan, target);
    if (!branch) branch = branching.choose_widest_gap(next.domain, groups, target);
    if (!branch) return {};
    const BoundTree::NodeId first =
        tree.divide(next.node, target, *branch, std::move(reduced.fixing));
    for (const bool is_first : {true, false}) {  // the last is next
      Domain domain = next.domain;
      restrict_to_child(rows.model(), *branch, is_first, domain);
      open.push_back({is_first ? first : first + 1, std::move(domain)});
    }
  }
  return tree.certificate_nodes(target);
}

}  // namespace shardwright::embedding
