// Plans of graphs of PyTorch's operators.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/capi/boundary.h"
#include "runtime/capi/shardwright.h"
#include "runtime/io/operators/aten/aten_graph_json.h"
#include "runtime/io/operators/aten/aten_options_json.h"
#include "runtime/io/operators/aten/aten_plan_json.h"

using namespace shardwright;
using namespace shardwright::capi;

namespace {

// The value, or the error with the argument that it is about before its place.
template <class T>
T take_from(Result<T> read, const char* argument) {
  if (!read.ok()) {
    fail(status_of(read.error().code), read.error().message, argument + read.error().where);
  }
  return std::move(read).value();
}

}  // namespace

shardwright_status shardwright_plan_aten_graph(const char* graph, size_t graph_size,
                                               const char* options, size_t options_size,
                                               const shardwright_cancel* cancel,
                                               shardwright_aten_plan** plan) {
  return guarded([&] {
    HandleOutput<shardwright_aten_plan> out(plan, "plan");
    const auto token = optional_object_of(cancel, "cancel");
    const operators::AtenGraph read =
        take_from(read_aten_graph(given_text(graph, graph_size, "graph")), "graph");
    PlanAtenOptions asked =
        take_from(read_aten_options(given_text(options, options_size, "options")), "options");
    if (token) asked.limits.stop = token->source.get_token();
    const AtenPlanResult planned = take(plan_aten(read, asked));
    auto text = std::make_shared<AtenPlanText>();
    write_aten_plan(read, asked, planned,
                    [&](std::string_view piece) { text->json.append(piece); });
    out.set(std::move(text));
  });
}

shardwright_status shardwright_aten_plan_to_json(const shardwright_aten_plan* plan, char* buffer,
                                                 size_t capacity, size_t* size) {
  return guarded([&] { put_text(object_of(plan, "plan")->json, buffer, capacity, size); });
}

shardwright_status shardwright_aten_plan_destroy(shardwright_aten_plan* plan) {
  return destroy(plan, "plan");
}
