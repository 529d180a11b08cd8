// Misuse of every function of the C interface: null, foreign, wrong and destroyed handles; races.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/capi/shardwright.h"
#include "tests/runtime/capi/handles.h"

namespace shardwright::misuse_test {

using namespace shardwright;
using namespace shardwright::test_support;

namespace {

// The outputs of all functions.
struct Outputs {
  shardwright_problem* problem = nullptr;
  shardwright_search_space* space = nullptr;
  shardwright_cancel* cancel = nullptr;
  shardwright_result* result = nullptr;
  shardwright_answer* answer = nullptr;
  shardwright_problem_info problem_info{};
  shardwright_search_space_info space_info{};
  shardwright_plan_summary summary{};
  shardwright_option_arrays options{};
  shardwright_option_buffers option_buffers{};
  shardwright_plan_arrays plan{};
  shardwright_plan_buffers plan_buffers{};
  shardwright_rank_buffers rank_buffers{};
  char text[64] = "";
  std::size_t size = 0;
  std::uint64_t count = 0;
  shardwright_outcome outcome = 0;

  Outputs() {
    problem_info.struct_size = sizeof(problem_info);
    space_info.struct_size = sizeof(space_info);
    summary.struct_size = sizeof(summary);
    options.struct_size = sizeof(options);
    option_buffers.struct_size = sizeof(option_buffers);
    plan.struct_size = sizeof(plan);
    plan_buffers.struct_size = sizeof(plan_buffers);
    rank_buffers.struct_size = sizeof(rank_buffers);
  }
};

struct Entry {
  const char* name;
  // Calls the function with `handle` as its first handle.
  std::function<shardwright_status(void* handle, Outputs& out)> call;
};

template <class Handle>
Handle* as(void* handle) {
  return static_cast<Handle*>(handle);
}

// Returns every function that takes a handle.
std::vector<Entry> entries() {
  using P = shardwright_problem;
  using S = shardwright_search_space;
  using R = shardwright_result;
  using A = shardwright_answer;
  return {
      {"problem_sizes",
       [](void* h, Outputs& o) { return shardwright_problem_sizes(as<P>(h), &o.problem_info); }},
      {"problem_table_name",
       [](void* h, Outputs& o) {
         return shardwright_problem_table_name(as<P>(h), 0, o.text, 64, &o.size);
       }},
      {"problem_destroy", [](void* h, Outputs&) { return shardwright_problem_destroy(as<P>(h)); }},
      {"search_space_enumerate",
       [](void* h, Outputs& o) { return shardwright_search_space_enumerate(as<P>(h), &o.space); }},
      {"search_space_from_json",
       [](void* h, Outputs& o) {
         return shardwright_search_space_from_json(as<P>(h), "{}", 2, &o.space);
       }},
      {"search_space_from_arrays",
       [](void* h, Outputs& o) {
         return shardwright_search_space_from_arrays(as<P>(h), &o.options, &o.space);
       }},
      {"search_space_sizes",
       [](void* h, Outputs& o) { return shardwright_search_space_sizes(as<S>(h), &o.space_info); }},
      {"search_space_to_arrays",
       [](void* h, Outputs& o) {
         return shardwright_search_space_to_arrays(as<S>(h), &o.option_buffers);
       }},
      {"search_space_to_json",
       [](void* h, Outputs& o) {
         return shardwright_search_space_to_json(as<S>(h), o.text, 64, &o.size);
       }},
      {"search_space_destroy",
       [](void* h, Outputs&) { return shardwright_search_space_destroy(as<S>(h)); }},
      {"cancel_request",
       [](void* h, Outputs&) { return shardwright_cancel_request(as<shardwright_cancel>(h)); }},
      {"cancel_destroy",
       [](void* h, Outputs&) { return shardwright_cancel_destroy(as<shardwright_cancel>(h)); }},
      {"evaluate",
       [](void* h, Outputs& o) {
         return shardwright_evaluate(as<P>(h), nullptr, &o.plan, &o.result);
       }},
      {"result_summary",
       [](void* h, Outputs& o) { return shardwright_result_summary(as<R>(h), &o.summary); }},
      {"result_text",
       [](void* h, Outputs& o) {
         return shardwright_result_text(as<R>(h), 0, o.text, 64, &o.size);
       }},
      {"result_violation",
       [](void* h, Outputs& o) {
         return shardwright_result_violation(as<R>(h), 0, o.text, 64, &o.size);
       }},
      {"result_plan",
       [](void* h, Outputs& o) { return shardwright_result_plan(as<R>(h), &o.plan_buffers); }},
      {"result_ranks",
       [](void* h, Outputs& o) { return shardwright_result_ranks(as<R>(h), &o.rank_buffers); }},
      {"result_search_space",
       [](void* h, Outputs& o) { return shardwright_result_search_space(as<R>(h), &o.space); }},
      {"result_to_json",
       [](void* h, Outputs& o) {
         return shardwright_result_to_json(as<R>(h), 0, o.text, 64, &o.size);
       }},
      {"result_to_text",
       [](void* h, Outputs& o) {
         return shardwright_result_to_text(as<R>(h), 0, o.text, 64, &o.size);
       }},
      {"result_to_html",
       [](void* h, Outputs& o) {
         return shardwright_result_to_html(as<R>(h), o.text, 64, &o.size);
       }},
      {"result_destroy", [](void* h, Outputs&) { return shardwright_result_destroy(as<R>(h)); }},
      {"answer_summary",
       [](void* h, Outputs& o) {
         return shardwright_answer_summary(as<A>(h), &o.outcome, &o.count);
       }},
      {"answer_warning",
       [](void* h, Outputs& o) {
         return shardwright_answer_warning(as<A>(h), 0, o.text, 64, &o.size);
       }},
      {"answer_to_json",
       [](void* h, Outputs& o) {
         return shardwright_answer_to_json(as<A>(h), o.text, 64, &o.size);
       }},
      {"answer_to_text",
       [](void* h, Outputs& o) {
         return shardwright_answer_to_text(as<A>(h), 0, o.text, 64, &o.size);
       }},
      {"answer_to_html",
       [](void* h, Outputs& o) {
         return shardwright_answer_to_html(as<A>(h), o.text, 64, &o.size);
       }},
      {"answer_destroy", [](void* h, Outputs&) { return shardwright_answer_destroy(as<A>(h)); }},
  };
}

// One handle of every kind.
struct Handles {
  shardwright_problem* problem = problem_of(kSmallProblem);
  shardwright_search_space* space = space_of(problem);
  shardwright_cancel* cancel = nullptr;
  shardwright_result* result = plan_of(problem, space, kExactRequest);
  shardwright_answer* answer = nullptr;

