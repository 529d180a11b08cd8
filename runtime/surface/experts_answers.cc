#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/experts/bound.h"
#include "runtime/experts/experts.h"
#include "runtime/io/experts/experts_json.h"
#include "runtime/io/json/json_members.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"
#include "runtime/surface/answer.h"
#include "runtime/surface/experts_requests.h"
#include "runtime/surface/pages.h"

namespace shardwright::commands {
namespace {

using namespace experts;

struct LoadedExperts {
  std::shared_ptr<const ExpertProblem> problem;
  ExpertsOptions options;
};

// Puts flags in the place of what a file says, and that in the place of what a plan says.
void complete(ExpertsMachine& machine, const ExpertLoads& flags, const ExpertsMachine& other) {
  const auto first = [](auto& value, const auto& flag, const auto& fallback) {
    if (flag) value = flag;
    if (!value) value = fallback;
  };
  first(machine.num_gpus, flags.gpus, other.num_gpus);
  first(machine.num_nodes, flags.nodes, other.num_nodes);
  first(machine.num_slots, flags.slots, other.num_slots);
  first(machine.num_groups, flags.groups, other.num_groups);
  if (machine.gpu_speeds.empty()) machine.gpu_speeds = other.gpu_speeds;
}

// Names the flag or the file of an error in one of the documents.
template <class T>
Result<T> located_in(const Input& input, Result<T> result) {
  if (!result.ok()) return input.locate(result.error());
  return result;
}

Result<ExpertsDocument> load_document(const ExpertLoads& input, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, input.loads.read(watch.read));
  SHARDWRIGHT_ASSIGN_OR_RETURN(ExpertsDocument document,
                               located_in(input.loads, read_experts(text)));
  if (input.link_costs.given()) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string costs, input.link_costs.read(watch.read));
    SHARDWRIGHT_ASSIGN_OR_RETURN(document.machine.link_costs,
                                 located_in(input.link_costs, read_link_costs(costs)));
  }
  if (input.old.given()) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string old, input.old.read(watch.read));
    SHARDWRIGHT_ASSIGN_OR_RETURN(document.old, located_in(input.old, read_placement(old)));
  }
  const std::size_t layers = document.old.num_layers;
  if (layers > 0 && layers != document.spec.num_layers) {
    const Input& placed = input.old.given() ? input.old : input.loads;
    return placed.locate(invalid_input(input.old.given() ? "" : "/old",
                                       "has " + format_plural(layers, "layer") +
                                           "; the loads have " +
                                           std::to_string(document.spec.num_layers)));
  }
  return document;
}

// Names the flag of a member that a flag gave, and the file otherwise.
Error located(const ExpertLoads& input, Error error) {
  const std::pair<std::string_view, bool> flags[] = {{"/num_gpus", input.gpus.has_value()},
                                                     {"/num_nodes", input.nodes.has_value()},
                                                     {"/num_slots", input.slots.has_value()},
                                                     {"/num_groups", input.groups.has_value()}};
  for (const auto& [member, is_given] : flags) {
    if (error.where != member || !is_given) continue;
    error.where = member.substr(std::string_view("/num_").size());
    return error;
  }
  if (error.where == "/link_costs" && input.link_costs.given()) {
    error.where.clear();
    return input.link_costs.locate(std::move(error));
  }
  return input.loads.locate(std::move(error));
}

ExpertSpec spec_of(ExpertsDocument& document) {
  const ExpertsMachine& machine = document.machine;
  ExpertSpec spec = std::move(document.spec);
  spec.num_gpus = machine.num_gpus.value_or(1);
  spec.num_nodes = machine.num_nodes.value_or(1);
  spec.num_groups = machine.num_groups.value_or(1);
  const std::size_t gpus = std::max<std::size_t>(1, spec.num_gpus);  // make() refuses 0
  const std::size_t least = (spec.num_experts + gpus - 1) / gpus * gpus;
  spec.num_slots = machine.num_slots.value_or(least);
  spec.gpu_speeds = machine.gpu_speeds;
  spec.link_costs = machine.link_costs;
  spec.origins = machine.origins;
  return spec;
}

