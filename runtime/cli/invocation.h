// A command of the list with its request, which the flags fill in.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "runtime/cli/arguments.h"
#include "runtime/cli/process_group.h"
#include "runtime/surface/command.h"

namespace shardwright::cli {

struct Invocation {
  const commands::Command& command;
  std::unique_ptr<commands::AnyRequest> request;
  OutputArguments output;
  // Replaces respond() in commands that do more than answer one request; empty in most commands.
  // Returns the exit status.
  std::function<int(ProcessGroup& group)> run;
};

// The command to run, set while the arguments are parsed.
struct Chosen {
  std::function<int()> run;  // returns the exit status
  bool uses_processes = false;
};

// Asks for the answer and writes it. Errors name flags instead of members of the request.
int respond(const Invocation& invocation, ProcessGroup* group,
            const std::function<void(commands::Watch&)>& watch = {});

// Adds all commands of the list. `chosen` must outlive `app`.
void add_commands(CLI::App& app, Chosen& chosen);

// The next two functions add what only the command line can do: fields, and `run`.
// plan: checkpoints, and a batch of problems.
void extend_plan(Invocation& invocation);
// operators solve: the command line of the contest.
void extend_solve(Invocation& invocation);

// completion and man.
void add_documentation_commands(CLI::App& app, Chosen& chosen);

}  // namespace shardwright::cli
