// A program of somebody who installed shardwright: it sees the installed headers and nothing of the
// source tree.
#include <iostream>

#include "core/version.h"
#include "runtime/planner.h"

int main() {
  std::cout << shardwright::library_version() << '\n';
  return shardwright::library_version() == SHARDWRIGHT_VERSION_STRING ? 0 : 1;
}