  Handles() {
    REQUIRE_OK(shardwright_cancel_create(&cancel));
    const std::string request = R"({"problem": )" + kSmallProblem + "}";
    REQUIRE_OK(shardwright_ask("enumerate", request.data(), request.size(), nullptr, &answer));
  }
  void destroy() const {
    CHECK_OK(shardwright_problem_destroy(problem));
    CHECK_OK(shardwright_search_space_destroy(space));
    CHECK_OK(shardwright_cancel_destroy(cancel));
    CHECK_OK(shardwright_result_destroy(result));
    CHECK_OK(shardwright_answer_destroy(answer));
  }
  std::vector<void*> all() const { return {problem, space, cancel, result, answer}; }
};

// Checks that the function refuses the handle, says why, and returns nothing.
void check_refused(const Entry& entry, void* handle, const char* why) {
  CAPTURE(entry.name);
  Outputs out;
  CHECK(entry.call(handle, out) == SHARDWRIGHT_INVALID_HANDLE);
  CHECK(std::string(shardwright_last_error_message()).find(why) != std::string::npos);
  CHECK(std::string(shardwright_last_error_place()) != "");
  CHECK((out.problem == nullptr && out.space == nullptr && out.cancel == nullptr &&
         out.result == nullptr && out.answer == nullptr && out.size == 0));
}

}  // namespace

TEST_CASE("capi: null and foreign handles are refused by every entry") {
  int local = 0;
  for (const Entry& entry : entries()) {
    check_refused(entry, nullptr, "null");
    check_refused(entry, &local, "never gave it out");
    for (const std::uint64_t number :
         {std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{0xB100000000000000},
          std::uint64_t{0xB1FFFFFF00000001}, std::uint64_t{0xB000000000000001}}) {
      CAPTURE(number);
      Outputs out;
      CHECK(entry.call(reinterpret_cast<void*>(static_cast<std::uintptr_t>(number)), out) ==
            SHARDWRIGHT_INVALID_HANDLE);
    }
  }
}

TEST_CASE("capi: a handle of another kind is refused by every entry and stays valid") {
  const Handles handles;
  for (const Entry& entry : entries()) {
    int accepted = 0;
    for (void* handle : handles.all()) {
      const std::string name = entry.name;
      // The kind of handle that the function takes. Another test destroys handles.
      const char* own = name.starts_with("cancel_")   ? "cancel"
                        : name.starts_with("result_") ? "result"
                        : name.starts_with("answer_") ? "answer"
                        : name == "search_space_sizes" || name.starts_with("search_space_to") ||
                                name == "search_space_destroy"
                            ? "space"
                            : "problem";
      void* taken = own == std::string("cancel")   ? handles.all()[2]
                    : own == std::string("result") ? handles.all()[3]
                    : own == std::string("answer") ? handles.all()[4]
                    : own == std::string("space")  ? handles.all()[1]
                                                   : handles.all()[0];
      if (handle == taken) {
        ++accepted;
      } else {
        check_refused(entry, handle, "another kind");
      }
    }
    CHECK(accepted == 1);
  }
  handles.destroy();
}

TEST_CASE("capi: a destroyed handle is refused by every entry, also when its slot is used again") {
  Handles first;
  first.destroy();
  const Handles second;
  for (const Entry& entry : entries()) {
    for (void* handle : first.all()) {
      CAPTURE(entry.name);
      Outputs out;
      CHECK(entry.call(handle, out) == SHARDWRIGHT_INVALID_HANDLE);
    }
  }
  second.destroy();
}

TEST_CASE("capi: if many threads destroy one handle, exactly one succeeds") {
  for (int round = 0; round < 50; ++round) {
    shardwright_problem* problem = problem_of(kSmallProblem);
    std::atomic<int> destroyed{0}, refused{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        const shardwright_status status = shardwright_problem_destroy(problem);
        (status == SHARDWRIGHT_OK ? destroyed : refused) += 1;
        CHECK((status == SHARDWRIGHT_OK || status == SHARDWRIGHT_INVALID_HANDLE));
      });
    }
    threads.clear();
    CHECK(destroyed == 1);
    CHECK(refused == 7);
  }
}

