// The cost of an assignment of sharding specs, row by row: the verifier of the auto-sharding
// search.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/operators/autoshard/autoshard_graph.h"
#include "core/status.h"

namespace shardwright::operators::autoshard {

// The specs that an op requires of its operands: its 0, 1 or 2 decision variables.
// Thread safety: a value.
struct OpSpecs {
  std::uint8_t count = 0;
  std::array<Spec, 2> specs{};

  friend bool operator==(const OpSpecs&, const OpSpecs&) = default;
};

using Assignment = std::vector<OpSpecs>;  // by op

// Costs are whole numbers, except those of v2 views, which are multiples of 1/devices. A "scaled"
// cost is multiplied by the number of devices. It is whole, so sums are exact in any order.

struct CostRow {
  std::string name;  // the op, "|-" and the tensor that is resharded, or "output"
  std::string in;
  std::string out;
  std::int64_t scaled_cost = 0;
  double cost = 0;  // elements moved

  friend bool operator==(const CostRow&, const CostRow&) = default;
};

struct Evaluation {
  std::vector<CostRow> rows;  // without the row of the total
  std::int64_t scaled_total = 0;
  double total = 0;
};

inline constexpr std::int64_t kMaxDevices = 1'000'000;

double unscaled(std::int64_t scaled_cost, std::int64_t devices);

// Checks that costs on this many devices can be computed. Errors: kInvalidInput at `/p`;
// kUnsupported at `/graph` if scaled costs could exceed 2^62.
Status check_request(const Graph& graph, std::int64_t devices);

// Elements moved to reshard a tensor, truncated to a whole number. Source: see CostModel,
// `calculate_reshard_cost_z3`.
std::int64_t reshard_cost(Spec from, Spec to, std::int64_t elements, std::int64_t devices,
                          CostModel model);

// What the op itself communicates, scaled. `input` is the spec of its first operand before
// resharding, `required` that after. Source: see CostModel, `calculate_comm_cost_z3`.
std::int64_t scaled_own_cost(const Graph& graph, std::size_t op, Spec input, Spec required,
                             std::int64_t devices, CostModel model);

// The variables of an op whose first one is `first`; nothing if the op cannot compute from it. For
// an op without variables, `first` is ignored.
std::optional<OpSpecs> specs_from_first(const Graph& graph, std::size_t op, Spec first,
                                        CostModel model);

// The spec of the op's output. `input` is the spec of its first operand; it is ignored if the op
// has variables or no operands.
Spec output_spec(const Graph& graph, std::size_t op, const OpSpecs& specs, Spec input,
                 CostModel model);

// The output spec of every op. Precondition: `assignment` has passed evaluate.
std::vector<Spec> output_specs(const Graph& graph, const Assignment& assignment, CostModel model);

// Costs row by row, in the order in which they are printed. Errors: as check_request; kInvalidInput
// at `/assignment/<op>` for variables that are missing, too many or that the op does not allow.
// O(ops + args).
Result<Evaluation> evaluate(const Graph& graph, const Assignment& assignment, std::int64_t devices,
                            CostModel model);

}  // namespace shardwright::operators::autoshard
