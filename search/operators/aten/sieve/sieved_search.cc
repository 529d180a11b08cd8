#include "search/operators/aten/sieve/sieved_search.h"

#include <algorithm>
#include <utility>

#include "search/operators/aten/model/aten_problem.h"
#include "search/operators/aten/model/shared_blocks.h"
#include "search/operators/aten/sieve/placement_messages.h"

namespace shardwright::operators {
namespace {

// One search.
// Thread safety: one thread at a time.
class SievedSearch {
 public:
  SievedSearch(const AtenModel& model, Executor& executor, Budget& budget,
               const ProblemSolveOptions& options, const SieveParameters& parameters)
      : model_(model),
        executor_(executor),
        budget_(budget),
        options_(options),
        parameters_(parameters),
        messages_(model, model.leaders),
        part_(parameters.first_part) {}

  Result<SievedSolution> run() {
    start();
    SHARDWRIGHT_RETURN_IF_ERROR(look_near());
    for (int round = 0; round < parameters_.most_rounds && !is_closed() && !is_over(); ++round) {
      if (has_choice()) {
        messages_.exclude_above(best_.objective);
        const KeptChoices kept = keep(best_.objective);
        if (per_variable(kept) <= parameters_.most_choices) {
          SHARDWRIGHT_RETURN_IF_ERROR(solve_kept(kept));
          return finished();
        }
      }
      const double before = messages_.bound();
      messages_.sweep(parameters_.more_sweeps);
      offer(messages_.decode());
      const double gain = messages_.bound() - before;
      const bool gains = gain > parameters_.least_gain * (best_.objective - before);
      if (!has_choice() || (!gains && looks_ < parameters_.most_looks))
        SHARDWRIGHT_RETURN_IF_ERROR(look_near());
    }
    if (is_closed() || is_over()) return finished();
    SHARDWRIGHT_RETURN_IF_ERROR(solve_kept(has_choice() ? keep(best_.objective) : all_choices()));
    return finished();
  }

 private:
  static constexpr double kLeastPart = 1e-9;

  // Solves the problem of the choices nearest to the bound, for a good plan early.
  Status look_near() {
    ++looks_;
    offer(messages_.decode());
    if (is_closed()) return {};
    KeptChoices kept = near(part_);
    while (per_variable(kept) > parameters_.first_choices && part_ > kLeastPart)
      kept = near(part_ /= 2);
    SHARDWRIGHT_RETURN_IF_ERROR(solve_kept(kept));
    part_ *= parameters_.part_growth;
    return {};
  }

  // Messages between the blocks of a model that repeat are found for one block first.
  void start() {
    const std::vector<std::uint32_t> blocks = block_leaders(model_.variables);
    if (blocks == model_.leaders || is_identity(blocks))
      return messages_.sweep(parameters_.first_sweeps);
    PlacementMessages of_blocks(model_, blocks);
    double before = -kForbidden;
    for (int round = 0; round < parameters_.most_block_rounds; ++round) {
      of_blocks.sweep(parameters_.block_sweeps);
      if (of_blocks.bound() - before < parameters_.least_block_gain * of_blocks.bound()) break;
      before = of_blocks.bound();
    }
    messages_ = PlacementMessages(of_blocks, model_.leaders);
    messages_.sweep(parameters_.sweeps_from_blocks);
  }

  static bool is_identity(const std::vector<std::uint32_t>& leaders) {
    for (std::uint32_t v = 0; v < leaders.size(); ++v) {
      if (leaders[v] != v) return false;
    }
    return true;
  }

  double cost_of(const std::vector<std::uint32_t>& choice) const {
    double cost = 0;
    for (std::size_t v = 0; v < choice.size(); ++v)
      cost += model_.costs[v][choice[v]];
    for (const AtenTransfers::Edge& edge : model_.transfers.edges) {
      cost += model_.transfers.transfers[edge.transfer].cost(choice[edge.first],
                                                             choice[edge.second]);
    }
    return cost;
  }

  void offer(std::vector<std::uint32_t> choice) {
    const double cost = cost_of(choice);
    if (!(cost < kForbidden) || (has_choice() && cost >= best_.objective)) return;
    best_.objective = cost;
    best_.choice = std::move(choice);
  }

  // The bound of all plans has met the best one.
  bool is_closed() const {
    constexpr double kRounding = 1e-10;
    return has_choice() && messages_.bound() >= best_.objective * (1 - kRounding);
  }