TEST_CASE("capi: handles may be destroyed while a running call uses them") {
  const Handles handles;
  struct Destroyer {
    const Handles* handles;
    bool done = false;
  } destroyer{&handles};
  shardwright_ask_options options{};
  options.cancel = handles.cancel;
  options.user_data = &destroyer;
  // Runs on the thread that plans, in the middle of the call.
  options.progress = [](void* user_data, const shardwright_progress*) -> std::int32_t {
    auto& self = *static_cast<Destroyer*>(user_data);
    if (!self.done) self.handles->destroy();
    self.done = true;
    return 0;
  };
  shardwright_result* result = nullptr;
  REQUIRE_OK(ask_plan(handles.problem, handles.space, kExactRequest, options, &result));
  CHECK(destroyer.done);
  CHECK(summary_of(result).has_plan == 1);
  CHECK(ask_plan(handles.problem, nullptr, "{}", {}, &result) == SHARDWRIGHT_INVALID_HANDLE);
  CHECK(result == nullptr);
}

TEST_CASE("capi: a missing argument is refused by name") {
  const Handles handles;
  const auto refused = [](shardwright_status status, const char* place) {
    CHECK(status == SHARDWRIGHT_INVALID_ARGUMENT);
    CHECK(std::string(shardwright_last_error_place()) == place);
  };
  shardwright_problem* problem = nullptr;
  shardwright_search_space* space = nullptr;
  shardwright_result* result = nullptr;
  refused(shardwright_problem_from_json(nullptr, 3, &problem), "text");
  refused(shardwright_problem_from_json("{}", 2, nullptr), "problem");
  refused(shardwright_problem_from_file(nullptr, &problem), "path");
  refused(shardwright_problem_from_file("-", &problem), "path");
  refused(shardwright_problem_from_arrays(nullptr, &problem), "arrays");
  refused(shardwright_problem_sizes(handles.problem, nullptr), "info");
  refused(shardwright_problem_table_name(handles.problem, 3, nullptr, 0, nullptr), "table");
  refused(shardwright_problem_table_name(handles.problem, 0, nullptr, 0, nullptr), "buffer");
  refused(shardwright_problem_table_name(handles.problem, 0, nullptr, 5, nullptr), "buffer");
  refused(shardwright_search_space_enumerate(handles.problem, nullptr), "space");
  refused(shardwright_search_space_from_arrays(handles.problem, nullptr, &space), "options");
  refused(shardwright_search_space_to_arrays(handles.space, nullptr), "options");
  refused(shardwright_cancel_create(nullptr), "cancel");
  refused(shardwright_answer_result(handles.answer, nullptr), "result");
  refused(shardwright_answer_result(handles.answer, &result), "answer");
  refused(shardwright_evaluate(handles.problem, handles.space, nullptr, nullptr), "result");
  refused(shardwright_result_summary(handles.result, nullptr), "summary");
  refused(shardwright_result_text(handles.result, 77, nullptr, 0, nullptr), "which");
  refused(shardwright_result_violation(handles.result, 0, nullptr, 0, nullptr), "index");
  refused(shardwright_result_plan(handles.result, nullptr), "plan");
  refused(shardwright_result_ranks(handles.result, nullptr), "ranks");
  refused(shardwright_result_to_json(handles.result, 4, nullptr, 0, nullptr), "contents");
  shardwright_answer* answer = nullptr;
  refused(shardwright_ask(nullptr, "{}", 2, nullptr, &answer), "command");
  refused(shardwright_ask("plam", "{}", 2, nullptr, &answer), "command");
  refused(shardwright_ask("plan", nullptr, 2, nullptr, &answer), "request");
  refused(shardwright_ask("plan", "{}", 2, nullptr, nullptr), "answer");
  refused(shardwright_answer_warning(handles.answer, 0, nullptr, 0, nullptr), "index");
  refused(shardwright_answer_to_text(handles.answer, 39, nullptr, 0, nullptr), "width");
  CHECK(shardwright_answer_to_html(handles.answer, nullptr, 0, nullptr) == SHARDWRIGHT_UNSUPPORTED);
  CHECK_OK(shardwright_answer_summary(handles.answer, nullptr, nullptr));
  handles.destroy();
}

