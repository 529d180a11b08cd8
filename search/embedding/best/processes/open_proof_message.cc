#include "search/embedding/best/processes/open_proof_message.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "search/embedding/best/processes/messages.h"
#include "search/embedding/best/processes/tree_message.h"
#include "search/message.h"

namespace shardwright::embedding {
namespace {

constexpr std::uint8_t kVersion = 1;

void put(MessageWriter& to, const TargetSchedule::State& state) {
  to.put(state.stage);
  to.put(state.effort);
  to.put_flag(state.was_cut_short);
  to.put(state.root_work);
  to.put(state.tree_work);
  to.put(state.ceiling);
}

TargetSchedule::State get_schedule(MessageReader& from) {
  TargetSchedule::State state;
  state.stage = from.get<std::uint8_t>();
  state.effort = from.get<std::uint32_t>();
  state.was_cut_short = from.get_flag();
  state.root_work = from.get<std::uint64_t>();
  state.tree_work = from.get<std::uint64_t>();
  state.ceiling = from.get<double>();
  return state;
}

void put(MessageWriter& to, const UniformTargets::State& state) {
  to.put(state.effort);
  to.put(state.ceiling);
  to.put(state.stuck);
  to.put(state.cut_short);
  to.put(state.share.own);
  to.put(state.share.others);
  to.put_flag(state.share.others_ended);
}

UniformTargets::State get_uniform(MessageReader& from) {
  UniformTargets::State state;
  state.effort = from.get<std::uint32_t>();
  state.ceiling = from.get<double>();
  state.stuck = from.get<double>();
  state.cut_short = from.get<std::uint32_t>();
  state.share.own = from.get<std::uint64_t>();
  state.share.others = from.get<std::uint64_t>();
  state.share.others_ended = from.get_flag();
  return state;
}

// By number of the node in the part, ascending.
void put_proofs(MessageWriter& to, const TreePart& part, std::size_t most_bytes) {
  std::uint32_t number = 0;
  for (const TreePart::Node& node : part.nodes) {
    if (node.first_child == BoundTree::kNone && node.proved > 0) {
      to.put_flag(true);
      to.put(number);
      to.put(node.proved);
      put_leaf(to, node.proof);
      to.put(node.search_steps);
      if (to.size() > most_bytes) break;
    }
    ++number;
  }
  to.put_flag(false);
}

bool get_proofs(MessageReader& from, TreePart& part) {
  while (from.get_flag()) {
    const auto number = from.get<std::uint32_t>();
    if (number >= part.nodes.size()) return false;
    TreePart::Node& node = part.nodes[number];
    node.proved = from.get<double>();
    node.proof = get_leaf(from);
    node.search_steps = from.get<std::uint64_t>();
  }
  return true;
}

std::optional<OpenProof> get_open_proof(MessageReader& from, const ChoiceModel& tree_model) {
  OpenProof open;
  open.ratings.pins = from.get<double>();
  open.ratings.light_tree = from.get<double>();
  open.ratings.tree = from.get<double>();
  open.light_ceiling = from.get<double>();
  open.light_trees_left = from.get<std::uint32_t>();
  open.schedule = get_schedule(from);
  open.uniform = get_uniform(from);
  const auto view = from.get<std::uint8_t>();
  if (view >= kRankViews) return std::nullopt;
  open.view = static_cast<RankView>(view);
  if (open.view == RankView::kPinned) open.pins = get_pins(from);
  std::optional<TreePart> part = get_part(from, tree_model);
  if (!part || !get_proofs(from, *part) || !from.is_complete()) return std::nullopt;
  open.tree = *std::move(part);
  return fits(open, tree_model) ? std::optional(std::move(open)) : std::nullopt;
}

}  // namespace

std::string to_message(const OpenProof& open, const ChoiceModel& model, std::size_t most_bytes) {
  MessageWriter to;
  to.put(kVersion);
  to.put_text(fingerprint_of(model));
  to.put(open.ratings.pins);
  to.put(open.ratings.light_tree);
  to.put(open.ratings.tree);
  to.put(open.light_ceiling);
  to.put(open.light_trees_left);
  put(to, open.schedule);
  put(to, open.uniform);
  to.put(static_cast<std::uint8_t>(open.view));
  if (open.pins) put(to, *open.pins);
  put(to, open.tree);
  put_proofs(to, open.tree, most_bytes);
  return to.take();
}

Result<OpenProof> open_proof_of(std::string_view message, const ChoiceModel& model,
                                const ChoiceModel& tree_model) {
  MessageReader from(message);
  if (from.get<std::uint8_t>() != kVersion)
    return invalid_input("", "another version of shardwright left this proof");
  if (from.get_text() != fingerprint_of(model))
    return invalid_input("", "this proof is about other options or costs");
  std::optional<OpenProof> open = get_open_proof(from, tree_model);
  if (!open) return invalid_input("", "this proof is damaged");
  return *std::move(open);
}

}  // namespace shardwright::embedding
