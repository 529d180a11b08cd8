// The requests of the commands about embedding tables.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/audit.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/sweep.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/surface/answer.h"
#include "runtime/surface/fields.h"
#include "runtime/surface/input.h"

namespace shardwright::commands {

struct ProblemRequest {
  Input problem;
  Input search_space;  // optional; options and costs
  Input machine;       // optional; measured costs
  ProblemOverrides overrides;
  // Used instead of both documents if the caller has read them; null otherwise.
  std::shared_ptr<const embedding::Problem> read_problem;
  std::shared_ptr<const embedding::SearchSpace> read_space;
};

void describe(ProblemRequest& request, Fields& fields);

// A problem and its search space after reading.
struct LoadedProblem {
  std::shared_ptr<const embedding::Problem> problem;
  std::shared_ptr<const embedding::SearchSpace> search_space;  // null if none was given
  double read_s = 0;
  ProblemOverrides overrides;  // with which it was read
};

// Reads a measured machine; null if `input` is not given. Errors: as of the reader, for a file
// without models, with the input's name in the place.
Result<std::shared_ptr<const embedding::MachineModel>> load_machine(const Input& input,
                                                                    const Watch& watch);

// Reads the problem. Errors: as of the reader, with the input's name in the place.
Result<LoadedProblem> load(const ProblemRequest& request, const Watch& watch);

// A plan file and the flags with which its problem was read.
struct LoadedPlan {
  PlanDocument document;
  ProblemOverrides overrides;
};

// Reads a plan file. Errors: as of the reader, with the input's name in the place.
Result<LoadedPlan> load_plan(const Input& input, const Watch& watch);
// As load_plan(), of the text of `input`, which was read already.
Result<LoadedPlan> read_loaded_plan(const Input& input, std::string_view text);

// As load(), but uses the flags of `plan` where the request has none, and notes which it used.
Result<LoadedProblem> load_with_flags(const ProblemRequest& request, const Input& plan,
                                      const ProblemOverrides& flags, const Watch& watch);

// As load_with_flags(), for the problem of a plan. If the problem leaves the layout of its machine
// open, uses the plan's layout.
Result<LoadedProblem> load_for(const ProblemRequest& request, const Input& input,
                               const LoadedPlan& plan, const Watch& watch);

// Optional parts of the JSON and of the text.
struct PlanContents {
  bool search_space = false;
  bool stats = false;
};

inline PlanJsonOptions json_options(const PlanContents& contents, const PlanOptions& options,
                                    const LoadedProblem& loaded) {
  return {contents.search_space, contents.stats, options.trace, loaded.read_s, loaded.overrides};
}

// In all requests here, answer() sets stop token and progress of `options` from the watch.

// shardwright plan
struct PlanRequest {
  ProblemRequest problem;
  PlanOptions options;
  PlanContents contents;
  Input reuse;                         // optional; a plan to reuse as the answer if it holds
  Input resume;                        // optional; a checkpoint or answer of best mode to continue
  std::optional<double> memory_slack;  // see balance_memory(); absent = not balanced
  bool what_if = true;                 // plan for other machines; see plan_what_ifs()
};

// shardwright replan
struct ReplanRequest {
  ProblemRequest problem;
  PlanOptions options;
  PlanContents contents;
  Input plan;                              // plan in use
  std::optional<double> migration_weight;  // absent: replan_on_front() plans
  std::optional<std::int64_t> max_move_bytes;
};

// shardwright verify
struct VerifyRequest {
  ProblemRequest problem;
  Input plan;
  Input old_plan;  // optional; the plan from which a replan started
  bool stats = false;
  std::optional<double> time_limit_s;  // claims not checked by then count as not verified
};

// shardwright explain
struct ExplainRequest {
  ProblemRequest problem;
  PlanOptions options;
  Input plan;                        // optional; else the problem is planned first
  std::optional<std::string> table;  // absent = all tables
};

// shardwright sweep. The overrides have no ranks, HBM and batch size; the grid has lists of these.
struct SweepRequest {
  ProblemRequest problem;  // without a search space
  PlanOptions options;
  embedding::SweepGrid grid;
};

// shardwright diff
struct DiffRequest {
  Input from, to;              // two plans, or two problems
  Input machine;               // optional; measured costs, for both problems
  ProblemOverrides overrides;  // for both problems
};

// shardwright audit
struct AuditRequest {
  Input log;
  std::optional<std::size_t> plan_number;    // in the log, from 1; absent = the last
  std::optional<std::string> problem, plan;  // files to write
  Input machine;                             // optional; measured costs
  AuditOptions options;
};

// shardwright enumerate
struct EnumerateRequest {
  ProblemRequest problem;  // without a search space
  bool runs = false;       // equal consecutive shards as one entry
};

// Add the members of a request to `fields`.
void describe(PlanRequest& request, Fields& fields);
void describe(ReplanRequest& request, Fields& fields);
void describe(VerifyRequest& request, Fields& fields);
void describe(ExplainRequest& request, Fields& fields);
void describe(SweepRequest& request, Fields& fields);
void describe(DiffRequest& request, Fields& fields);
void describe(AuditRequest& request, Fields& fields);
void describe(EnumerateRequest& request, Fields& fields);
// Adds the member `threads`.
void describe_threads(int& out, Fields& fields);

// Errors: those of reading and of the entry points in runtime/embedding, with the name of the input
// that caused the error in the place.
Result<Answer> answer(const PlanRequest& request, const Watch& watch);
Result<Answer> answer(const ReplanRequest& request, const Watch& watch);
Result<Answer> answer(const VerifyRequest& request, const Watch& watch);
Result<Answer> answer(const ExplainRequest& request, const Watch& watch);
Result<Answer> answer(const SweepRequest& request, const Watch& watch);
Result<Answer> answer(const DiffRequest& request, const Watch& watch);
Result<Answer> answer(const AuditRequest& request, const Watch& watch);
Result<Answer> answer(const EnumerateRequest& request, const Watch& watch);

}  // namespace shardwright::commands