ExpertsOptions options_of(const ExpertLoads& input, const Watch& watch) {
  ExpertsOptions options;
  options.rules.terms.over = input.over.value_or(Over::kMean);
  options.threads = input.threads;
  options.time_limit_s = input.time_limit_s;
  options.stop = watch.begin();
  return options;
}

Result<LoadedExperts> load(const ExpertLoads& input, ExpertsDocument document,
                           const ExpertsMachine& other, const Watch& watch) {
  complete(document.machine, input, other);
  if (!document.machine.num_gpus)
    return invalid_input("gpus", "the file does not say how many: give {gpus}");
  Result<ExpertProblem> problem = ExpertProblem::make(spec_of(document));
  if (!problem.ok()) return located(input, problem.error());
  LoadedExperts loaded{std::make_shared<const ExpertProblem>(std::move(problem).value()),
                       options_of(input, watch)};
  loaded.options.rules.terms.old = std::move(document.old.slots);
  return loaded;
}

Result<LoadedExperts> load(const ExpertLoads& input, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(ExpertsDocument document, load_document(input, watch));
  return load(input, std::move(document), {}, watch);
}

std::string number(double value, const char* form = "%.6g") {
  char text[40];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

std::string ratio(double time, double mean) { return mean > 0 ? number(time / mean, "%.4f") : "-"; }

std::string percent(double part, double whole) {
  return whole > 0 ? number(100 * part / whole, "%.3g") + "%" : "-";
}

std::string_view limit_of(BoundRule rule) {
  switch (rule) {
    case BoundRule::kMean:
      return "the load of all experts";
    case BoundRule::kPairs:
    case BoundRule::kShares:
      return "the number of replicas";
    case BoundRule::kGroups:
      return "groups that stay on a node";
    case BoundRule::kTried:
      return "the whole problem (all placements tried)";
    case BoundRule::kWindows:
      return "the bounds of all windows";
  }
  return "";
}

std::string machine_text(const ExpertProblem& problem) {
  std::string text = format_plural(problem.num_layers(), "layer") + ", " +
                     format_plural(problem.num_experts(), "expert") + " in " +
                     format_plural(problem.num_slots(), "slot") + " on " +
                     format_plural(problem.num_gpus(), "GPU");
  if (problem.num_nodes() > 1) text += " of " + format_plural(problem.num_nodes(), "node");
  if (problem.num_samples() > 1) text += ", " + format_plural(problem.num_samples(), "window");
  return text + "\n";
}

// Says what a tenth of the moves buys.
std::string moves_text(const ExpertsAnswer& answer) {
  const ExpertPlan& plan = answer.planned.plan;
  if (!answer.old_time) return "";
  std::string text = format_plural(plan.moved, "slot") + " of " +
                     format_count(plan.placement.size()) + " get another expert";
  const std::vector<MovesPoint>& front = answer.planned.front;
  if (front.size() > 1) {
    const double gain = front.front().time - front.back().time;
    const auto tenth = std::find_if(front.begin(), front.end(), [&](const MovesPoint& point) {
      return point.moves * 10 >= front.back().moves;
    });
    text += "; of the gain that " + format_plural(front.back().moves, "move") +
            " can buy, the first " + format_count(tenth->moves) + " buy " +
            percent(front.front().time - tenth->time, gain);
  }
  return text + "\n";
}

std::string plan_text(const ExpertProblem& problem, const ExpertsAnswer& answer,
                      std::size_t width) {
  const ExpertPlan& plan = answer.planned.plan;
  double time = 0;
  for (const double load : plan.max_load)
    time += load;
  const double before = answer.old_time.value_or(answer.eplb_time);
  const std::string name = answer.old_time ? "the old placement" : "EPLB's placement";
  std::string text = machine_text(problem);
  text += "Busiest GPU / mean: " + ratio(time, answer.mean_time) + "; " + name + " " +
          ratio(before, answer.mean_time) + ", no placement below " +
          ratio(answer.bound, answer.mean_time) + (plan.proven_optimal ? " (proved optimal)" : "") +
          "\n";
  text += "Balancing is worth " + percent(before - time, before) + " of the experts' time" +
          (answer.old_time ? "" : " against EPLB's placement") + ", at most " +
          percent(before - answer.bound, before) + "\n" + moves_text(answer);
  if (answer.link_cost_before) {
    text += "Tokens x link cost: " + number(plan.link_cost) + "; " + name + " " +
            number(*answer.link_cost_before) + "\n";
  }
  if (answer.planned.stop != StopReason::kFinished)
    text += "Stopped by " + std::string(text_of(answer.planned.stop)) + "\n";
  TextTable table({{"layer"},
                   {"busiest / mean"},
                   {"no less than"},
                   {"limited by", TextTable::Align::kLeft, 2},
                   {"most replicas", TextTable::Align::kRight, 1}});
  for (std::size_t layer = 0; layer < std::min(problem.num_layers(), kMostTextRows); ++layer) {
    const auto counts =
        replica_counts(problem, plan.placement.data() + layer * problem.num_slots());
    table.add_row({std::to_string(layer), ratio(plan.max_load[layer], plan.mean_load[layer]),
                   ratio(plan.lower_bound[layer], plan.mean_load[layer]),
                   std::string(limit_of(plan.rules[layer])),
                   std::to_string(*std::max_element(counts.begin(), counts.end()))});
  }
  return text + "\n" + table.render(width);
}

Status check_moves(const ExpertsPlanRequest& request, const ExpertsOptions& options) {
  if (options.rules.terms.old.empty()) {
    if (request.max_moves) return invalid_input("max_moves", "needs {old}");
    if (request.migration_weight) return invalid_input("migration_weight", "needs {old}");
    return {};
  }
  if (request.max_moves && request.migration_weight)
    return invalid_input("max_moves", "goes without {migration_weight}: give one of the two");
  if (request.compat)
    return invalid_input("mode", "compat mode plans without an old placement: leave out {old}");
  return {};
}

}  // namespace

