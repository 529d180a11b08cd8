#include "runtime/surface/embedding_answers.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "runtime/embedding/audit.h"
#include "runtime/embedding/balance.h"
#include "runtime/embedding/explain.h"
#include "runtime/embedding/identity.h"
#include "runtime/embedding/machine_facts.h"
#include "runtime/embedding/plan_stats.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/replan.h"
#include "runtime/embedding/replan_front.h"
#include "runtime/embedding/resume.h"
#include "runtime/embedding/reuse.h"
#include "runtime/embedding/verdict.h"
#include "runtime/embedding/verify.h"
#include "runtime/execution/run_limits.h"
#include "runtime/execution/stopwatch.h"
#include "runtime/io/embedding/answers_json.h"
#include "runtime/io/embedding/log_problem_json.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/planner_log_reader.h"
#include "runtime/io/embedding/search_space_json.h"
#include "runtime/io/embedding/verify_file.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/kinds/document_kind.h"
#include "runtime/report/embedding/audit_text.h"
#include "runtime/report/embedding/changes_text.h"
#include "runtime/report/embedding/explain_text.h"
#include "runtime/report/embedding/plan_text.h"
#include "runtime/report/embedding/stats_text.h"
#include "runtime/report/embedding/sweep_text.h"
#include "runtime/report/text/format.h"
#include "runtime/surface/embedding_requests.h"
#include "runtime/surface/pages.h"
#include "search/budget.h"

