// A command of the list, and its request, whose members the flags set.
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
  // Replaces respond() if the command does more than answer one request. Returns the exit status.
  std::function<int(ProcessGroup& group)> run;
};

// The command to run, set while arguments are parsed.
struct Chosen {
  std::string command_line;  // with quotes where a shell needs them; set before
  std::function<int()> run;  // returns the exit status
  bool uses_processes = false;
};

// Asks for the answer, writes it and returns the exit status. In errors, flags replace the names of
// the request's members.
int respond(const Invocation& invocation, ProcessGroup* group,
            const std::function<void(commands::Watch&)>& watch = {});

// Adds all commands of commands::commands(). `chosen` must outlive `app`.
void add_commands(CLI::App& app, bool shows_advanced, Chosen& chosen);

// Adds what only the command line of `plan` can do: checkpoints, and a batch of problems.
void extend_plan(Invocation& invocation);
// Adds what only the command line of `operators solve` can do: the argument format of the contest.
void extend_solve(Invocation& invocation);

// Adds the commands `completion` and `man`.
void add_documentation_commands(CLI::App& app, Chosen& chosen);

}  // namespace shardwright::cli
