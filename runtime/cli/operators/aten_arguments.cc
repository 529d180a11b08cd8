#include "runtime/cli/operators/aten_arguments.h"

#include <memory>
#include <utility>

#include "runtime/io/file.h"
#include "runtime/io/operators/aten/aten_graph_json.h"
#include "runtime/io/operators/aten/aten_options_json.h"
#include "runtime/io/sizes.h"
#include "runtime/operators/build.h"

namespace shardwright::cli {

void add_aten_arguments(CLI::App& command, AtenArguments& arguments) {
  command.add_option("GRAPH", arguments.graph_path, "Graph of shardwright.torch.trace (- = stdin)")
      ->type_name(kFile)
      ->required();
  command
      .add_option("--options", arguments.options_path,
                  "File with placements, the model of collectives and what flags say")
      ->type_name(kFile);
  command.add_option("--memory", arguments.memory, "Memory of a device, such as 80GiB");
  command
      .add_option("--optimizer-states", arguments.optimizer_states,
                  "Tensors that the optimizer keeps for each parameter (default: 2)")
      ->transform(whole_number(0, 100));
  command.add_option("--device", arguments.device, "GPU whose times are estimated (default: H100)");
  command
      .add_option("--redistribution", arguments.redistribution,
                  "Moves of tensors: the cheapest, or as AutoParallel estimates them")
      ->check(CLI::IsMember({"shortest", "autoparallel"}).description(""))
      ->type_name("shortest|autoparallel");
  command.add_option("--blocks", arguments.blocks, "Whether repeated blocks must be sharded alike")
      ->check(CLI::IsMember({"free", "equal"}).description(""))
      ->type_name("free|equal");
  command
      .add_option("--time-limit", arguments.limits.time_limit_s,
                  "Stop after this many seconds; the result then depends on the machine")
      ->check(seconds(true));
  command
      .add_option("--work-limit", arguments.limits.work_limit,
                  "Stop after this many strategy evaluations")
      ->transform(whole_number(0));
  command.add_option("--seed", arguments.limits.seed, "Seed of everything random")
      ->transform(whole_number(0));
  add_output_arguments(command, arguments.output);
}

Result<redistribution::MeshShape> mesh_of(std::string_view text) {
  const auto mesh = parse_mesh(text);
  if (!mesh.ok()) return invalid_input("--mesh", mesh.error().message);
  redistribution::MeshShape shape;
  for (std::size_t axis = 0; axis < (*mesh)->num_axes(); ++axis)
    shape.push_back((*mesh)->size(axis));
  return shape;
}

Result<PlanAtenOptions> aten_options(const AtenArguments& arguments, std::string_view mesh) {
  PlanAtenOptions options;
  if (!mesh.empty()) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(options.mesh, mesh_of(mesh));
  }
  if (!arguments.options_path.empty()) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, read_file(arguments.options_path));
    Result<PlanAtenOptions> read = read_aten_options(text, options.mesh);
    if (!read.ok()) return in_file(read.error(), arguments.options_path);
    options = std::move(read).value();
  }
  if (options.mesh.empty()) return invalid_input("--mesh", "is needed, such as --mesh 4x2");
  if (!arguments.memory.empty()) {
    const Result<std::int64_t> bytes = parse_bytes(arguments.memory);
    if (!bytes.ok()) return invalid_input("--memory", bytes.error().message);
    options.memory_limit = *bytes;
  }
  if (arguments.device) options.device = *arguments.device;
  if (arguments.optimizer_states) options.optimizer_states = *arguments.optimizer_states;
  if (arguments.redistribution) {
    options.redistribution = *arguments.redistribution == "shortest"
                                 ? operators::RedistributionChoice::kShortest
                                 : operators::RedistributionChoice::kAutoParallel;
  }
  if (arguments.blocks) {
    options.blocks = *arguments.blocks == "free" ? operators::BlockSharing::kFree
                                                 : operators::BlockSharing::kEqual;
  }
  if (arguments.limits.time_limit_s) options.limits.time_limit_s = arguments.limits.time_limit_s;
  if (arguments.limits.work_limit) options.limits.work_limit = arguments.limits.work_limit;
  if (arguments.limits.seed != 0) options.limits.seed = arguments.limits.seed;
  if (arguments.output.threads != 0) options.limits.threads = arguments.output.threads;
  return options;
}

Result<operators::AtenGraph> load_aten_graph(const std::string& path) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, read_file(path));
  Result<operators::AtenGraph> graph = read_aten_graph(text);
  if (!graph.ok()) return in_file(graph.error(), path);
  return graph;
}

}  // namespace shardwright::cli