  bool has_choice() const { return !best_.choice.empty(); }
  bool is_over() const { return budget_.interrupted() || !budget_.work_left(); }

  // The choices whose bound is at most `most`, the same for all variables of a leader. Sets the least
  // bound of those that are left out.
  KeptChoices keep(double most) {
    KeptChoices kept(model_.leaders.size());
    left_out_ = kForbidden;
    for (std::uint32_t v = 0; v < kept.size(); ++v) {
      if (model_.leaders[v] != v) {
        kept[v] = kept[model_.leaders[v]];
        continue;
      }
      for (std::uint32_t choice = 0; choice < model_.costs[v].size(); ++choice) {
        const double bound = messages_.bound_with(v, choice);
        if (bound <= most) {
          kept[v].push_back(choice);
        } else {
          left_out_ = std::min(left_out_, bound);
        }
      }
    }
    return kept;
  }
  KeptChoices near(double part) {
    return keep(messages_.least_bound_with() + part * std::max(1.0, messages_.bound()));
  }
  KeptChoices all_choices() {
    left_out_ = kForbidden;
    return operators::all_choices(model_);
  }

  double per_variable(const KeptChoices& kept) const {
    std::size_t sum = 0;
    std::size_t variables = 0;
    for (std::uint32_t v = 0; v < kept.size(); ++v) {
      if (model_.leaders[v] != v) continue;
      sum += kept[v].size();
      ++variables;
    }
    return static_cast<double>(sum) / static_cast<double>(std::max<std::size_t>(variables, 1));
  }

  // Takes the solution of the kept choices if it is the best one so far.
  Status solve_kept(const KeptChoices& kept) {
    last_status_ = SolveStatus::kInfeasible;
    if (std::any_of(kept.begin(), kept.end(), [](const auto& own) { return own.empty(); }))
      return {};
    SHARDWRIGHT_ASSIGN_OR_RETURN(const OperatorProblem problem,
                                 lower(model_, kept, std::nullopt));
    const ProblemSolution solved = solve_problem(problem, executor_, budget_, options_);
    last_status_ = solved.status;
    best_.stopped_by = solved.stopped_by;
    best_.kept = 0;
    for (const auto& own : kept)
      best_.kept += own.size();
    if (solved.choice.empty()) return {};
    std::vector<std::uint32_t> choice;
    for (std::size_t v = 0; v < kept.size(); ++v)
      choice.push_back(kept[v][solved.choice[v]]);
    offer(std::move(choice));
    return {};
  }

  // The problem of the kept choices was solved, and what was left out costs no less.
  bool is_proved() const {
    if (is_closed()) return true;
    if (last_status_ == SolveStatus::kInfeasible) return !has_choice() && left_out_ == kForbidden;
    return last_status_ == SolveStatus::kOptimal && best_.objective <= left_out_;
  }

  SievedSolution finished() {
    best_.lower_bound = std::max(0.0, messages_.bound());
    if (has_choice()) {
      best_.status = is_proved() ? SolveStatus::kOptimal : SolveStatus::kFeasible;
      best_.lower_bound =
          is_proved() ? best_.objective : std::min(best_.lower_bound, best_.objective);
    } else {
      best_.status = is_proved() ? SolveStatus::kInfeasible : SolveStatus::kUnknown;
    }
    if (is_proved()) {
      best_.stopped_by = StopReason::kFinished;
    } else if (const auto reason = budget_.interrupted()) {
      best_.stopped_by = *reason;
    } else if (!budget_.work_left()) {
      best_.stopped_by = StopReason::kWorkLimit;
    }
    return std::move(best_);
  }

  const AtenModel& model_;
  Executor& executor_;
  Budget& budget_;
  const ProblemSolveOptions& options_;
  const SieveParameters& parameters_;
  PlacementMessages messages_;
  double part_ = 0;                // of the bound; how near choices were at the last look
  int looks_ = 0;
  double left_out_ = kForbidden;  // the least bound of choices that the last sieve left out
  SolveStatus last_status_ = SolveStatus::kUnknown;
  SievedSolution best_;
};

}  // namespace

Result<SievedSolution> sieved_search(const AtenModel& model, Executor& executor, Budget& budget,
                                     const ProblemSolveOptions& options,
                                     const SieveParameters& parameters) {
  return SievedSearch(model, executor, budget, options, parameters).run();
}

}  // namespace shardwright::operators
