#include "search/embedding/bound/bound_tree.h"

#include <algorithm>
#include <utility>

namespace shardwright::embedding {

template <class Visit>
void BoundTree::visit_in_preorder(const Visit& visit) const {
  std::vector<NodeId> next{0};
  while (!next.empty()) {
    const NodeId id = next.back();
    next.pop_back();
    visit(id, nodes_[id]);
    if (nodes_[id].first_child == kNone) continue;
    next.push_back(nodes_[id].first_child + 1);
    next.push_back(nodes_[id].first_child);
  }
}

std::vector<BoundTree::NodeId> BoundTree::open_leaves(double target) const {
  std::vector<NodeId> open;
  visit_in_preorder([&](NodeId id, const Node& node) {
    if (node.first_child == kNone && node.proved < target) open.push_back(id);
  });
  return open;
}

double BoundTree::closed_part(double target) const {
  double part = 0;
  for (const Node& node : nodes_) {
    if (node.first_child == kNone && node.proved >= target) part += node.part;
  }
  return part;
}

Domain BoundTree::domain(NodeId node, double target, Budget& budget) const {
  Domain domain = root_domain(*rows_, target);
  std::vector<NodeId> path;
  for (NodeId child = node; child != 0; child = nodes_[child].parent)
    path.push_back(child);
  for (; !path.empty(); path.pop_back()) {
    const Node& parent = nodes_[nodes_[path.back()].parent];
    if (parent.divided >= target) fix_choices(*rows_, target, parent.fixing, domain, budget);
    restrict_to_child(rows_->model(), parent.branch, path.back() == parent.first_child, domain);
  }
  return domain;
}

void BoundTree::close(NodeId leaf, double target, BoundNode proof, std::uint64_t search_steps) {
  nodes_[leaf].search_steps = search_steps;
  nodes_[leaf].proved = target;
  nodes_[leaf].proof = std::move(proof);
}

BoundTree::NodeId BoundTree::divide(NodeId leaf, double target, const Branch& branch,
                                    MultiplierList fixing) {
  const NodeId first = static_cast<NodeId>(nodes_.size());
  nodes_[leaf].first_child = first;
  nodes_[leaf].branch = branch;
  nodes_[leaf].fixing = std::move(fixing);
  nodes_[leaf].divided = target;
  nodes_[leaf].proof = {};
  nodes_[leaf].search_steps = 0;
  nodes_.resize(nodes_.size() + 2);
  for (const NodeId child : {first, first + 1}) {
    nodes_[child].parent = leaf;
    nodes_[child].part = nodes_[leaf].part / 2;
  }
  return first;
}

std::uint64_t BoundTree::search_steps() const {
  std::uint64_t steps = 0;
  for (const Node& node : nodes_)
    steps += node.search_steps;
  return steps;
}

BoundNode BoundTree::inner_node(const Node& own, double target) const {
  const ChoiceModel& model = rows_->model();
  const Branch& branch = own.branch;
  BoundNode node;
  if (own.divided >= target) node.fixing = own.fixing;
  node.is_leaf = false;
  node.count = branch.count;
  for (const std::uint32_t table : branch.tables)
    node.tables.push_back(model.table(table));
  for (const auto& [choice, classes] : branch.first_child)
    node.first_child.push_back({model.choices()[choice].option, classes});
  return node;
}

std::vector<BoundNode> BoundTree::certificate_nodes(double target) const {
  std::vector<BoundNode> nodes;
  visit_in_preorder([&](NodeId, const Node& node) {
    nodes.push_back(node.first_child == kNone ? node.proof : inner_node(node, target));
  });
  return nodes;
}

}  // namespace shardwright::embedding
