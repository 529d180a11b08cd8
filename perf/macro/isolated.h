// Runs a measurement in a process of its own, so that memory and threads of one do not touch the
// next.
#pragma once

#include <functional>
#include <string>

#include "core/status.h"

namespace shardwright::perf {

// What `body` returns, run in a child process. Errors: where the child ends without an answer.
// Precondition: the calling process has one thread.
Result<std::string> run_isolated(const std::string& name, const std::function<std::string()>& body);

}  // namespace shardwright::perf
