// The command `shardwright`.
#include <cstddef>

#include "runtime/cli/command_line.h"

int main(int argument_count, char** arguments) {
  return shardwright::cli::run_command({arguments, static_cast<std::size_t>(argument_count)});
}
