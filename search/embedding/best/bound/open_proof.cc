#include "search/embedding/best/bound/open_proof.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "search/embedding/best/bound/bound_prover.h"

namespace shardwright::embedding {
namespace {

// Every pinned table has a class of its own, and the ranks that are left are another one.
bool fits(const Pins& pins, const ChoiceModel& model) {
  constexpr std::size_t kMostPins = 31;  // a ClassSet has a bit for each class
  std::vector<std::uint32_t> tables;
  for (const Pins::Step& step : pins.steps)
    tables.insert(tables.end(), step.tables.begin(), step.tables.end());
  if (tables != pins.tables || pins.sizes.size() != tables.size()) return false;
  if (tables.empty() || tables.size() > kMostPins) return false;
  if (std::any_of(tables.begin(), tables.end(),
                  [&](std::uint32_t table) { return table >= model.num_tables(); }))
    return false;
  std::uint64_t ranks = 0;
  for (const std::uint32_t size : pins.sizes) {
    if (size == 0) return false;
    ranks += size;
  }
  return ranks <= model.world_size();
}

// All nodes in preorder, each once.
bool is_whole(const TreePart& tree) {
  if (tree.nodes.empty() || tree.nodes.size() != tree.tree_size) return false;
  std::vector<std::uint8_t> is_seen(tree.tree_size, 0);
  std::vector<BoundTree::NodeId> next{0};
  for (const TreePart::Node& node : tree.nodes) {
    if (next.empty() || node.id != next.back() || is_seen[node.id] != 0) return false;
    next.pop_back();
    is_seen[node.id] = 1;
    if (node.first_child == BoundTree::kNone) continue;
    if (node.first_child + std::size_t{1} >= tree.tree_size) return false;
    next.push_back(node.first_child + 1);
    next.push_back(node.first_child);
  }
  return next.empty();
}

bool fits(const MultiplierList& list, const RankClasses& classes) {
  return std::all_of(list.begin(), list.end(),
                     [&](const auto& own) { return own.size() == classes.size(); });
}

}  // namespace

bool fits(const OpenProof& open, const ChoiceModel& model) {
  if (open.pins.has_value() != (open.view == RankView::kPinned)) return false;
  if (open.pins && !fits(*open.pins, model)) return false;
  return is_whole(open.tree) &&
         std::all_of(open.tree.nodes.begin(), open.tree.nodes.end(), [&](const auto& node) {
           return node.first_child == BoundTree::kNone || fits(node.branch, model);
         });
}

bool fits(const OpenProof& open, const RankClasses& classes) {
  if (open.pins) {
    for (const Pins::Step& step : open.pins->steps) {
      if (!fits(step.fixing, classes)) return false;
    }
  }
  return std::all_of(open.tree.nodes.begin(), open.tree.nodes.end(),
                     [&](const auto& node) { return fits(node.fixing, classes); });
}

bool BoundProver::has_open_proof() {
  return !finished_ && !only_aggregate_ && !targets_.is_early() && relaxation().tree().size() > 1;
}

OpenProof BoundProver::open_proof() {
  OpenProof open;
  open.ratings = {pin_rating_, light_rating_, tree_rating_};
  open.light_ceiling = light_ceiling_;
  open.light_trees_left = light_trees_left_;
  open.schedule = targets_.state();
  open.uniform = uniform_targets_.state();
  open.view = own_view();
  open.pins = relaxation().pins();
  open.tree = relaxation().tree().all();
  return open;
}

bool BoundProver::begin_from(OpenProof open) {
  if (only_aggregate_ || !fits(open, model()) || !targets_.go_on_from(open.schedule)) return false;
  if (targets_.separates_hosts() != (open.view == RankView::kSeparate)) return false;
  if (open.pins) views_.pin(*open.pins, true);
  TreeView& own = relaxation();
  if (!fits(open, own.rows().classes())) return false;
  pin_rating_ = open.ratings.pins;
  light_rating_ = open.ratings.light_tree;
  tree_rating_ = open.ratings.tree;
  light_ceiling_ = open.light_ceiling;
  light_trees_left_ = open.light_trees_left;
  uniform_targets_.go_on_from(open.uniform);
  own.tree().become(open.tree);
  return true;
}

}  // namespace shardwright::embedding
