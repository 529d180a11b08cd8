// The commands and options as data, from which completion scripts and the manual page are made.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace shardwright::cli {

// An option, or a positional argument, which has no names.
struct ArgumentPage {
  std::vector<std::string> names;  // such as {"-o", "--output"}
  std::string label;               // of a positional argument: "PROBLEM"
  std::string value;               // type of the value: "FILE", "best|compat"; empty for a flag
  std::vector<std::string> choices;
  bool is_file = false;
  bool required = false;
  std::string description;
};

struct CommandPage {
  std::string line;  // such as "shardwright operators solve"
  std::string name;  // such as "solve"
  std::string description;
  std::string footer;  // example and exit codes
  std::vector<ArgumentPage> positionals;
  std::vector<ArgumentPage> options;
  std::vector<CommandPage> commands;
};

// Reads a command and its subcommands from CLI11's tree. `before` is the parent's line.
CommandPage read_page(const CLI::App& app, const std::string& before = "");

// Returns all pages of the tree, every command before its subcommands. `root` owns the pages.
std::vector<const CommandPage*> all_pages(const CommandPage& root);

// Return completion scripts for shells, and the troff source of a manual page.
std::string bash_completion(const CommandPage& root);
std::string zsh_completion(const CommandPage& root);
std::string fish_completion(const CommandPage& root);
std::string manual_page(const CommandPage& root, const std::string& version);

}  // namespace shardwright::cli