namespace shardwright::commands {
namespace {

Outcome outcome_of(const EmbeddingPlanResult& result) {
  if (result.plan) return Outcome::kDone;
  return result.stopped_by == StopReason::kFinished ? Outcome::kNoPlan : Outcome::kStopped;
}

// Returns a hint for a result without a plan.
std::string next_hint(const std::string& problem_name, const EmbeddingPlanResult& result) {
  if (result.stopped_by != StopReason::kFinished) {
    return "stopped by " + std::string(text_of(result.stopped_by)) +
           " before any plan was found; allow more to find out whether there is one";
  }
  return "`shardwright explain " + problem_name +
         "` with the same flags says what does not fit, and the smallest changes that would help";
}

std::string plan_text(const EmbeddingPlanResult& result, bool with_stats, double read_s,
                      const std::string& hint, const TextForm& form) {
  const embedding::Problem& problem = *result.problem;
  TextReportOptions options;
  options.width = form.width;
  options.read_s = read_s;
  options.colours = form.colours;
  std::string text =
      text_report(problem, result, options) + migration_section(problem, result, options);
  if (!result.plan) return text + "\n" + wrap(hint, form.width, 0);
  if (!with_stats || !result.reservation) return text;
  return text +
         stats_section(problem, plan_stats(problem, *result.reservation, *result.plan), options);
}

}  // namespace

PlanOptions watched(PlanOptions options, const Watch& watch) {
  options.stop = watch.begin();
  options.on_progress = [on_plan = watch.on_plan, log = watch.log](const PlanProgress& progress) {
    if (on_plan) on_plan(progress);
    if (!log.enabled()) return;
    log.info(std::to_string(progress.proposals) + " proposals, " + std::to_string(progress.plans) +
             " fit" +
             (progress.best_rating ? ", best " + std::to_string(*progress.best_rating) : ""));
  };
  return options;
}

void log_work(const EmbeddingPlanResult& result, const Log& log) {
  if (!log.enabled()) return;
  log.info("evaluated " + std::to_string(result.num_proposals) + " proposals, " +
           std::to_string(result.num_plans) + " fit");
  const embedding::PlanCopies& copies = result.work.plans;
  log.info("published " + std::to_string(copies.plans) +
           " plans: " + std::to_string(copies.assignments_copied) + " assignments copied with " +
           std::to_string(copies.rank_bytes_copied) + " bytes of ranks, " +
           std::to_string(copies.assignments_shared) + " shared, " +
           std::to_string(copies.nodes_copied) + " tree nodes copied, " +
           std::to_string(copies.options_added) + " options added");
}

Answer plan_answer(std::shared_ptr<const EmbeddingPlanResult> result, const PlanJsonOptions& json,
                   const std::string& problem_name, std::shared_ptr<const PlanDocument> old) {
  Answer answer;
  answer.outcome = outcome_of(*result);
  // Compat mode keeps TorchRec's plan even if it breaks rules, so a plan may have violations.
  for (const embedding::Violation& violation : result->evaluation.violations)
    answer.warnings.push_back(violation.message);
  if (!result->bound_refusal.empty())
    answer.warnings.push_back("no lower bound is claimed, because " + result->bound_refusal);
  const std::string hint = result->plan ? "" : next_hint(problem_name, *result);
  if (!hint.empty()) answer.hint = "no plan; " + hint;
  answer.write_json = [result, json](const TextSink& sink) {
    write_plan(*result->problem, *result, json, sink);
  };
  answer.text = [result, json, hint](const TextForm& form) {
    return plan_text(*result, json.stats, json.read_s, hint, form);
  };
  answer.summary = summary_text(*result->problem, *result);
  if (const std::string moves = migration_summary(*result->problem, *result); !moves.empty())
    answer.summary += "; " + moves;
  answer.write_page = page_of(result, json.read_s, old);
  answer.plan = std::move(result);
  answer.old_plan = std::move(old);
  return answer;
}

namespace {

// Loads the plan file, or returns nullopt if none is given.
Result<std::optional<PlanDocument>> given_plan(const Input& file, const Watch& watch) {
  if (!file.given()) return std::optional<PlanDocument>();
  SHARDWRIGHT_ASSIGN_OR_RETURN(LoadedPlan plan, load_plan(file, watch));
  return std::optional(std::move(plan.document));
}

// Checks the plan of `reuse` and returns it if it holds. Otherwise returns nullopt and sets
// `why_not`. The check gets half of the time limit. Several processes must decide alike, so each of
// them checks without limits.
Result<std::optional<EmbeddingPlanResult>> reused(const PlanRequest& request,
                                                  const PlanDocument& document,
                                                  const LoadedProblem& loaded,
                                                  const PlanOptions& options, const Watch& watch,
                                                  std::string& why_not) {
  std::optional<double> seconds = options.time_limit_s;
  if (seconds) *seconds /= 2;
  const Budget budget =
      watch.exchange == nullptr ? Budget(std::nullopt, seconds, options.stop) : Budget();
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      Reuse reuse, reuse_plan(loaded.problem, document, options.mode, loaded.search_space, budget));
  if (!reuse.result)
    why_not = (request.reuse.is_text() ? "the plan" : request.reuse.name()) +
              " is not reused: " + reuse.why_not;
  return std::move(reuse.result);
}

// Returns true if several processes plan together. Only one process can choose a layout.
bool is_shared(const LoadedProblem& loaded, const Watch& watch) {
  return watch.exchange != nullptr && loaded.problem->topology().layouts().empty();
}

Error located(const Error& error, const PlanRequest& request) {
  const bool in_checkpoint = request.resume.given() &&
                             (error.where.starts_with("/plan") || error.where == "/problem_hash");
  return (in_checkpoint ? request.resume : request.problem.problem).locate(error);
}

Result<EmbeddingPlanResult> search(const PlanRequest& request, const LoadedProblem& loaded,
                                   const std::optional<PlanDocument>& checkpoint,
                                   PlanOptions options, const Watch& watch) {
  if (is_shared(loaded, watch)) options.exchange = watch.exchange;
  if (watch.on_checkpoint) {
    options.on_checkpoint = [&](const EmbeddingPlanResult& at) {
      watch.on_checkpoint(at, loaded.read_s);
    };
  }
  Result<EmbeddingPlanResult> result =
      checkpoint ? resume_embedding(loaded.problem, *checkpoint, options, loaded.search_space)
                 : plan_embedding(loaded.problem, options, loaded.search_space);
  if (!result.ok()) return located(result.error(), request);
  return result;
}

}  // namespace

