// What the tensors of a graph are for: those that depend on parameters alone, and those that only
// gradients of parameters need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/operators/aten/aten_graph.h"

namespace shardwright::operators {

// Returns, by node, whether its outputs depend on parameters alone. O(inputs).
std::vector<char> depends_on_parameters(const AtenGraph& graph);

// Returns, by node, the module to which it belongs. Autograd adds gradients outside of modules; such
// a backward operator belongs to the innermost module with all its inputs. O(inputs).
std::vector<std::string_view> modules_of(const AtenGraph& graph);

// Tells, by node and output, whether the output is used only to compute gradients of parameters.
// Thread safety: const members may be called from any thread.
class GradientUses {
 public:
  explicit GradientUses(const AtenGraph& graph);  // O(inputs)

  bool only(const TensorRef& ref) const {
    return uses_[ref.node][ref.output] == Use::kGradientsOnly;
  }

 private:
  enum class Use : std::uint8_t { kNone, kGradientsOnly, kOther };

  void add_use(const TensorRef& ref, bool is_for_gradients);
  // Ignores unused outputs. Returns false if no output is used.
  bool all_for_gradients(std::size_t node) const;

  std::vector<std::vector<Use>> uses_;
};

}  // namespace shardwright::operators
