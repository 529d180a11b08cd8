#include "search/embedding/best/bound/bound_tree.h"

#include <utility>

namespace shardwright::embedding {

void BoundTree::begin(const BoundRows& rows, double target) {
  Domain root(rows.model().choices().size(), 0);
  for (std::uint32_t choice = 0; choice < root.size(); ++choice) {
    if (rows.is_possible(choice, target)) root[choice] = rows.classes().everywhere();
  }
  nodes_.clear();
  open_.clear();
  open_.push_back(std::move(root));
  num_visited_ = 0;
}

void BoundTree::visit_next() {
  domain_ = std::move(open_.back());
  open_.pop_back();
  ++num_visited_;
}

void BoundTree::divide(const ChoiceModel& model, const Branch& branch) {
  BoundNode node;
  node.is_leaf = false;
  node.table = model.table(branch.table);
  Domain first = domain_;
  Domain second = domain_;
  const std::uint32_t begin = model.first_choice(branch.table);
  for (std::uint32_t i = 0; i < model.choices(branch.table).size(); ++i)
    first[begin + i] = 0;
  for (const auto& [choice, classes] : branch.first_child) {
    node.first_child.push_back({model.choices()[choice].option, classes});
    first[choice] = domain_[choice] & classes;
    second[choice] = domain_[choice] & ~classes;
  }
  nodes_.push_back(std::move(node));
  open_.push_back(std::move(second));
  open_.push_back(std::move(first));
}

}  // namespace shardwright::embedding
