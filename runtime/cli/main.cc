// The main function of the command `shardwright`.
#include <cstddef>

#include "runtime/cli/command_line.h"
#include "runtime/cli/machine_limits.h"

#ifdef SHARDWRIGHT_WITH_MIMALLOC

namespace {

extern "C" void check_first_block(int, char**, char**) { shardwright::cli::check_memory(); }

// Runs before the constructors of shared libraries. mimalloc needs 32 MiB of address space for its
// first block. Without it, the constructor of libgfortran (for LAPACK) recurses endlessly.
__attribute__((section(".preinit_array"),
               used)) void (*const kFirstBlockCheck)(int, char**, char**) = &check_first_block;

}  // namespace

#endif

int main(int argument_count, char** arguments) {
  shardwright::cli::prepare_for_limits();
  return shardwright::cli::run_command({arguments, static_cast<std::size_t>(argument_count)});
}