Result<Answer> answer(const PlanRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const LoadedProblem loaded, load(request.problem, watch));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const auto to_reuse, given_plan(request.reuse, watch));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const auto checkpoint, given_plan(request.resume, watch));
  PlanOptions options = watched(request.options, watch);
  const Stopwatch since_begin;
  std::string why_not;
  std::optional<EmbeddingPlanResult> result;
  if (to_reuse) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(result,
                                 reused(request, *to_reuse, loaded, options, watch, why_not));
  }
  if (!result) {
    if (!watch.is_first_process && !is_shared(loaded, watch)) return Answer();
    if (options.time_limit_s)
      options.time_limit_s = std::max(0.0, *options.time_limit_s - since_begin.seconds());
    SHARDWRIGHT_ASSIGN_OR_RETURN(result, search(request, loaded, checkpoint, options, watch));
  }
  if (request.memory_slack)
    SHARDWRIGHT_RETURN_IF_ERROR(balance_memory(*request.memory_slack, options, *result));
  if (request.what_if) result->what_ifs = plan_what_ifs(*result, options);
  log_work(*result, watch.log);
  Answer planned = plan_answer(std::make_shared<const EmbeddingPlanResult>(std::move(*result)),
                               json_options(request.contents, request.options, loaded),
                               request.problem.problem.name());
  if (!why_not.empty()) planned.warnings.insert(planned.warnings.begin(), why_not);
  return planned;
}

Result<Answer> answer(const ReplanRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(LoadedPlan in_use, load_plan(request.plan, watch));
  PlanDocument& old = in_use.document;
  if (!old.plan) {
    return request.plan.locate(
        invalid_input("", "the file holds no plan to begin with; use `shardwright plan`"));
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(const LoadedProblem loaded,
                               load_for(request.problem, request.plan, in_use, watch));
  if (request.migration_weight && request.max_move_bytes)
    return invalid_input("max_move", "goes without {migration_weight}: give one of the two");
  ReplanOptions options{request.options, request.migration_weight.value_or(0), std::nullopt};
  options.best_mode_rating = best_mode_rating(*loaded.problem, loaded.search_space.get(), old);
  options.plan = watched(request.options, watch);
  const bool has_weight = request.migration_weight || request.options.mode == PlanMode::kCompat;
  Result<EmbeddingPlanResult> result =
      has_weight ? replan_embedding(loaded.problem, *old.plan, options, loaded.search_space)
                 : replan_on_front(loaded.problem, *old.plan, options, request.max_move_bytes,
                                   loaded.search_space);
  if (!result.ok()) {
    const bool in_plan = result.error().where.starts_with("/plan/");
    return (in_plan ? request.plan : request.problem.problem).locate(result.error());
  }
  log_work(*result, watch.log);
  return plan_answer(std::make_shared<const EmbeddingPlanResult>(std::move(result).value()),
                     json_options(request.contents, request.options, loaded),
                     request.problem.problem.name(),
                     std::make_shared<const PlanDocument>(std::move(old)));
}

namespace {

std::string lines(const char* what, const std::vector<Verification::Finding>& findings) {
  std::string text;
  for (const Verification::Finding& finding : findings) {
    text += std::string(what) + ": " + printable(finding.where) +
            (finding.where.empty() ? "" : ": ") + printable(finding.message) + "\n";
  }
  return text;
}

// Returns a line that lists the members that are not checked.
std::string not_checked_line(const Verification& verification) {
  std::string text;
  for (const std::string& name : verification.not_checked)
    text +=
        (text.empty() ? "not checked, because only a new search could: " : ", ") + printable(name);
  return text.empty() ? "" : text + "\n";
}

// Reports only the first violation, since nearly every claim of another machine's plan is false.
std::string other_machine_text(const Verification& verification) {
  std::string text = lines("violation", {verification.violations.front()});
  const std::size_t others = verification.violations.size() - 1;
  if (others == 0) return text;
  return text + format_plural(others, "other violation") +
         ", which may follow from that; --json lists them\n";
}

std::string report(const Verification& verification) {
  if (verification.other_machine) return other_machine_text(verification);
  std::string text = lines("violation", verification.violations) +
                     lines("not verified", verification.not_verified);
  if (!verification.valid()) {
    text += format_plural(verification.violations.size(), "violation") + " found\n";
  } else if (!verification.verified()) {
    text += "not verified: " + std::to_string(verification.claims) +
            " claims recomputed, nothing false found\n";
  } else {
    text += "valid: " + std::to_string(verification.claims) + " claims recomputed, all hold\n";
  }
  if (!verification.has_plan) text += "the file holds no plan, only why there is none\n";
  return text + lines("repeated, not recomputed", verification.repeated) +
         not_checked_line(verification);
}

Outcome outcome_of(const Verification& verification) {
  if (!verification.valid()) return Outcome::kViolation;
  return verification.verified() ? Outcome::kDone : Outcome::kNotVerified;
}

Result<VerifyInputs> inputs_of(const VerifyRequest& request, const LoadedProblem& loaded,
                               const Watch& watch) {
  VerifyInputs inputs;
  inputs.search_space = loaded.search_space;
  if (!request.old_plan.given()) return inputs;
  SHARDWRIGHT_ASSIGN_OR_RETURN(LoadedPlan old, load_plan(request.old_plan, watch));
  if (!old.document.plan)
    return request.old_plan.locate(invalid_input("", "the file holds no plan"));
  inputs.old_plan = std::move(old.document.plan);
  return inputs;
}

Answer answer_of(VerificationAnswer found) {
  const auto verified = std::make_shared<const VerificationAnswer>(std::move(found));
  const auto problem = verified->verification.problem;
  Answer answer;
  answer.outcome = outcome_of(verified->verification);
  answer.write_json = [verified](const TextSink& sink) { write_json(*verified, sink); };
  answer.text = [verified, problem](const TextForm& form) {
    TextReportOptions options;
    options.width = form.width;
    return report(verified->verification) +
           (verified->stats ? stats_section(*problem, *verified->stats, options) : "");
  };
  return answer;
}

}  // namespace

Result<Answer> answer(const VerifyRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.plan.read(watch.read));
  const Result<LoadedPlan> plan = read_loaded_plan(request.plan, text);
  if (!plan.ok()) {
    const Result<LoadedProblem> problem = load(request.problem, watch);
    return problem.ok() ? plan.error() : problem.error();  // of two faults the first argument's
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      const LoadedProblem loaded,
      load_with_flags(request.problem, request.plan, plan->overrides, watch));
  SHARDWRIGHT_RETURN_IF_ERROR(check_run_limits(0, request.time_limit_s));
  SHARDWRIGHT_ASSIGN_OR_RETURN(VerifyInputs inputs, inputs_of(request, loaded, watch));
  inputs.budget = Budget(std::nullopt, request.time_limit_s, watch.begin());
  SHARDWRIGHT_ASSIGN_OR_RETURN(Verification verification,
                               verify_plan_file(loaded.problem, text, inputs));
  VerificationAnswer found{std::move(verification), std::nullopt};
  const Verification& claims = found.verification;
  if (request.stats && claims.plan && claims.reservation)
    found.stats = plan_stats(*claims.problem, *claims.reservation, *claims.plan);
  return answer_of(std::move(found));
}

