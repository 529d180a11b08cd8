// The functions that link_processes() looks up in libshardwright_mpi.so.
#include <memory>

#include "core/version.h"
#include "runtime/execution/mpi/mpi_link.h"
#include "runtime/execution/processes/link_library.h"

extern "C" {

// link_library.h has the types of these functions.
const char* shardwright_link_version();
shardwright::ProcessLink* shardwright_open_link();

const char* shardwright_link_version() { return SHARDWRIGHT_VERSION_STRING; }

shardwright::ProcessLink* shardwright_open_link() {
  auto link = std::make_unique<shardwright::MpiLink>();
  return link->is_open() ? link.release() : nullptr;
}

}  // extern "C"
