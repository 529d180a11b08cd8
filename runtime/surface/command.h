// All commands, each with its name, request and answer. The command line and the C interface are
// made from this list.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/surface/answer.h"
#include "runtime/surface/fields.h"

namespace shardwright::commands {

// A request whose members are set through its fields.
// Thread safety: one thread at a time.
class AnyRequest {
 public:
  virtual ~AnyRequest() = default;
  virtual Result<Answer> ask(const Watch& watch) const = 0;
  // Sets a problem and a search space (may be null) that the caller has read, in place of the
  // documents. Returns false if the request takes no problem and search space in this form.
  virtual bool take_problem(std::shared_ptr<const embedding::Problem> problem,
                            std::shared_ptr<const embedding::SearchSpace> space) = 0;

  Fields fields;
};

template <class Request>
class RequestOf final : public AnyRequest {
 public:
  RequestOf() { describe(request, fields); }
  Result<Answer> ask(const Watch& watch) const override { return answer(request, watch); }
  bool take_problem(std::shared_ptr<const embedding::Problem> problem,
                    std::shared_ptr<const embedding::SearchSpace> space) override {
    if constexpr (requires { request.problem.read_problem; }) {
      if (fields.find("search_space") == nullptr) return false;
      request.problem.read_problem = std::move(problem);
      request.problem.read_space = std::move(space);
      fields.all().front().required = false;  // the problem
      return true;
    }
    return false;
  }

  Request request;
};

struct Command {
  std::string_view name;  // such as "operators solve"
  std::string_view help;
  std::string_view example;
  std::unique_ptr<AnyRequest> (*make)();
  bool has_page = false;        // --report
  bool has_csv = false;         // --csv
  bool shows_progress = false;  // if it runs on a terminal
  bool uses_processes = false;  // if false, only the first of several processes runs it
};

// Returns all commands in the order of the help.
std::span<const Command> commands();

// A group of commands, named by the first word of their names.
struct CommandGroup {
  std::string_view name;
  std::string_view help;
  std::string_view example;
};
std::span<const CommandGroup> command_groups();

}  // namespace shardwright::commands