namespace {

// Loads the plan to explain. Returns nullopt if no file is given or the file has no plan.
Result<std::optional<LoadedPlan>> plan_of(const Input& input, const Watch& watch) {
  if (!input.given()) return std::optional<LoadedPlan>();
  SHARDWRIGHT_ASSIGN_OR_RETURN(LoadedPlan plan, load_plan(input, watch));
  if (!plan.document.plan) return std::optional<LoadedPlan>();
  return std::optional(std::move(plan));
}

// Warns if the plan was made for another problem, since a flag may be missing. The plan is
// explained as a plan of `loaded`.
void warn_of_other_problem(const PlanDocument& document, const LoadedProblem& loaded,
                           const std::string& name, Answer& answer) {
  if (!document.problem_hash) return;
  const ProblemIdentity identity = identify(*loaded.problem, loaded.search_space.get());
  if (*document.problem_hash == identity.hash) return;
  if (*document.problem_hash == identify(*loaded.problem).hash) return;
  const auto machine = other_machine(document, *loaded.problem);
  answer.warnings.push_back(name + " was made for another problem, which differs in " +
                            differing_parts(document.problem_parts, identity.parts) +
                            "; it is explained as a plan of this one" +
                            (machine ? ", although " + *machine : ". Are all flags the same?"));
}

Outcome outcome_of(const Explanation& explanation) {
  if (explanation.result.plan) return Outcome::kDone;
  return explanation.infeasibility ? Outcome::kNoPlan : Outcome::kStopped;
}

Error located(const Error& error, const ExplainRequest& request, const PlanDocument* document,
              const LoadedProblem& loaded) {
  const auto machine =
      document != nullptr ? other_machine(*document, *loaded.problem) : std::nullopt;
  if (machine && error.where.starts_with("/plan"))
    return request.plan.locate(invalid_input("", *machine));
  const bool in_plan = error.where.starts_with("/plan");
  return (in_plan ? request.plan : request.problem.problem).locate(error);
}

}  // namespace

