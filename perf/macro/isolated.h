// Runs a measurement in its own process, so that its memory and threads do not affect the next one.
#pragma once

#include <functional>
#include <string>

#include "core/status.h"

namespace shardwright::perf {

// Runs `body` in a child process and returns the text that it returns. Errors: the child ends
// without a result. Precondition: the calling process has one thread.
Result<std::string> run_isolated(const std::string& name, const std::function<std::string()>& body);

}  // namespace shardwright::perf
