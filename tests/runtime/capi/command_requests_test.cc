// Requests that are accepted and refused, and how calls are watched and stopped.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "runtime/io/file.h"
#include "tests/runtime/capi/asking.h"

namespace shardwright::command_requests_test {

using namespace shardwright;
using namespace shardwright::test_support;

namespace {

std::string quoted_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text)
    quoted += c == '"' ? "\\\"" : c == '\n' ? "\\n" : std::string(1, c);
  return quoted + "\"";
}

// Returns the place that the error names.
std::string place_of(const char* command, const std::string& request,
                     shardwright_status expected = SHARDWRIGHT_INVALID_INPUT) {
  const Asked asked(command, request);
  CAPTURE(last_error());
  CHECK(asked.status() == expected);
  return shardwright_last_error_place();
}

}  // namespace

TEST_CASE("capi requests: a document is an object, the text of one, or a path") {
  const std::string path = "samples/data/redistribution.json";
  const std::string text = *read_file(path);
  const Asked by_path("program redistribute", R"({"redistribution": ")" + path + "\"}");
  const Asked by_value("program redistribute", R"({"redistribution": )" + text + "}");
  const Asked by_text("program redistribute", R"({"redistribution": )" + quoted_text(text) + "}");
  CHECK(by_value.json() == by_path.json());
  CHECK(by_text.json() == by_path.json());
}