Result<Answer> answer(const ExplainRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::optional<LoadedPlan> plan, plan_of(request.plan, watch));
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      const LoadedProblem loaded,
      plan ? load_for(request.problem, request.plan, *plan, watch) : load(request.problem, watch));
  const PlanDocument* const document = plan ? &plan->document : nullptr;
  ExplainOptions options{request.options, request.table};
  options.plan.stop = watch.begin();
  options.plan.on_progress = watch.on_plan;
  Result<Explanation> explained =
      explain_embedding(loaded.problem, document != nullptr ? document->plan : std::nullopt,
                        options, loaded.search_space);
  if (!explained.ok()) return located(explained.error(), request, document, loaded);
  const auto explanation = std::make_shared<const Explanation>(std::move(explained).value());
  Answer answer;
  answer.outcome = outcome_of(*explanation);
  if (explanation->tables_left_out > 0) {
    answer.warnings.push_back("stopped; " + std::to_string(explanation->tables_left_out) +
                              " tables are not explained");
  }
  if (document != nullptr) warn_of_other_problem(*document, loaded, request.plan.name(), answer);
  for (const embedding::Violation& violation : explanation->result.evaluation.violations)
    answer.warnings.push_back(violation.message);
  const auto said = std::make_shared<const ExplanationAnswer>(explanation_answer(*explanation));
  answer.write_json = [said](const TextSink& sink) { write_json(*said, sink); };
  answer.text = [said](const TextForm& form) { return explain_report(*said, form.width); };
  answer.write_page = page_of(explanation, said);
  return answer;
}

namespace {

using embedding::ProblemSpec;
using embedding::SweepGrid;

// Reads the problem for one number of ranks, with the overrides that are not lists.
Result<ProblemSpec> read_for(const ProblemRequest& request, const std::string& text,
                             std::optional<std::int64_t> ranks) {
  ProblemOverrides overrides = request.overrides;
  overrides.ranks = ranks;
  Result<ProblemSpec> spec = read_problem(text, overrides);
  if (!spec.ok()) return request.problem.locate(spec.error());
  return spec;
}

// Returns all overrides and the first value of each list, to locate errors at the flags.
ProblemOverrides overrides_of(const SweepRequest& request, const SweepGrid& grid) {
  ProblemOverrides overrides = request.problem.overrides;
  const auto first = [](const std::vector<std::int64_t>& list) {
    return list.empty() ? std::nullopt : std::optional(list.front());
  };
  overrides.ranks = first(grid.ranks);
  overrides.batch_size = first(grid.batch_sizes);
  overrides.hbm_bytes = first(grid.hbm_bytes);
  overrides.ranks_per_host = grid.ranks_per_host;
  return overrides;
}

// Notes which numbers of ranks are no multiple of the ranks of a host.
void note_uneven_hosts(const SweepGrid& grid, const Watch& watch) {
  if (!grid.ranks_per_host || !watch.note) return;
  std::string uneven;
  for (const std::int64_t ranks : grid.ranks) {
    if (ranks % std::min(ranks, *grid.ranks_per_host) != 0)
      uneven += (uneven.empty() ? "" : ", ") + std::to_string(ranks);
  }
  if (uneven.empty()) return;
  watch.note("ranks: hosts of " + std::to_string(*grid.ranks_per_host) + " ranks do not divide " +
             uneven + "; the ranks left over are on no host, as in TorchRec");
}

// If the file has the batch size of all ranks together, that of a rank depends on their number.
Status read_batch_sizes(const ProblemRequest& request, const std::string& text, SweepGrid& grid) {
  if (!grid.batch_sizes.empty()) return {};
  for (const std::int64_t ranks : grid.ranks) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const ProblemSpec spec, read_for(request, text, ranks));
    grid.batch_size_of_ranks.push_back(spec.batch_size);
  }
  return {};
}

}  // namespace