Result<Answer> answer(const ExpertsPlanRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(LoadedExperts loaded, load(request.input, watch));
  SHARDWRIGHT_RETURN_IF_ERROR(check_moves(request, loaded.options));
  loaded.options.compat = request.compat;
  loaded.options.rules.best.effort = request.effort;
  loaded.options.rules.terms.migration_weight = request.migration_weight.value_or(0);
  if (request.max_moves) loaded.options.rules.max_moves = *request.max_moves;
  Result<ExpertsAnswer> planned = plan_experts(*loaded.problem, loaded.options);
  if (!planned.ok()) {
    const Input& input = request.input.old.given() ? request.input.old : request.input.loads;
    return input.locate(planned.error());
  }
  const auto problem = loaded.problem;
  const auto found = std::make_shared<const ExpertsAnswer>(std::move(planned).value());
  Answer answer;
  answer.write_json = [problem, found, form = request.form](const TextSink& sink) {
    form == EngineForm::kShardwright
        ? write_expert_plan(*problem, *found, sink)
        : write_engine_form(*problem, found->planned.plan.placement, form, sink);
  };
  answer.text = [problem, found](const TextForm& form) {
    return plan_text(*problem, *found, form.width);
  };
  answer.write_page = page_of(
      "experts",
      [problem, found](const TextSink& sink) { write_expert_plan(*problem, *found, sink); },
      [text = answer.text] { return text({}); });
  if (problem->num_groups() > 1 && problem->num_nodes() > 1 && !problem->keeps_groups()) {
    answer.warnings.push_back(
        "groups: " + std::to_string(problem->num_groups()) + " groups do not divide among " +
        std::to_string(problem->num_nodes()) + " nodes, so they do not stay on nodes");
  }
  return answer;
}

