#include "runtime/execution/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "core/text/printable.h"

namespace shardwright {

// Does not use spdlog's factories, which register every logger in a global table.
Log Log::to_stderr() {
  auto logger = std::make_shared<spdlog::logger>("shardwright",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%H:%M:%S.%e %v");
  return Log(std::move(logger));
}

void Log::info(std::string_view message) const {
  if (logger_) logger_->log(spdlog::level::info, printable(message));
}

}  // namespace shardwright
