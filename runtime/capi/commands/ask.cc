// One call for every command.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/nearest_name.h"
#include "runtime/capi/boundary.h"
#include "runtime/capi/call_watch.h"
#include "runtime/capi/commands/requests.h"
#include "runtime/capi/shardwright.h"

using namespace shardwright;
using namespace shardwright::capi;
using commands::Answer;
using commands::Outcome;
using commands::Watch;

namespace {

template <class CommandRequest>
Result<Answer> ask(Request& json, const Watch& watch) {
  CommandRequest request;
  SHARDWRIGHT_RETURN_IF_ERROR(read(json, request));
  return answer(request, watch);
}

struct Command {
  std::string_view name;
  Result<Answer> (*ask)(Request&, const Watch&);
};

constexpr std::array<Command, 21> kCommands{{
    {"plan", &ask<commands::PlanRequest>},
    {"replan", &ask<commands::ReplanRequest>},
    {"sweep", &ask<commands::SweepRequest>},
    {"verify", &ask<commands::VerifyRequest>},
    {"explain", &ask<commands::ExplainRequest>},
    {"diff", &ask<commands::DiffRequest>},
    {"enumerate", &ask<commands::EnumerateRequest>},
    {"init", &ask<commands::InitRequest>},
    {"schema", &ask<commands::SchemaRequest>},
    {"report", &ask<commands::ReportRequest>},
    {"operators solve", &ask<commands::SolveRequest>},
    {"operators autoshard", &ask<commands::AutoshardRequest>},
    {"operators paths", &ask<commands::PathsRequest>},
    {"operators strategies", &ask<commands::StrategiesRequest>},
    {"operators build", &ask<commands::BuildRequest>},
    {"operators plan", &ask<commands::AtenPlanRequest>},
    {"operators sweep", &ask<commands::AtenSweepRequest>},
    {"program reshard", &ask<commands::ReshardRequest>},
    {"program apply", &ask<commands::ApplyRequest>},
    {"program redistribute", &ask<commands::RedistributeRequest>},
    {"program transfer", &ask<commands::TransferRequest>},
}};

const Command& command_of(const char* name) {
  const std::string_view asked = &required(name, "command");
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) {
    if (command.name == asked) return command;
    names.push_back(command.name);
  }
  fail(SHARDWRIGHT_INVALID_ARGUMENT,
       "unknown command \"" + std::string(asked) + "\"" + suggestion(asked, names), "command");
}

// A place as the command names it, such as "--mesh", as a place in the request.
std::string place_in_request(const std::string& where) {
  if (where == "KIND") return "/kind";
  if (!where.starts_with("--")) return where;
  std::string place = "/" + where.substr(2);
  std::replace(place.begin(), place.end(), '-', '_');
  return place;
}

template <class T>
T take_answer(Result<T> result) {
  if (!result.ok()) {
    fail(status_of(result.error().code), result.error().message,
         place_in_request(result.error().where));
  }
  return std::move(result).value();
}

shardwright_outcome number_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone:
      return SHARDWRIGHT_DONE;
    case Outcome::kNoPlan:
      return SHARDWRIGHT_NOTHING_FITS;
    case Outcome::kStopped:
      return SHARDWRIGHT_NOTHING_FOUND;
    case Outcome::kViolation:
      return SHARDWRIGHT_VIOLATION;
    case Outcome::kNotVerified:
      return SHARDWRIGHT_NOT_VERIFIED;
  }
  return SHARDWRIGHT_DONE;
}

}  // namespace

shardwright_status shardwright_ask(const char* command, const char* request, size_t size,
                                   const shardwright_ask_options* options,
                                   shardwright_answer** answer) {
  return guarded([&] {
    HandleOutput out(answer, "answer");
    const Command& asked = command_of(command);
    const shardwright_ask_options given =
        options == nullptr ? shardwright_ask_options{} : read_struct(options, "options");
    if (given.reserved != 0) fail(SHARDWRIGHT_INVALID_ARGUMENT, "must be 0", "options.reserved");
    CallWatch call(given.cancel, given.progress, given.user_data);
    Watch watch;
    watch.begin = [&] { return call.token(); };
    if (call.reports()) {
      watch.on_plan = [&](const PlanProgress& progress) { call.report(progress, 0); };
      watch.on_operators = [&](const OperatorsProgress& progress) { call.report(progress); };
    }
    std::vector<std::string> notes;
    watch.note = [&](const std::string& note) { notes.push_back(note); };
    Request json = take_answer(Request::parse(given_text(request, size, "request")));
    Answer found = take_answer(asked.ask(json, watch));
    found.warnings.insert(found.warnings.begin(), notes.begin(), notes.end());
    out.set(std::make_shared<const AnswerTexts>(std::move(found)));
  });
}

shardwright_status shardwright_problem_from_request(const char* request, size_t size,
                                                    shardwright_problem** problem) {
  return guarded([&] {
    HandleOutput out(problem, "problem");
    Request json = take_answer(Request::parse(given_text(request, size, "request")));
    commands::ProblemRequest asked;
    take(read(json, asked));
    out.set(take_answer(load(asked, Watch())).problem);
  });
}

shardwright_status shardwright_answer_summary(const shardwright_answer* answer,
                                              shardwright_outcome* outcome, uint64_t* warnings) {
  return guarded([&] {
    const auto found = object_of(answer, "answer");
    if (outcome != nullptr) *outcome = number_of(found->answer().outcome);
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

shardwright_status shardwright_answer_destroy(shardwright_answer* answer) {
  return destroy(answer, "answer");
}