namespace {

// Checks the machine that a plan says it is for, the plan, and what it is compared with.
Status check_document(const ExpertProblem& problem, const ExpertPlanDocument& document,
                      std::string_view text, bool has_old, const ExpertsOptions& options) {
  const ExpertsMachine& machine = document.machine;
  const auto wrong = [](const char* where, std::size_t is) {
    return Error{ErrorCode::kVerificationFailed,
                 "is " + std::to_string(is) + " by the loads' file and the flags", where};
  };
  if (machine.num_gpus != problem.num_gpus()) return wrong("/num_gpus", problem.num_gpus());
  if (machine.num_nodes != problem.num_nodes()) return wrong("/num_nodes", problem.num_nodes());
  if (machine.num_slots != problem.num_slots()) return wrong("/num_slots", problem.num_slots());
  if (machine.num_groups != problem.num_groups()) return wrong("/num_groups", problem.num_groups());
  if (machine.gpu_speeds != problem.spec().gpu_speeds)
    return Error{ErrorCode::kVerificationFailed, "are not those of the loads", "/gpu_speeds"};
  if (document.num_layers != problem.num_layers())
    return Error{ErrorCode::kVerificationFailed, "must have a row per layer",
                 "/physical_to_logical"};
  if (document.link_cost.has_value() == problem.spec().link_costs.empty()) {
    return Error{ErrorCode::kVerificationFailed,
                 document.link_cost ? "needs the link costs" : "is not given, but link costs are",
                 "/link_cost"};
  }
  if (document.migration_weight < 0 || (!has_old && document.migration_weight != 0))
    return wrong("/migration_weight", 0);
  SHARDWRIGHT_ASSIGN_OR_RETURN(const ExpertsAnswer recomputed,
                               verify_experts(problem, document.plan, options));
  return check_comparison(problem, recomputed, text);
}

}  // namespace

Result<Answer> answer(const ExpertsVerifyRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.plan.read(watch.read));
  Result<ExpertPlanDocument> read = read_expert_plan(text);
  if (!read.ok()) return request.plan.locate(read.error());
  SHARDWRIGHT_ASSIGN_OR_RETURN(ExpertsDocument document, load_document(request.input, watch));
  if (request.input.over && *request.input.over != read->over) {
    return invalid_input("over", "the plan was made for the " +
                                     std::string(kOverNames[static_cast<std::size_t>(read->over)]) +
                                     " window; leave out {over}");
  }
  const bool has_old = !document.old.slots.empty();
  SHARDWRIGHT_ASSIGN_OR_RETURN(LoadedExperts loaded,
                               load(request.input, std::move(document), read->machine, watch));
  loaded.options.rules.terms.over = read->over;
  loaded.options.rules.terms.migration_weight = read->migration_weight;
  const Status status = check_document(*loaded.problem, *read, text, has_old, loaded.options);
  if (!status.ok() && status.error().code != ErrorCode::kVerificationFailed)
    return request.input.loads.locate(status.error());
  struct Verdict {
    bool verified = false;
    std::string where, why;
  };
  Verdict verdict{status.ok(), "", ""};
  if (!status.ok()) verdict = {false, status.error().where, status.error().message};
  if (!has_old && !status.ok() && (verdict.where == "/moved" || verdict.where == "/objective"))
    verdict.why += "; moves are counted from `old`, which is not given";
  Answer answer;
  answer.outcome = status.ok() ? Outcome::kDone : Outcome::kViolation;
  answer.write_json = [verdict](const TextSink& sink) {
    JsonWriter json(sink);
    json.begin_object().member("verified", verdict.verified);
    if (!verdict.verified) json.member("where", verdict.where).member("why", verdict.why);
    json.end_object().finish();
  };
  answer.text = [verdict](const TextForm&) {
    return verdict.verified ? std::string(
                                  "Verified: loads, replicas, groups, bounds, moves and link "
                                  "costs. Not checked: what fewer "
                                  "moves would buy\n")
                            : "Not true: " + verdict.where + ": " + verdict.why + "\n";
  };
  return answer;
}

