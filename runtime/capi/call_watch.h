// Cancellation and progress of a call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include "runtime/capi/boundary.h"
#include "runtime/capi/objects.h"
#include "runtime/capi/shardwright_types.h"
#include "runtime/embedding/options.h"
#include "runtime/operators/solve.h"

namespace shardwright::capi {

// The caller's cancel handle and progress function during one search. Must outlive the search.
// Thread safety: one thread at a time; any thread may use the token.
class CallWatch {
 public:
  // Each argument may be null. Throws CallFailure at "options.cancel" for a bad handle.
  CallWatch(const shardwright_cancel* cancel, shardwright_progress_callback progress,
            void* user_data);

  std::stop_token token() const { return stop_.get_token(); }
  bool reports() const { return progress_ != nullptr; }
  // Calls the progress function. `work_limit`: the caller's, 0 = none. Precondition: reports().
  void report(const PlanProgress& progress, std::uint64_t work_limit);
  void report(const OperatorsProgress& progress);

 private:
  // Passes the cancel handle's request on to this call.
  struct Forward {
    std::stop_source* stop;
    void operator()() const noexcept { stop->request_stop(); }
  };

  void tell(const shardwright_progress& told);

  shardwright_progress_callback progress_;
  void* user_data_;
  std::stop_source stop_;
  std::shared_ptr<const CancelToken> cancel_;
  std::optional<std::stop_callback<Forward>> forward_;
};

}  // namespace shardwright::capi
