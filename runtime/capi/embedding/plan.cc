// Planning calls of the C interface: options, cancelling, progress.
#include <cmath>
#include <exception>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "runtime/capi/boundary.h"
#include "runtime/capi/call_watch.h"
#include "runtime/capi/objects.h"
#include "runtime/capi/shardwright.h"
#include "runtime/embedding/checkpoint/resume.h"
#include "runtime/embedding/layouts/layout_problem.h"
#include "runtime/embedding/replan.h"
#include "runtime/embedding/reuse.h"
#include "runtime/execution/processes/exchange.h"
#include "runtime/io/embedding/plan/plan_json.h"

using namespace shardwright;
using namespace shardwright::capi;
using embedding::SearchSpace;

namespace {

// The caller's all-gather.
class CallerExchange final : public Exchange {
 public:
  explicit CallerExchange(const shardwright_plan_options& given) : given_(&given) {}

  std::uint32_t processes() const override { return given_->processes; }
  std::uint32_t process() const override { return given_->process; }
  std::optional<std::vector<std::string>> all_gather(const std::string& message) override {
    Messages all;
    const int32_t failed =
        given_->gather(given_->user_data, message.data(), message.size(), &add, &all);
    if (failed != 0 || all.out_of_memory) return std::nullopt;
    return std::move(all.received);
  }

 private:
  struct Messages {
    std::vector<std::string> received;
    bool out_of_memory = false;
  };

  // Called by C code, so it must not throw.
  static void add(void* sink, const void* bytes, uint64_t size) noexcept {
    auto& all = *static_cast<Messages*>(sink);
    try {
      all.received.emplace_back(static_cast<const char*>(bytes), size);
    } catch (const std::exception&) {
      all.out_of_memory = true;
    }
  }

  const shardwright_plan_options* given_;
};

// The caller's options as the planner takes them. Must outlive the planning call.
class CallerOptions {
 public:
  explicit CallerOptions(const shardwright_plan_options* options)
      : given_(options == nullptr ? shardwright_plan_options{} : read_struct(options, "options")),
        watch_(given_.cancel, given_.progress, given_.user_data) {
    check();
    options_.mode = given_.mode == SHARDWRIGHT_MODE_COMPAT ? PlanMode::kCompat : PlanMode::kBest;
    options_.threads = given_.threads;
    if (given_.time_limit_s > 0) options_.time_limit_s = given_.time_limit_s;
    if (given_.work_limit > 0) options_.work_limit = given_.work_limit;
    options_.seed = given_.seed;
    if (given_.lanes > 0) options_.lanes = given_.lanes;
    options_.stop = watch_.token();
    if (watch_.reports()) {
      options_.on_progress = [this](const PlanProgress& progress) {
        watch_.report(progress, given_.work_limit);
      };
    }
    if (given_.processes > 1) options_.exchange = &exchange_.emplace(given_);
  }

  const PlanOptions& options() const { return options_; }

 private:
  void check() const {
    const auto refuse = [](const char* message, const char* place) {
      fail(SHARDWRIGHT_INVALID_ARGUMENT, message, place);
    };
    if (given_.mode != SHARDWRIGHT_MODE_BEST && given_.mode != SHARDWRIGHT_MODE_COMPAT) {
      refuse("must be SHARDWRIGHT_MODE_BEST or SHARDWRIGHT_MODE_COMPAT", "options.mode");
    }
    if (given_.threads < 0 || given_.threads > 4096) {
      refuse("must be between 0 (all cores) and 4096", "options.threads");
    }
    if (given_.lanes != 0 &&
        (given_.lanes < embedding::kLeastLanes || given_.lanes > embedding::kMostLanes)) {
      refuse("must be 0 (the default) or between 3 and 4096", "options.lanes");
    }
    if (!(given_.time_limit_s >= 0)) {
      refuse("must be a number of seconds, 0 = none", "options.time_limit_s");
    }
    if (given_.process > 0 && given_.process >= given_.processes) {
      refuse("must be less than the number of processes", "options.process");
    }
    if (given_.processes > 1 && given_.gather == nullptr) {
      refuse("several processes need a function that gathers their messages", "options.gather");
    }
  }

  shardwright_plan_options given_;
  CallWatch watch_;
  PlanOptions options_;
  std::optional<CallerExchange> exchange_;
};

// The plan of a caller's arrays. Options are numbers in `space`.
embedding::Plan plan_of(const shardwright_plan_arrays& arrays,
                        const std::shared_ptr<const SearchSpace>& space) {
  if (arrays.num_tables == 0) return {};
  required(arrays.option, "plan.option");
  required(arrays.shard_begin, "plan.shard_begin");
  required(arrays.rank, "plan.rank");
  std::vector<const embedding::ShardingOption*> options;
  options.reserve(arrays.num_tables);
  for (std::size_t i = 0; i < arrays.num_tables; ++i) {
    if (arrays.option[i] >= space->size()) {
      fail(SHARDWRIGHT_INVALID_INPUT,
           "the search space has " + std::to_string(space->size()) + " options",
           "/option/" + std::to_string(i));
    }
    options.push_back(&space->options()[arrays.option[i]]);
    const std::uint64_t begin = arrays.shard_begin[i];
    const std::uint64_t end = arrays.shard_begin[i + 1];
    if (begin > end || end - begin != options.back()->num_shards()) {
      fail(SHARDWRIGHT_INVALID_INPUT,
           "the option has " + std::to_string(options.back()->num_shards()) + " shards",
           "/shard_begin/" + std::to_string(i));
    }
  }
  const std::uint64_t first = arrays.shard_begin[0];
  return embedding::Plan::make(
      space, options, {arrays.rank + first, arrays.shard_begin[arrays.num_tables] - first});
}

}  // namespace