Result<Answer> answer(const SweepRequest& request, const Watch& watch) {
  SweepGrid grid = request.grid;
  ProblemRequest asked = request.problem;
  SHARDWRIGHT_ASSIGN_OR_RETURN(asked.overrides.machine, load_machine(asked.machine, watch));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, asked.problem.read(watch.read));
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      const ProblemSpec spec,
      read_for(asked, text, grid.ranks.empty() ? std::nullopt : std::optional(grid.ranks.front())));
  SHARDWRIGHT_RETURN_IF_ERROR(read_batch_sizes(asked, text, grid));
  note_uneven_hosts(grid, watch);
  PlanOptions options = request.options;
  options.stop = watch.begin();
  options.on_progress = watch.on_plan;
  Result<Sweep> swept = sweep_embedding(spec, grid, options, watch.dealer);
  if (!swept.ok()) {
    return request.problem.problem.locate(
        locate_in_problem(text, overrides_of(request, grid), swept.error()));
  }
  if (!watch.is_first_process) return Answer();
  const auto sweep = std::make_shared<const SweepAnswer>(sweep_answer(spec, *swept));
  Answer answer;
  answer.outcome = sweep->any_fits() ? Outcome::kDone : Outcome::kNoPlan;
  answer.write_json = [sweep](const TextSink& sink) { write_json(*sweep, sink); };
  answer.write_csv = [sweep](const TextSink& sink) { write_sweep_csv(*sweep, sink); };
  answer.text = [sweep](const TextForm& form) { return sweep_report(*sweep, form.width); };
  answer.write_page = page_of(sweep);
  return answer;
}

namespace {

struct Side {
  const Input* input;
  std::string text;
  bool is_problem = false;
};

// Reads an input of diff. A document that is no problem counts as a plan.
Result<Side> read_side(const Input& input, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(std::string text, input.read(watch.read));
  if (is_problem_csv(text)) return Side{&input, std::move(text), true};
  const Result<JsonDocument> document = JsonDocument::parse(text);
  if (!document.ok()) return input.locate(document.error());
  const bool is_problem = kind_of(document->root()) == DocumentKind::kProblem;
  return Side{&input, std::move(text), is_problem};
}

std::string kind_of(const Side& side) { return side.is_problem ? "a problem" : "a plan"; }

Result<embedding::Problem> problem_of(const Side& side, const ProblemOverrides& overrides) {
  Result<embedding::ProblemSpec> spec = read_problem(side.text, overrides);
  if (!spec.ok()) return side.input->locate(spec.error());
  Result<embedding::Problem> problem = embedding::Problem::make(std::move(spec).value());
  return problem.ok()
             ? std::move(problem)
             : side.input->locate(locate_in_problem(side.text, overrides, problem.error()));
}

Result<PlanDocument> plan_of(const Side& side) {
  Result<PlanDocument> document = read_plan(side.text);
  return document.ok() ? std::move(document) : side.input->locate(document.error());
}

// Replaces "PLAN_A" or "PLAN_B", as diff_plans() calls its inputs, by the name of the input.
Error located(Error error, const DiffRequest& request) {
  for (const auto& [name, input] : {std::pair(std::string_view("PLAN_A: "), &request.from),
                                    std::pair(std::string_view("PLAN_B: "), &request.to)}) {
    if (!error.where.starts_with(name)) continue;
    error.where.erase(0, name.size());
    return input->locate(std::move(error));
  }
  return error;
}

template <class Diff>
Answer answer_of(std::shared_ptr<const Diff> diff, Page page) {
  Answer answer;
  answer.write_page = std::move(page);
  answer.write_json = [diff](const TextSink& sink) { write_json(*diff, sink); };
  answer.text = [diff](const TextForm& form) { return diff_report(*diff, form.width); };
  return answer;
}

}  // namespace

Result<Answer> answer(const DiffRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const Side from, read_side(request.from, watch));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const Side to, read_side(request.to, watch));
  if (from.is_problem != to.is_problem) {
    return invalid_input(request.to.name(), "is " + kind_of(to) + ", and " + request.from.name() +
                                                " is " + kind_of(from) + "; compare two of a kind");
  }
  if (from.is_problem) {
    ProblemOverrides overrides = request.overrides;
    SHARDWRIGHT_ASSIGN_OR_RETURN(overrides.machine, load_machine(request.machine, watch));
    SHARDWRIGHT_ASSIGN_OR_RETURN(const embedding::Problem before, problem_of(from, overrides));
    SHARDWRIGHT_ASSIGN_OR_RETURN(const embedding::Problem after, problem_of(to, overrides));
    const auto diff = std::make_shared<const ProblemDiff>(diff_problems(before, after));
    return answer_of(diff, page_of(diff));
  }
  const std::string_view given =
      request.machine.given() ? "machine" : request.overrides.first_given();
  if (!given.empty()) {
    return invalid_input(std::string(given),
                         "is for two problems; " + request.from.name() + " is a plan");
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlanDocument before, plan_of(from));
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlanDocument after, plan_of(to));
  Result<PlanDiff> diff = diff_plans(before, after);
  if (!diff.ok()) return located(diff.error(), request);
  return answer_of(std::make_shared<const PlanDiff>(std::move(diff).value()),
                   page_of(std::make_shared<const PlanDocument>(std::move(before)),
                           std::make_shared<const PlanDocument>(std::move(after))));
}

