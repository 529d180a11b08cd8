#include "runtime/surface/experts_requests.h"

#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/surface/embedding_requests.h"

namespace shardwright::commands {
namespace {

constexpr std::uint64_t kMostEffort = 1'000'000;
constexpr std::array<std::string_view, 2> kModes{"best", "compat"};

void describe_loads(ExpertLoads& input, Fields& fields, bool has_machine = true) {
  fields
      .document("loads", input.loads, "LOADS",
                "Loads of the experts of every layer: JSON, or CSV with a line per layer (- = "
                "stdin)")
      .needed();
  if (has_machine) fields.count("gpus", input.gpus, "GPUs (default: the file's)");
  fields.count("nodes", input.nodes, "Nodes, each with the same number of GPUs");
  if (has_machine)
    fields.count("slots", input.slots, "Slots of a layer over all GPUs, each for one replica");
  fields.count("groups", input.groups,
               "Groups of consecutive experts; if every node gets the same number, a group stays "
               "on a node");
  fields.choice("over", input.over, "over", experts::kOverNames,
                "Of several windows of loads: the mean time, or that of the worst window");
  describe_threads(input.threads, fields);
}

void describe_placed(ExpertLoads& input, Fields& fields) {
  fields.document("link_costs", input.link_costs, "",
                  "Costs of a token from GPU to GPU or from node to node: a matrix as JSON or CSV "
                  "(default: the file's)");
  fields.document("old", input.old, "", "Placement in use, or a plan (default: the file's)");
}

void describe_time_limit(ExpertLoads& input, Fields& fields) {
  fields.seconds("time_limit", input.time_limit_s, "Stop the search after so many seconds");
}

}  // namespace

void describe(ExpertsPlanRequest& request, Fields& fields) {
  describe_loads(request.input, fields);
  describe_placed(request.input, fields);
  fields.value("migration_weight", request.migration_weight, "LOAD",
               "Load of the busiest GPU that a move must save", decimal_number("", true));
  fields.count("max_moves", request.max_moves, "Most slots that get another expert", 0);
  fields.choice(
      "mode", request.compat, "mode", kModes,
      "best = search, with lower bounds; compat = DeepSeek's EPLB, decision for decision");
  fields.choice(
      "form", request.form, "form", kEngineForms,
      "What to write with --json or -o: this project's plan, or the file of an engine; packed = "
      "the placement in base64");
  describe_time_limit(request.input, fields);
  fields.count("effort", request.effort, "Factor of the work of best mode (default: 1)", 1,
               kMostEffort);
}

void describe(ExpertsVerifyRequest& request, Fields& fields) {
  describe_loads(request.input, fields);
  fields.document("plan", request.plan, "PLAN", "Plan that `experts plan` wrote (- = stdin)")
      .needed();
  describe_placed(request.input, fields);
}

void describe(ExpertsExplainRequest& request, Fields& fields) {
  describe_loads(request.input, fields);
  fields.count("layer", request.layer, "Only this layer, from 0 on", 0);
  describe_time_limit(request.input, fields);
}

void describe(ExpertsSweepRequest& request, Fields& fields) {
  describe_loads(request.input, fields, false);
  fields.counts("gpus", request.gpus, "GPUs, such as 32,72 (default: the file's)");
  fields.counts("slots", request.slots, "Slots, such as 256..320:32 (default: the file's)");
  fields.bytes("slot_bytes", request.slot_bytes, "Memory of one slot in all layers, such as 2GiB");
  describe_time_limit(request.input, fields);
}

}  // namespace shardwright::commands