shardwright_status shardwright_cancel_create(shardwright_cancel** cancel) {
  return guarded([&] {
    HandleOutput out(cancel, "cancel");
    out.set(std::make_shared<CancelToken>());
  });
}

shardwright_status shardwright_cancel_request(const shardwright_cancel* cancel) {
  return guarded([&] {
    // Copies of a stop_source share their state.
    std::stop_source source = object_of(cancel, "cancel")->source;
    source.request_stop();
  });
}

shardwright_status shardwright_cancel_destroy(shardwright_cancel* cancel) {
  return destroy(cancel, "cancel");
}

shardwright_status shardwright_plan(const shardwright_problem* problem,
                                    const shardwright_search_space* space,
                                    const shardwright_plan_options* options,
                                    shardwright_result** result) {
  return guarded([&] {
    HandleOutput out(result, "result");
    const Inputs inputs(problem, space);
    const CallerOptions given(options);
    out.set(number_options(take(plan_embedding(inputs.problem, given.options(), inputs.space))));
  });
}

shardwright_status shardwright_resume(const shardwright_problem* problem,
                                      const shardwright_search_space* space, const char* checkpoint,
                                      size_t checkpoint_size,
                                      const shardwright_plan_options* options,
                                      shardwright_result** result) {
  return guarded([&] {
    HandleOutput out(result, "result");
    const Inputs inputs(problem, space);
    const CallerOptions given(options);
    const PlanDocument read =
        take(read_plan(given_text(checkpoint, checkpoint_size, "checkpoint")));
    out.set(number_options(
        take(resume_embedding(inputs.problem, read, given.options(), inputs.space))));
  });
}

shardwright_status shardwright_replan(const shardwright_problem* problem,
                                      const shardwright_search_space* space, const char* old_plan,
                                      size_t old_plan_size, double migration_weight,
                                      const shardwright_plan_options* options,
                                      shardwright_result** result) {
  return guarded([&] {
    HandleOutput out(result, "result");
    const Inputs inputs(problem, space);
    const CallerOptions given(options);
    if (!(migration_weight >= 0) || !std::isfinite(migration_weight)) {
      fail(SHARDWRIGHT_INVALID_ARGUMENT, "must be a finite number, 0 or above", "migration_weight");
    }
    const auto old = std::make_shared<const PlanDocument>(
        take(read_plan(given_text(old_plan, old_plan_size, "old_plan"))));
    if (!old->plan) fail(SHARDWRIGHT_INVALID_INPUT, "holds no plan to begin with", "old_plan");
    ReplanOptions replan{given.options(), migration_weight, std::nullopt};
    const auto asked = take(problem_of_plan(inputs.problem, *old));
    replan.best_mode_rating = best_mode_rating(*asked, inputs.space.get(), *old);
    out.set(number_options(take(replan_embedding(asked, *old->plan, replan, inputs.space)), old));
  });
}

shardwright_status shardwright_result_from_json(const shardwright_problem* problem,
                                                const shardwright_search_space* space,
                                                const char* plan, size_t size,
                                                shardwright_result** result) {
  return guarded([&] {
    HandleOutput out(result, "result");
    const Inputs inputs(problem, space);
    const PlanDocument document = take(read_plan(given_text(plan, size, "plan")));
    const auto asked = take(problem_of_plan(inputs.problem, document));
    Reuse reuse =
        take(reuse_plan(asked, document, document.mode.value_or(PlanMode::kBest), inputs.space));
    if (!reuse.result) fail(SHARDWRIGHT_VERIFICATION_FAILED, std::move(reuse.why_not), "plan");
    out.set(number_options(std::move(*reuse.result)));
  });
}

shardwright_status shardwright_evaluate(const shardwright_problem* problem,
                                        const shardwright_search_space* space,
                                        const shardwright_plan_arrays* plan,
                                        shardwright_result** result) {
  return guarded([&] {
    HandleOutput out(result, "result");
    const Inputs inputs(problem, space);
    if (!inputs.space) fail(SHARDWRIGHT_INVALID_HANDLE, "a search space is needed", "space");
    EmbeddingPlanResult evaluated;
    evaluated.problem = inputs.problem;
    evaluated.search_space = inputs.space;
    evaluated.reservation = take(reserve_embedding(*inputs.problem));
    evaluated.plan = plan_of(read_struct(plan, "plan"), inputs.space);
    evaluated.evaluation =
        embedding::evaluate(*inputs.problem, evaluated.reservation->topology, *evaluated.plan);
    evaluated.best_rating = evaluated.evaluation.rating;
    out.set(number_options(std::move(evaluated)));
  });
}
