// The arguments of the commands that read graphs of PyTorch's operators.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/cli/options/arguments.h"
#include "runtime/operators/plan_aten.h"

namespace shardwright::cli {

struct AtenArguments {
  std::string graph_path;
  std::string options_path;
  std::string memory;
  std::optional<std::string> device, redistribution, blocks;
  std::optional<std::int64_t> optimizer_states;
  OperatorsOptions limits;
  OutputArguments output;
};

// All arguments but the mesh.
void add_aten_arguments(CLI::App& command, AtenArguments& arguments);

// The options of the file, with the flags in their place. `mesh` takes the place of the file's
// unless it is empty. Errors: kInvalidInput with the flag, or the file and the place in it.
Result<PlanAtenOptions> aten_options(const AtenArguments& arguments, std::string_view mesh);

// The extents of "4x2". Errors: kInvalidInput at "--mesh".
Result<redistribution::MeshShape> mesh_of(std::string_view text);

// The graph of the file. Errors: kInvalidInput with the file and the place in it.
Result<operators::AtenGraph> load_aten_graph(const std::string& path);

}  // namespace shardwright::cli
