// One command of the list, as flags fill it in.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "runtime/cli/arguments.h"
#include "runtime/cli/crew.h"
#include "runtime/surface/command.h"

namespace shardwright::cli {

struct Invocation {
  const commands::Command& command;
  std::unique_ptr<commands::AnyRequest> request;
  OutputArguments output;
  // What the command does in the place of asking and writing its answer; empty for most. Returns
  // the exit status.
  std::function<int(Crew& crew)> run;
};

// The command to run, set while the arguments are parsed.
struct Chosen {
  std::function<int()> run;  // returns the exit status
  bool uses_processes = false;
};

// Asks and gives out the answer, with flags in the place of members in errors.
int respond(const Invocation& invocation, Crew* crew,
            const std::function<void(commands::Watch&)>& watch = {});

// Adds all commands of the list. `chosen` must outlive `app`.
void add_commands(CLI::App& app, Chosen& chosen);

// What the command line alone can do: both add fields, and set `run`.
// plan: checkpoints, and a batch of problems.
void extend_plan(Invocation& invocation);
// operators solve: the form of the contest.
void extend_solve(Invocation& invocation);

// completion and man.
void add_documentation_commands(CLI::App& app, Chosen& chosen);

}  // namespace shardwright::cli
