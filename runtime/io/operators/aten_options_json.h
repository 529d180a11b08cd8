// Placements as words ("R", "S0", "P"), and the options of planning PyTorch models.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/operators/aten/aten_graph.h"
#include "core/operators/aten/roofline.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/json/json_shape.h"
#include "runtime/operators/plan_aten.h"

namespace shardwright {

// Index: AtenOutputRole.
inline constexpr std::array<std::string_view, 3> kOutputRoles{"output", "gradient", "mutation"};

// Reads R, S<dim>, P (sum), Pavg, Pmax or Pmin; "-" means that there is no tensor.
Status read_axis_word(JsonValue value, operators::MaybeAxisPlacement& out);
JsonShape axis_word_shape();
std::string axis_word(const operators::MaybeAxisPlacement& placement);

// Reads one word per mesh axis. If several axes shard one dimension, earlier axes cut first.
Status read_placement(JsonValue value, std::size_t num_axes, redistribution::Placement& out);

// Reads an options file. If `mesh` is not empty, it replaces the mesh of the text, which may then
// lack one. Errors (kInvalidInput with a JSON pointer): text that is no JSON, unknown keys, no
// mesh, placements whose length is not that of the mesh.
Result<PlanAtenOptions> read_aten_options(std::string_view text,
                                          const redistribution::MeshShape& mesh = {});
JsonShape aten_options_shape();

namespace operators {

// Describes a row of measured operators. Not for writing.
void describe(JsonMembers& members, OperatorTime& time);

}  // namespace operators
}  // namespace shardwright
