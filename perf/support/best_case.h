// A case as best mode sees it: its options, the memory after reservations, and the choices.
#pragma once

#include <string>

#include "perf/support/search.h"
#include "perf/support/workloads.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::perf {

// Members refer to each other. Thread safety: immutable.
struct BestCase {
  explicit BestCase(const std::string& name)
      : workload(require(load_workload(name))),
        reserved(require(embedding::reserve(*workload.problem))),
        pool(enumerate_inline(workload)),
        choices(pool, reserved.topology) {}
  BestCase(const BestCase&) = delete;
  BestCase& operator=(const BestCase&) = delete;

  Workload workload;
  embedding::Reservation reserved;
  embedding::OptionPool pool;
  embedding::ChoiceModel choices;
};

}  // namespace shardwright::perf