TEST_CASE("capi requests: errors name the place in the request or in the file") {
  CHECK(place_of("plan", "[]") == "line 1, column 1");
  CHECK(place_of("plan", R"({"problem": )") == "line 1, column 13");
  CHECK(place_of("plan", R"({"problem": {"tables": [})") == "line 1, column 26");
  CHECK(place_of("plan", "{}") == "");
  CHECK(place_of("plan", R"({"problem": 5})") == "/problem");
  CHECK(place_of("plan", R"({"problem": "-"})") == "/problem");
  CHECK(place_of("plan", R"({"problem": "nowhere.json"})") == "nowhere.json");
  CHECK(place_of("plan", R"({"problem": {"tables": [{"name": 5}]}})") == "/problem/tables/0/name");
  CHECK(place_of("plan", R"({"problem": "{\"tables\": 5}"})") == "/problem/tables");
  CHECK(place_of("plan", R"({"problem": "{\"tables\""})") == "/problem: line 1, column 10");
  const std::string problem = R"({"problem": )" + kSmallProblem + ", ";
  CHECK(place_of("plan", problem + R"("modus": "best"})") == "/modus");
  CHECK(place_of("plan", problem + R"("mode": "bst"})") == "/mode");
  CHECK(place_of("plan", problem + R"("threads": -1})") == "/threads");
  CHECK(place_of("plan", problem + R"("threads": 1.5})") == "/threads");
  CHECK(place_of("plan", problem + R"("time_limit": -1})") == "/time_limit");
  CHECK(place_of("plan", problem + R"("hbm": "80 lightyears"})") == "/hbm");
  CHECK(place_of("plan", problem + R"("hbm": 0})") == "/hbm");
  CHECK(place_of("sweep", problem + R"("ranks": [4, 0]})") == "/ranks/1");
  CHECK(place_of("verify", problem + R"("plan": {"plan": 5}})") == "/plan/plan");
  CHECK(place_of("diff", R"({"plan_a": {"tables": []}, "plan_b": {"plan": []}})") == "/plan_b");
  const std::string graph = R"({"graph": "samples/data/traced_mlp.json", )";
  CHECK(place_of("operators plan", graph + R"("blocks": "free"})") == "/mesh");
  CHECK(place_of("operators plan", graph + R"("mesh": "4y2"})") == "/mesh");
  CHECK(place_of("operators plan", graph + R"("options": {"mesh": [4, "2"]}})") ==
        "/options/mesh/1");
  CHECK(place_of("operators plan", R"({"graph": {}, "mesh": [4, 2]})").find("/graph") == 0);
  CHECK(place_of("operators sweep", graph + R"("axes": 2})") == "/devices");
  CHECK(place_of("operators plan", graph + R"("mesh": [2], "overlap": 2})") == "/overlap");
  CHECK(place_of("operators build", graph + R"("threads": 1})") == "/mesh");
  CHECK(place_of("program apply", R"({"program": {}, "startup": {}})") == "/startup");
}

TEST_CASE("capi requests: seeds and work limits are whole numbers up to 2^64 - 1") {
  const std::string problem = R"({"problem": )" + kSmallProblem + ", ";
  for (const char* key : {"seed", "work_limit"}) {
    CAPTURE(key);
    const std::string member = "\"" + std::string(key) + "\": ";
    CHECK(Asked("plan", problem + member + "18446744073709551615}").status() == SHARDWRIGHT_OK);
    for (const char* value : {"18446744073709551616", "-1", "1.5", "\"1\"", "true"}) {
      CAPTURE(value);
      CHECK(place_of("plan", problem + member + value + "}") == "/" + std::string(key));
      CHECK(place_of("operators solve", R"({"instance": {}, )" + member + value + "}") ==
            "/" + std::string(key));
    }
  }
}

TEST_CASE("capi requests: tables may be CSV, and errors name line and column") {
  const std::string tables = R"(name,num_embeddings,embedding_dim\na,1000,16\nb,500,)";
  const auto request = [&](const std::string& last) {
    return R"({"problem": ")" + tables + last + R"(\n", "ranks": 2})";
  };
  CHECK(Asked("plan", request("8")).status() == SHARDWRIGHT_OK);
  CHECK(place_of("plan", request("x")) == "/problem: line 3, column 3 (embedding_dim)");
  CHECK(place_of("plan", request("0")) == "/problem: line 3, column 3 (embedding_dim)");
}

TEST_CASE("capi requests: files to begin with, and schemas") {
  CHECK(Asked("init", "{}").json().starts_with("{\n  \"//\": ["));
  CHECK(Asked("init", R"({"kind": "graph"})").json() ==
        Asked("init", R"({"kind": "graph"})").report());
  CHECK(Asked("schema", R"({"kind": "plan"})").json().find("\"title\": \"Plan\"") !=
        std::string::npos);
  CHECK(Asked("schema", "{}").json().find("\"kind\":\"problem\"") != std::string::npos);
  CHECK(place_of("init", R"({"kind": "sweep"})") == "/kind");
  CHECK(place_of("schema", R"({"kind": "sweeep"})") == "/kind");
}

TEST_CASE("capi requests: a member that is null is not given") {
  const std::string given = R"({"problem": )" + kSmallProblem +
                            R"(, "plan": null, "table": null, "hbm": null, "mode": null})";
  CHECK(Asked("explain", given).status() == SHARDWRIGHT_OK);
  CHECK(place_of("verify", given) == "/plan");
}

TEST_CASE("capi requests: a callback sees progress and stops the call") {
  shardwright_ask_options options{};
  options.struct_size = sizeof(options);
  int calls = 0;
  options.user_data = &calls;
  options.progress = [](void* user_data, const shardwright_progress* progress) -> std::int32_t {
    ++*static_cast<int*>(user_data);
    return progress->has_rating != 0 ? 1 : 0;
  };
  const std::string problem = *read_file("samples/data/mlperf_dlrm_dcnv2.json");
  const Asked planned("plan", R"({"problem": )" + problem + R"(, "ranks": 16, "threads": 1})",
                      &options);
  REQUIRE_OK(planned.status());
  CHECK(calls > 0);
  CHECK(planned.json().find(R"("stopped_by":"cancelled")") != std::string::npos);
  calls = 0;
  const Asked traced("operators plan",
                     R"({"graph": "samples/data/traced_mlp.json", "mesh": "4x2", "threads": 1})",
                     &options);
  REQUIRE_OK(traced.status());
  CHECK(calls > 0);
}

TEST_CASE("capi requests: a cancel handle ends the call with what there is") {
  shardwright_cancel* cancel = nullptr;
  REQUIRE_OK(shardwright_cancel_create(&cancel));
  REQUIRE_OK(shardwright_cancel_request(cancel));
  shardwright_ask_options options{};
  options.struct_size = sizeof(options);
  options.cancel = cancel;
  const Asked asked("plan", R"({"problem": )" + kSmallProblem + "}", &options);
  REQUIRE_OK(asked.status());
  CHECK(asked.json().find(R"("stopped_by":"cancelled")") != std::string::npos);
  CHECK_OK(shardwright_cancel_destroy(cancel));
  const Asked refused("plan", R"({"problem": )" + kSmallProblem + "}", &options);
  CHECK(refused.status() == SHARDWRIGHT_INVALID_HANDLE);
  CHECK(std::string(shardwright_last_error_place()) == "options.cancel");
}

}  // namespace shardwright::command_requests_test
