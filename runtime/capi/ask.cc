// The call that runs any command of the list (commands::commands()).
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/nearest_name.h"
#include "runtime/capi/boundary.h"
#include "runtime/capi/call_watch.h"
#include "runtime/capi/shardwright.h"
#include "runtime/execution/processes/exchange.h"
#include "runtime/surface/command.h"
#include "runtime/surface/embedding_requests.h"

using namespace shardwright;
using namespace shardwright::capi;
using commands::Answer;
using commands::Watch;

namespace {

// An Exchange that calls the caller's all-gather function.
class CallerExchange final : public Exchange {
 public:
  explicit CallerExchange(const shardwright_ask_options& given) : given_(&given) {}

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

  // C code calls this function, so it must not throw.
  static void add(void* sink, const void* bytes, uint64_t size) noexcept {
    auto& all = *static_cast<Messages*>(sink);
    try {
      all.received.emplace_back(static_cast<const char*>(bytes), size);
    } catch (const std::exception&) {
      all.out_of_memory = true;
    }
  }

  const shardwright_ask_options* given_;
};

const commands::Command& command_of(const char* name) {
  const std::string_view asked = &required(name, "command");
  std::vector<std::string_view> names;
  for (const commands::Command& command : commands::commands()) {
    if (command.name == asked) return command;
    names.push_back(command.name);
  }
  fail(SHARDWRIGHT_INVALID_ARGUMENT,
       "unknown command \"" + std::string(asked) + "\"" + suggestion(asked, names), "command");
}

void check(const shardwright_ask_options& given) {
  const auto refuse = [](const char* message, const char* place) {
    fail(SHARDWRIGHT_INVALID_ARGUMENT, message, place);
  };
  if (given.reserved != 0) refuse("must be 0", "options.reserved");
  if (given.search_space != nullptr && given.problem == nullptr)
    refuse("needs a problem", "options.search_space");
  if (given.process > 0 && given.process >= given.processes)
    refuse("must be less than the number of processes", "options.process");
  if (given.processes > 1 && given.gather == nullptr)
    refuse("several processes need a function that gathers their messages", "options.gather");
}

// Turns the name of a member into its JSON pointer in the request.
std::string place_in_request(const std::string& where, const commands::Fields& fields) {
  return fields.find(where) != nullptr ? "/" + where : where;
}

template <class T>
T take_answer(Result<T> result, const commands::Fields& fields) {
  if (!result.ok()) {
    fail(status_of(result.error().code),
         fields.named(result.error().message, &commands::Field::quoted),
         place_in_request(result.error().where, fields));
  }
  return std::move(result).value();
}

}  // namespace

shardwright_status shardwright_ask(const char* command, const char* request, size_t size,
                                   const shardwright_ask_options* options,
                                   shardwright_answer** answer) {
  return guarded([&] {
    HandleOutput out(answer, "answer");
    const commands::Command& asked = command_of(command);
    const shardwright_ask_options given =
        options == nullptr ? shardwright_ask_options{} : read_struct(options, "options");
    check(given);
    CallWatch call(given.cancel, given.progress, given.user_data);
    Watch watch;
    watch.begin = [&] { return call.token(); };
    if (call.reports()) {
      watch.on_plan = [&](const PlanProgress& progress) { call.report(progress, 0); };
      watch.on_operators = [&](const OperatorsProgress& progress) { call.report(progress); };
    }
    std::vector<std::string> notes;
    watch.note = [&](const std::string& note) { notes.push_back(note); };
    std::optional<CallerExchange> exchange;
    if (given.processes > 1) watch.exchange = &exchange.emplace(given);
    const std::unique_ptr<commands::AnyRequest> made = asked.make();
    if (given.problem != nullptr) {
      const Inputs inputs(given.problem, given.search_space);
      if (!made->take_problem(inputs.problem, inputs.space))
        fail(SHARDWRIGHT_INVALID_ARGUMENT, "the command takes no handle", "options.problem");
    }
    take(commands::read_request(given_text(request, size, "request"), made->fields));
    Answer found = take_answer(made->ask(watch), made->fields);
    found.warnings.insert(found.warnings.begin(), notes.begin(), notes.end());
    for (std::string& warning : found.warnings)
      warning = made->fields.named(warning, &commands::Field::quoted);
    out.set(std::make_shared<const AnswerTexts>(std::move(found)));
  });
}

shardwright_status shardwright_problem_from_request(const char* request, size_t size,
                                                    shardwright_problem** problem) {
  return guarded([&] {
    HandleOutput out(problem, "problem");
    commands::ProblemRequest asked;
    commands::Fields fields;
    describe(asked, fields);
    take(commands::read_request(given_text(request, size, "request"), fields));
    out.set(take_answer(load(asked, Watch()), fields).problem);
  });
}

shardwright_status shardwright_answer_summary(const shardwright_answer* answer,
                                              shardwright_outcome* outcome, uint64_t* warnings) {
  return guarded([&] {
    const auto found = object_of(answer, "answer");
    if (outcome != nullptr) {
      const auto number = static_cast<std::size_t>(found->answer().outcome);
      *outcome = commands::kOutcomes[number].number_in_c;
    }
    if (warnings != nullptr) *warnings = found->answer().warnings.size();
  });
}

shardwright_status shardwright_answer_warning(const shardwright_answer* answer, uint64_t index,
                                              char* buffer, size_t capacity, size_t* size) {
  return guarded([&] {
    const auto found = object_of(answer, "answer");
    const std::vector<std::string>& warnings = found->answer().warnings;
    if (index >= warnings.size()) {
      fail(SHARDWRIGHT_INVALID_ARGUMENT,
           "there are " + std::to_string(warnings.size()) + " warnings", "index");
    }
    put_text(warnings[index], buffer, capacity, size);
  });
}

shardwright_status shardwright_answer_to_json(const shardwright_answer* answer, char* buffer,
                                              size_t capacity, size_t* size) {
  return guarded([&] { put_text(object_of(answer, "answer")->json(), buffer, capacity, size); });
}

shardwright_status shardwright_answer_to_text(const shardwright_answer* answer, uint32_t width,
                                              char* buffer, size_t capacity, size_t* size) {
  return guarded(
      [&] { put_text(object_of(answer, "answer")->text(width), buffer, capacity, size); });
}

shardwright_status shardwright_answer_to_html(const shardwright_answer* answer, char* buffer,
                                              size_t capacity, size_t* size) {
  return guarded([&] { put_text(object_of(answer, "answer")->page(), buffer, capacity, size); });
}

shardwright_status shardwright_answer_result(const shardwright_answer* answer,
                                             shardwright_result** result) {
  return guarded([&] {
    HandleOutput out(result, "result");
    const auto found = object_of(answer, "answer");
    const commands::Answer& planned = found->answer();
    if (!planned.plan)
      fail(SHARDWRIGHT_INVALID_ARGUMENT, "is no answer of plan or replan", "answer");
    out.set(number_options(planned.plan, planned.old_plan));
  });
}

shardwright_status shardwright_answer_destroy(shardwright_answer* answer) {
  return destroy(answer, "answer");
}
