#include "runtime/program/reshard_program.h"

#include <cstdint>
#include <optional>

#include "runtime/execution/planning_executor.h"
#include "runtime/execution/run_limits.h"
#include "search/executor.h"

namespace shardwright {
namespace {

constexpr std::int64_t kMaxBatchSize = std::int64_t{1} << 40;

}  // namespace

Result<program::ReshardResult> reshard_program(const program::Program& program,
                                               const program::ReshardOptions& options,
                                               int threads) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_run_limits(threads, std::nullopt));
  if (options.batch_size && (*options.batch_size < 1 || *options.batch_size > kMaxBatchSize)) {
    return invalid_input("batch_size", "must be between 1 and 2^40");
  }
  if (threads == 1) {
    InlineExecutor executor;
    return program::reshard_program(program, options, executor);
  }
  PlanningExecutor executor(threads);
  return program::reshard_program(program, options, executor);
}

}  // namespace shardwright