namespace {

// What limits a layer.
struct LayerExplanation {
  std::size_t layer = 0;
  double busiest = 0;  // over the mean
  double bound = 0;    // over the mean
  std::string limited_by;
  std::size_t hottest_expert = 0;
  double hottest_share_of_load = 0;
  std::size_t hottest_replicas = 0;
  double largest_share = 0;  // of a replica, over the mean
};

void describe_layer(JsonMembers& members, const LayerExplanation& layer) {
  members.shown("layer", layer.layer)
      .shown("busiest", layer.busiest, "Over the mean.")
      .shown("lower_bound", layer.bound, "Over the mean.")
      .shown("limited_by", layer.limited_by)
      .shown("hottest_expert", layer.hottest_expert)
      .shown("share_of_load", layer.hottest_share_of_load, "Of the hottest expert.")
      .shown("replicas", layer.hottest_replicas, "Of the hottest expert.")
      .shown("largest_share", layer.largest_share, "Time of the largest replica over the mean.");
}

void describe_explanation(JsonMembers& members, const std::vector<LayerExplanation>& layers) {
  members.constant("format", "shardwright.experts.explanation/1")
      .rows_by("layers", layers, describe_layer);
}

constexpr double kNearly = 0.97;

// `loads`: of the layer, in the window or the mean of windows that the plan's figures are for.
LayerExplanation explain_layer(const ExpertProblem& problem, const ExpertPlan& plan,
                               std::size_t layer, const double* loads) {
  const Expert* slots = plan.placement.data() + layer * problem.num_slots();
  const auto counts = replica_counts(problem, slots);
  LayerExplanation found;
  found.layer = layer;
  const double mean = plan.mean_load[layer];
  double sum = 0;
  for (std::size_t expert = 0; expert < problem.num_experts(); ++expert) {
    sum += loads[expert];
    if (loads[expert] > loads[found.hottest_expert]) found.hottest_expert = expert;
  }
  for (std::size_t slot = 0; slot < problem.num_slots(); ++slot) {
    const double load = loads[slots[slot]] / counts[static_cast<std::size_t>(slots[slot])];
    found.largest_share =
        std::max(found.largest_share, load / problem.speed(slot / problem.slots_per_gpu()));
  }
  if (mean > 0) {
    found.busiest = plan.max_load[layer] / mean;
    found.bound = plan.lower_bound[layer] / mean;
    found.largest_share /= mean;
    found.hottest_share_of_load = loads[found.hottest_expert] / std::max(sum, 1e-300);
  }
  BoundRule rule = plan.rules[layer];
  // If all placements were tried, an argument that proves nearly as much says more.
  if (rule == BoundRule::kTried) {
    const LayerBound simple = layer_bound(problem, 0, layer, best_groups(problem, 0, layer));
    if (simple.value >= kNearly * plan.lower_bound[layer]) rule = simple.rule;
  }
  found.limited_by = limit_of(rule);
  found.hottest_replicas = static_cast<std::size_t>(counts[found.hottest_expert]);
  return found;
}

std::string explain_text(const std::vector<LayerExplanation>& layers, std::size_t width) {
  TextTable table({{"layer"},
                   {"busiest"},
                   {"no less than"},
                   {"limited by", TextTable::Align::kLeft},
                   {"hottest expert", TextTable::Align::kRight, 1},
                   {"of the load", TextTable::Align::kRight, 2},
                   {"replicas", TextTable::Align::kRight, 1},
                   {"largest replica", TextTable::Align::kRight, 3}});
  for (const LayerExplanation& layer : layers) {
    table.add_row({std::to_string(layer.layer), number(layer.busiest, "%.4f"),
                   number(layer.bound, "%.4f"), layer.limited_by,
                   std::to_string(layer.hottest_expert), percent(layer.hottest_share_of_load, 1),
                   std::to_string(layer.hottest_replicas), number(layer.largest_share, "%.4f")});
  }
  return "Times of GPUs and replicas are over the mean of the layer's GPUs.\n\n" +
         table.render(width);
}

}  // namespace

