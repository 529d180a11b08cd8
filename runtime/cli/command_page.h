// The command line as data, for completion and the manual page.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace shardwright::cli {

// An option, or a positional argument, which has no name.
struct ArgumentPage {
  std::vector<std::string> names;  // "-o", "--output"
  std::string label;               // of a positional: "PROBLEM"
  std::string value;               // its value: "FILE", "best|compat"; empty for a flag
  std::vector<std::string> choices;
  bool is_file = false;
  bool required = false;
  std::string description;
};

struct CommandPage {
  std::string line;  // "shardwright operators solve"
  std::string name;  // "solve"
  std::string description;
  std::string footer;  // example and exit status
  std::vector<ArgumentPage> positionals;
  std::vector<ArgumentPage> options;
  std::vector<CommandPage> commands;
};

// Reads the command and its subcommands from CLI11's tree, which `--help` prints, too.
CommandPage read_page(const CLI::App& app, const std::string& before = "");

// All pages of the tree, every command before its subcommands.
std::vector<const CommandPage*> all_pages(const CommandPage& root);

// Scripts for shells, and the source of a manual page.
std::string bash_completion(const CommandPage& root);
std::string zsh_completion(const CommandPage& root);
std::string fish_completion(const CommandPage& root);
std::string manual_page(const CommandPage& root, const std::string& version);

}  // namespace shardwright::cli