TEST_CASE("capi: a search space can be used with its own problem only") {
  const Handles a;
  const Handles b;
  shardwright_result* result = nullptr;
  CHECK(ask_plan(a.problem, b.space, "{}", {}, &result) == SHARDWRIGHT_INVALID_ARGUMENT);
  CHECK(std::string(shardwright_last_error_place()) == "space");
  a.destroy();
  b.destroy();
}

TEST_CASE("capi: larger structures of newer callers are accepted if their new members are zero") {
  const Handles handles;
  struct Newer {
    shardwright_ask_options options{};
    std::uint64_t more = 0;
  } newer;
  newer.options.struct_size = sizeof(newer);
  newer.options.problem = handles.problem;
  shardwright_answer* answer = nullptr;
  const auto ask = [&] { return shardwright_ask("plan", "{}", 2, &newer.options, &answer); };
  CHECK_OK(ask());
  CHECK_OK(shardwright_answer_destroy(answer));
  newer.more = 1;
  CHECK(ask() == SHARDWRIGHT_UNSUPPORTED);
  newer.options.struct_size = 0;
  CHECK(ask() == SHARDWRIGHT_INVALID_ARGUMENT);

  struct NewerSummary {
    shardwright_plan_summary summary{};
    std::uint64_t more = 7;
  } summary;
  summary.summary.struct_size = sizeof(summary);
  CHECK_OK(shardwright_result_summary(handles.result, &summary.summary));
  CHECK(summary.summary.struct_size == sizeof(summary));
  CHECK(summary.more == 0);
  summary.summary.struct_size = 8;
  summary.summary.rating = -1;
  CHECK(shardwright_result_summary(handles.result, &summary.summary) ==
        SHARDWRIGHT_INVALID_ARGUMENT);
  CHECK(summary.summary.rating == -1);
  handles.destroy();
}

}  // namespace shardwright::misuse_test
