#include "search/operators/aten/plan_moves.h"

#include <map>
#include <utility>

#include "core/operators/aten/plan/plan_memory.h"
#include "core/redistribution/placement/move.h"

namespace shardwright::operators {
namespace {

using redistribution::Path;
using redistribution::PathStep;
using redistribution::Placement;

// Searches once for tensors of equal shape and type with equal placements.
// Thread safety: one thread at a time.
class MoveFinder {
 public:
  MoveFinder(const AtenPlan& plan, const TransitionModel& transitions)
      : plan_(plan), transitions_(transitions) {}

  // Sets the path and what it sends.
  void find(const AtenTensor& tensor, const Placement& source, const Placement& target,
            AtenMove& move) {
    Key key{{tensor.shape.begin(), tensor.shape.end()},
            bytes_of(tensor.type),
            source.code(),
            target.code()};
    const auto [known, is_new] = found_.emplace(std::move(key), Found());
    Found& found = known->second;
    if (is_new) {
      found.path = transitions_.path(tensor, source, target);
      Placement at = source;
      for (const PathStep& step : found.path.steps) {
        found.sent_bytes += bytes_of(tensor.type) *
                            redistribution::sent_elements(tensor.shape, plan_.mesh, at, step.move);
        at = step.after;
      }
    }
    move.path = found.path;
    move.sent_bytes = found.sent_bytes;
  }

 private:
  struct Key {
    std::vector<std::int64_t> shape;
    std::int64_t itemsize = 0;
    std::uint64_t source = 0;
    std::uint64_t target = 0;

    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Found {
    Path path;
    std::int64_t sent_bytes = 0;
  };

  const AtenPlan& plan_;
  const TransitionModel& transitions_;
  std::map<Key, Found> found_;
};

}  // namespace

std::vector<AtenMove> moves_of(const AtenGraph& graph, const AtenPlan& plan,
                               const TransitionModel& transitions) {
  MoveFinder finder(plan, transitions);
  std::vector<AtenMove> moves;
  const auto add = [&](const TensorRef& ref, const MaybePlacement& target, AtenMove move) {
    if (!is_moved(plan, ref, target)) return;
    finder.find(graph.tensor(ref), *plan.nodes[ref.node].outputs[ref.output], *target, move);
    if (!move.path.steps.empty()) moves.push_back(std::move(move));
  };
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    for (std::uint32_t i = 0; i < graph[n].inputs.size(); ++i) {
      add(graph[n].inputs[i], plan.nodes[n].inputs[i],
          {false, n, i, plan.nodes[n].redistribute_us[i], {}, 0});
    }
  }
  for (std::uint32_t o = 0; o < graph.outputs().size(); ++o) {
    const AtenOutputPlan& output = plan.outputs[o];
    add(graph.outputs()[o].value, output.placement, {true, o, 0, output.redistribute_us, {}, 0});
  }
  return moves;
}

}  // namespace shardwright::operators
