// The arguments of the commands that read graphs of PyTorch's operators.
#pragma once

#include <optional>
#include <string>

#include "runtime/cli/options/arguments.h"
#include "runtime/commands/operators/operators_commands.h"

namespace shardwright::cli {

struct AtenArguments {
  std::string graph_path;
  std::string options_path;
  std::string memory;
  std::optional<std::string> device, redistribution, blocks;
  std::optional<std::int64_t> optimizer_states;
  std::optional<double> overlap;
  OperatorsOptions limits;
  OutputArguments output;
};

// All arguments but the mesh.
void add_aten_arguments(CLI::App& command, AtenArguments& arguments);

// What the flags say, but the mesh. Errors: kInvalidInput with the flag.
Result<commands::AtenOverrides> aten_overrides(const AtenArguments& arguments);

}  // namespace shardwright::cli