namespace {

Answer answer_of(const std::shared_ptr<const FailedAnswer>& failed) {
  Answer answer;
  answer.write_json = [failed](const TextSink& sink) { write_json(*failed, sink); };
  answer.text = [failed](const TextForm& form) { return failed_report(*failed, form.width); };
  answer.summary = failed->reason;
  answer.write_page =
      page_of("audit", answer.write_json, [text = answer.text] { return text({}); });
  return answer;
}

}  // namespace

Result<Answer> answer(const AuditRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.log.read(watch.read));
  if (!request.plan_number) {
    const Result<std::optional<FailedPlanning>> failed = read_failed_planning(text);
    if (!failed.ok()) return request.log.locate(failed.error());
    if (*failed) return answer_of(std::make_shared<const FailedAnswer>(explain_failed(**failed)));
  }
  Result<PlannerLog> log = read_planner_log(text, request.plan_number);
  if (!log.ok()) return request.log.locate(log.error());
  watch.log.info("read " + std::to_string(log->tables.size()) + " tables, " +
                 std::to_string(log->ranks.size()) + " ranks");
  if (watch.note && log->num_plans > 1 && !request.plan_number) {
    watch.note("the log has " + std::to_string(log->num_plans) + " plans; the last one, of line " +
               std::to_string(log->line) + ", is judged");
  }
  AuditOptions options = request.options;
  SHARDWRIGHT_ASSIGN_OR_RETURN(options.machine, load_machine(request.machine, watch));
  options.plan = watched(request.options.plan, watch);
  Result<Audit> audited = audit_log(*log, options);
  if (!audited.ok()) return request.log.locate(audited.error());
  const auto audit = std::make_shared<const Audit>(std::move(audited).value());
  Answer answer;
  if (request.problem) {
    answer.files.emplace_back(*request.problem, [audit](const TextSink& sink) {
      write_log_problem(*audit->problem, sink);
    });
  }
  if (request.plan) {
    Result<EmbeddingPlanResult> plan = plan_of_audit(*audit);
    if (!plan.ok()) return request.log.locate(plan.error());
    const auto result = std::make_shared<const EmbeddingPlanResult>(std::move(plan).value());
    answer.files.emplace_back(*request.plan, [result](const TextSink& sink) {
      write_plan(*result->problem, *result, {}, sink);
    });
  }
  answer.write_json = [audit](const TextSink& sink) { write_json(audit->answer, sink); };
  answer.text = [audit](const TextForm& form) { return audit_report(audit->answer, form.width); };
  answer.summary = audit_summary(audit->answer);
  answer.write_page = page_of_audit(request.log.name(), answer.write_json,
                                    [text = answer.text] { return text({}); });
  return answer;
}

Result<Answer> answer(const EnumerateRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const LoadedProblem loaded, load(request.problem, watch));
  const auto enumerated = enumerate_embedding(loaded.problem);
  if (!enumerated.ok()) return request.problem.problem.locate(enumerated.error());
  const std::shared_ptr<const embedding::SearchSpace>& space = *enumerated;
  watch.log.info("enumerated " + std::to_string(space->size()) + " sharding options");
  Answer answer;
  const ShardForm form = request.runs ? ShardForm::kRuns : ShardForm::kExpanded;
  answer.write_json = [space, form](const TextSink& sink) {
    write_search_space(*space, form, sink);
  };
  answer.text = [space](const TextForm& text) {
    TextReportOptions options;
    options.width = text.width;
    return text_report(*space, options);
  };
  return answer;
}

}  // namespace shardwright::commands
