#include "runtime/execution/processes/launch.h"

#include <dlfcn.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "core/version.h"
#include "runtime/execution/processes/link_library.h"

namespace shardwright {
namespace {

std::optional<std::uint32_t> number_in(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  const std::string_view text = value;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Error no_link(const Launch& launch, const std::string& why) {
  return Error{ErrorCode::kUnsupported,
               "a launcher started " + std::to_string(launch.processes) + " processes, but " + why,
               ""};
}

template <class Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

// Source: Open MPI 4.1, mpirun(1), "Exported Environment Variables".
Launch current_launch() {
  const auto process = number_in("OMPI_COMM_WORLD_RANK");
  const auto processes = number_in("OMPI_COMM_WORLD_SIZE");
  if (!process || !processes || *process >= *processes) return {};
  return {*process, *processes};
}

bool is_first_process() { return current_launch().process == 0; }

Result<std::unique_ptr<ProcessLink>> link_processes(const Launch& launch) {
  if (launch.processes == 1) return std::unique_ptr<ProcessLink>();
  // Global, because parts of Open MPI are loaded later and look for its symbols. Never unloaded.
  void* const library = dlopen(kLinkLibrary, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    return no_link(launch, "this build of shardwright cannot link them (SHARDWRIGHT_BUILD_MPI): " +
                               std::string(reason == nullptr ? kLinkLibrary : reason));
  }
  auto* const version = symbol<LinkVersion>(library, kLinkVersion);
  auto* const open = symbol<OpenLink>(library, kOpenLink);
  if (version == nullptr || open == nullptr || version() != library_version())
    return no_link(launch,
                   std::string(kLinkLibrary) + " belongs to another version of shardwright");
  std::unique_ptr<ProcessLink> link(open());
  if (link == nullptr) {
    return Error{ErrorCode::kMachineLimit, "MPI cannot start, or cannot serve one thread of many",
                 ""};
  }
  if (link->processes() != launch.processes || link->process() != launch.process)
    return no_link(launch, "MPI links " + std::to_string(link->processes()));
  return link;
}

}  // namespace shardwright