Result<Answer> answer(const ExpertsExplainRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(LoadedExperts loaded, load(request.input, watch));
  if (request.layer && *request.layer >= loaded.problem->num_layers()) {
    return invalid_input(
        "layer", "the file has layers 0 to " + std::to_string(loaded.problem->num_layers() - 1));
  }
  loaded.options.rules.terms.old.clear();
  SHARDWRIGHT_ASSIGN_OR_RETURN(const ExpertsAnswer found,
                               plan_experts(*loaded.problem, loaded.options));
  const auto layers = std::make_shared<std::vector<LayerExplanation>>();
  const ExpertProblem& problem = *loaded.problem;
  const ExpertProblem mean = problem.mean_window();
  const ExpertPlan& plan = found.planned.plan;
  const bool is_mean = loaded.options.rules.terms.over == Over::kMean;
  const std::size_t worst = worst_window(problem, busiest_times(problem, plan.placement));
  for (std::size_t layer = 0; layer < problem.num_layers(); ++layer) {
    if (request.layer && *request.layer != layer) continue;
    const double* loads = is_mean ? mean.loads(0, layer) : problem.loads(worst, layer);
    layers->push_back(explain_layer(problem, plan, layer, loads));
  }
  Answer answer;
  answer.write_json = [layers](const TextSink& sink) {
    JsonWriter json(sink);
    write_by(json, [&](JsonMembers& members) { describe_explanation(members, *layers); });
    json.finish();
  };
  answer.text = [layers](const TextForm& form) { return explain_text(*layers, form.width); };
  answer.write_page =
      page_of("experts", answer.write_json, [text = answer.text] { return text({}); });
  return answer;
}

namespace {

void describe_sweep(JsonMembers& members, const ExpertsSweep& sweep, std::size_t num_experts,
                    std::optional<std::int64_t> slot_bytes) {
  const auto describe_point = [&](JsonMembers& row, const ExpertsPoint& point) {
    const std::size_t per_gpu = point.num_slots / std::max<std::size_t>(1, point.num_gpus);
    row.shown("num_gpus", point.num_gpus)
        .shown("num_slots", point.num_slots, "Of a layer, over all GPUs.")
        .shown("redundant", point.num_slots - std::min(num_experts, point.num_slots),
               "Slots beyond one per expert.")
        .shown("objective", point.time, "Sum over layers of the busiest GPU.")
        .shown("mean_time", point.mean_time, "If all GPUs were equally busy.")
        .shown("lower_bound", point.bound, "No placement has a smaller objective.")
        .written_if(
            slot_bytes.has_value(), "bytes_per_gpu",
            [&](JsonWriter& json) {
              json.value(static_cast<std::int64_t>(per_gpu) * slot_bytes.value_or(0));
            },
            [] { return json::integer().says("Memory of a GPU's slots."); });
  };
  members.constant("format", "shardwright.experts.sweep/1");
  describe_stop(members, sweep.stop);
  members.rows_by("points", sweep.points, describe_point);
}

std::string sweep_text(std::size_t num_experts, const ExpertsSweep& sweep,
                       std::optional<std::int64_t> slot_bytes, std::size_t width) {
  const auto memory = [&](std::size_t slots) {
    return format_bytes(Bytes(static_cast<std::int64_t>(slots) * slot_bytes.value_or(0)));
  };
  TextTable table({{"GPUs"},
                   {"slots"},
                   {"redundant"},
                   {"busiest / mean"},
                   {"no less than"},
                   {"memory of a GPU"}});
  if (!slot_bytes) table.hide(5);
  const std::vector<ExpertsPoint>& points = sweep.points;
  for (const ExpertsPoint& point : points) {
    table.add_row({std::to_string(point.num_gpus), std::to_string(point.num_slots),
                   std::to_string(point.num_slots - num_experts),
                   ratio(point.time, point.mean_time), ratio(point.bound, point.mean_time),
                   memory(point.num_slots / point.num_gpus)});
  }
  std::string text;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i > 0 && points[i].num_gpus == points[i - 1].num_gpus) continue;
    // Of one number of GPUs: the fewest slots within 1 % of the best.
    std::size_t end = i;
    double best = points[i].time;
    for (; end < points.size() && points[end].num_gpus == points[i].num_gpus; ++end)
      best = std::min(best, points[end].time);
    const auto enough = std::min_element(
        points.begin() + static_cast<std::ptrdiff_t>(i),
        points.begin() + static_cast<std::ptrdiff_t>(end),
        [&](const ExpertsPoint& a, const ExpertsPoint& b) {
          const bool a_is_enough = a.time <= 1.01 * best;
          const bool b_is_enough = b.time <= 1.01 * best;
          return a_is_enough != b_is_enough ? a_is_enough : a.num_slots < b.num_slots;
        });
    const std::size_t redundant = enough->num_slots - num_experts;
    text += "On " + format_plural(points[i].num_gpus, "GPU") + ", " +
            format_plural(redundant, "redundant expert") + " reach within 1% of the best here" +
            (slot_bytes ? ", and take " + memory(redundant) : "") + "\n";
  }
  if (sweep.left_out > 0) {
    text += "Left out: " + format_plural(sweep.left_out, "pair") +
            " of GPUs and slots that do not fit each other and the file\n";
  }
  if (sweep.stop != StopReason::kFinished)
    text += "Stopped by " + std::string(text_of(sweep.stop)) + "; the last numbers are missing\n";
  return table.render(width) + "\n" + text;
}

}  // namespace

