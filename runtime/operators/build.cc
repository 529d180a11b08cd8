#include "runtime/operators/build.h"

#include <charconv>
#include <string>
#include <utility>

#include "runtime/execution/planning_executor.h"
#include "runtime/execution/stopwatch.h"

namespace shardwright {
namespace {

constexpr int kMaxThreads = 4096;

}  // namespace

Result<BuiltOperators> build_operators(const operators::OpGraph& graph,
                                       std::shared_ptr<const operators::DeviceMesh> mesh,
                                       int threads) {
  if (threads < 0 || threads > kMaxThreads) {
    return invalid_input("threads", "the number of threads is not in 0 to 4096");
  }
  PlanningExecutor executor(threads);
  const Stopwatch watch;
  BuiltOperators built;
  SHARDWRIGHT_ASSIGN_OR_RETURN(built.costs,
                               operators::build_cost_graph(graph, std::move(mesh), executor));
  built.build_s = watch.seconds();
  built.threads = static_cast<int>(executor.workers());
  return built;
}

Result<std::shared_ptr<const operators::DeviceMesh>> parse_mesh(std::string_view text) {
  operators::DeviceMeshSpec spec;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::uint32_t devices = 0;
    const auto [next, error] = std::from_chars(at, end, devices);
    if (error != std::errc{} || (next != end && *next != 'x')) {
      return invalid_input(
          "", "a mesh is its extents joined by x, such as 2x4, not \"" + std::string(text) + "\"");
    }
    spec.shape.push_back(devices);
    if (next == end) break;
    at = next + 1;
  }
  return operators::DeviceMesh::make(std::move(spec));
}

}  // namespace shardwright
