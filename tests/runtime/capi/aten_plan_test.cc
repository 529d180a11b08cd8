// Plans of graphs of PyTorch's operators through the C interface.
#include <doctest/doctest.h>

#include <string>

#include "runtime/capi/shardwright.h"
#include "runtime/io/file.h"
#include "tests/runtime/capi/handles.h"

namespace shardwright::aten_plan_test {

using namespace shardwright;

namespace {

std::string graph_text() { return read_file("samples/data/traced_mlp.json").value(); }

shardwright_status plan(const std::string& graph, const std::string& options,
                        shardwright_aten_plan** out) {
  return shardwright_plan_aten_graph(graph.data(), graph.size(), options.data(), options.size(),
                                     nullptr, out);
}

std::string json_of(const shardwright_aten_plan* plan) {
  std::size_t size = 0;
  REQUIRE_OK(shardwright_aten_plan_to_json(plan, nullptr, 0, &size));
  std::string text(size + 1, '\0');
  REQUIRE_OK(shardwright_aten_plan_to_json(plan, text.data(), text.size(), &size));
  text.resize(size);
  return text;
}

}  // namespace

TEST_CASE("aten plan call: a graph and options give the text of a plan") {
  shardwright_aten_plan* planned = nullptr;
  REQUIRE_OK(plan(graph_text(), R"({"mesh": [4, 2], "threads": 1})", &planned));
  const std::string text = json_of(planned);
  CHECK(text.find(R"({"format":"shardwright.aten_plan","version":1,)") == 0);
  CHECK(text.find(R"("status":"optimal")") != std::string::npos);
  CHECK_OK(shardwright_aten_plan_destroy(planned));
  CHECK(shardwright_aten_plan_destroy(planned) == SHARDWRIGHT_INVALID_HANDLE);
}

TEST_CASE("aten plan call: too little memory is an answer, and says how much would do") {
  shardwright_aten_plan* planned = nullptr;
  REQUIRE_OK(plan(graph_text(), R"({"mesh": [4, 2], "memory": 1000})", &planned));
  const std::string text = json_of(planned);
  CHECK(text.find(R"("status":"infeasible")") != std::string::npos);
  CHECK(text.find(R"("least_bytes":)") != std::string::npos);
  CHECK_OK(shardwright_aten_plan_destroy(planned));
}

TEST_CASE("aten plan call: errors name the argument and the place in it") {
  shardwright_aten_plan* planned = nullptr;
  CHECK(plan("{}", R"({"mesh": [4, 2]})", &planned) == SHARDWRIGHT_INVALID_INPUT);
  CHECK(planned == nullptr);
  CHECK(std::string(shardwright_last_error_place()).find("graph") == 0);
  CHECK(plan(graph_text(), R"({"mesh": [4, "2"]})", &planned) == SHARDWRIGHT_INVALID_INPUT);
  CHECK(std::string(shardwright_last_error_place()) == "options/mesh/1");
  CHECK(plan(graph_text(), R"({"mesh": [4, 2]})", nullptr) == SHARDWRIGHT_INVALID_ARGUMENT);
}

TEST_CASE("aten plan call: a cancel token that was asked to stop ends the call") {
  shardwright_cancel* cancel = nullptr;
  REQUIRE_OK(shardwright_cancel_create(&cancel));
  REQUIRE_OK(shardwright_cancel_request(cancel));
  const std::string graph = graph_text();
  const std::string options = R"({"mesh": [4, 2]})";
  shardwright_aten_plan* planned = nullptr;
  REQUIRE_OK(shardwright_plan_aten_graph(graph.data(), graph.size(), options.data(),
                                         options.size(), cancel, &planned));
  const std::string text = json_of(planned);
  const bool known = text.find("optimal") != std::string::npos ||
                     text.find("feasible") != std::string::npos ||
                     text.find("unknown") != std::string::npos;
  CHECK(known);
  CHECK_OK(shardwright_aten_plan_destroy(planned));
  CHECK_OK(shardwright_cancel_destroy(cancel));
}

}  // namespace shardwright::aten_plan_test