Result<Answer> answer(const ExpertsSweepRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(ExpertsDocument document, load_document(request.input, watch));
  std::vector<std::int64_t> gpus = request.gpus;
  std::vector<std::int64_t> slots = request.slots;
  if (gpus.empty() && document.machine.num_gpus)
    gpus.push_back(static_cast<std::int64_t>(*document.machine.num_gpus));
  if (slots.empty() && document.machine.num_slots)
    slots.push_back(static_cast<std::int64_t>(*document.machine.num_slots));
  if (gpus.empty()) return invalid_input("gpus", "the file does not say how many: give {gpus}");
  if (slots.empty()) return invalid_input("slots", "the file does not say how many: give {slots}");
  complete(document.machine, request.input, {});
  document.machine.link_costs.clear();
  const ExpertSpec spec = spec_of(document);
  Result<ExpertsSweep> swept = sweep_experts(spec, gpus, slots, options_of(request.input, watch));
  if (!swept.ok()) {
    const std::string_view where = swept.error().where;
    Error error = swept.error();
    if (where == "/num_gpus" || where == "/num_slots")
      error.where = where.substr(std::string_view("/num_").size());
    return located(request.input, std::move(error));
  }
  const auto sweep = std::make_shared<const ExpertsSweep>(std::move(swept).value());
  Answer answer;
  answer.write_json = [sweep, experts = spec.num_experts,
                       slot_bytes = request.slot_bytes](const TextSink& sink) {
    JsonWriter json(sink);
    write_by(json,
             [&](JsonMembers& members) { describe_sweep(members, *sweep, experts, slot_bytes); });
    json.finish();
  };
  answer.text = [sweep, experts = spec.num_experts,
                 slot_bytes = request.slot_bytes](const TextForm& form) {
    return sweep_text(experts, *sweep, slot_bytes, form.width);
  };
  answer.write_page =
      page_of("experts", answer.write_json, [text = answer.text] { return text({}); });
  return answer;
}

JsonShape expert_sweep_shape() {
  return shape_by([](JsonMembers& members) { describe_sweep(members, {}, 0, {}); })
      .says("What `experts sweep` answers.");
}

JsonShape expert_explanation_shape() {
  return shape_by([](JsonMembers& members) {
           const std::vector<LayerExplanation> layers;
           describe_explanation(members, layers);
         })
      .says("What `experts explain` answers.");
}

}  // namespace shardwright::commands
