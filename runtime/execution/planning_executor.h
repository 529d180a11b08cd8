// The executor type that the entry points of runtime/ use.
#pragma once

#ifdef SHARDWRIGHT_PLAIN_THREADS
#include "runtime/execution/thread_executor.h"
#else
#include "runtime/execution/tbb_executor.h"
#endif

namespace shardwright {

#ifdef SHARDWRIGHT_PLAIN_THREADS
using PlanningExecutor = ThreadExecutor;
#else
using PlanningExecutor = TbbExecutor;
#endif

}  // namespace shardwright
