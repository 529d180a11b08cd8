// A logger that callers pass on explicitly. By default it writes nothing.
#pragma once

#include <memory>
#include <string_view>

namespace spdlog {
class logger;
}

namespace shardwright {

// Copies write to the same sink.
// Thread safety: any thread may log.
class Log {
 public:
  // Writes nothing.
  Log() = default;
  // Writes to standard error.
  static Log to_stderr();

  bool enabled() const { return logger_ != nullptr; }
  void info(std::string_view message) const;

 private:
  explicit Log(std::shared_ptr<spdlog::logger> logger) : logger_(std::move(logger)) {}

  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace shardwright
