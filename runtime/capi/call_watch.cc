#include "runtime/capi/call_watch.h"

namespace shardwright::capi {

CallWatch::CallWatch(const shardwright_cancel* cancel, shardwright_progress_callback progress,
                     void* user_data)
    : progress_(progress), user_data_(user_data) {
  if (cancel == nullptr) return;
  cancel_ = object_of(cancel, "options.cancel");
  forward_.emplace(cancel_->source.get_token(), Forward{&stop_});
}

void CallWatch::tell(const shardwright_progress& told) {
  if (progress_(user_data_, &told) != 0) stop_.request_stop();
}

void CallWatch::report(const PlanProgress& progress, std::uint64_t work_limit) {
  shardwright_progress told{};
  told.struct_size = sizeof(told);
  told.has_rating = progress.best_rating ? 1 : 0;
  told.work_steps = progress.work_steps;
  told.work_limit = progress.work_limit.value_or(work_limit);
  told.proposals = progress.proposals;
  told.proposals_at_most = progress.proposals_at_most;
  told.rating = progress.best_rating.value_or(0);
  told.lower_bound = progress.lower_bound.value_or(0);
  told.elapsed_s = progress.elapsed_s;
  tell(told);
}

void CallWatch::report(const OperatorsProgress& progress) {
  shardwright_progress told{};
  told.struct_size = sizeof(told);
  told.has_rating = progress.choice.empty() ? 0 : 1;
  told.rating = progress.choice.empty() ? 0 : progress.objective;
  told.lower_bound = progress.lower_bound;
  told.elapsed_s = progress.elapsed_s;
  tell(told);
}

}  // namespace shardwright::capi
