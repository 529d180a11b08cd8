#include "search/embedding/best/bound/bound_tree.h"

#include <algorithm>
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
  // The model need not have the tables in the order of their identifiers.
  std::vector<std::uint32_t> tables = branch.tables;
  std::sort(tables.begin(), tables.end(), [&](std::uint32_t a, std::uint32_t b) {
    return model.table(a).index() < model.table(b).index();
  });
  BoundNode node;
  node.is_leaf = false;
  node.count = branch.count;
  for (const std::uint32_t table : tables)
    node.tables.push_back(model.table(table));
  Domain first = domain_;
  Domain second = domain_;
  for (std::size_t i = 0; i < branch.count; ++i) {
    const auto own = first.begin() + model.first_choice(tables[i]);
    std::fill_n(own, model.choices(tables[i]).size(), 0);
  }
  const std::uint32_t begin = model.first_choice(branch.tables.front());
  for (const auto& [choice, classes] : branch.first_child) {
    const std::uint32_t number = choice - begin;
    const std::uint32_t of_first = model.first_choice(tables.front()) + number;
    node.first_child.push_back({model.choices()[of_first].option, classes});
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const std::uint32_t own = model.first_choice(tables[i]) + number;
      if (i < branch.count) first[own] = domain_[own] & classes;
      if (i + 1 >= branch.count) second[own] = domain_[own] & ~classes;
    }
  }
  nodes_.push_back(std::move(node));
  open_.push_back(std::move(second));
  open_.push_back(std::move(first));
}

}  // namespace shardwright::embedding
