// A completion script for fish.
#include <string_view>

#include "runtime/cli/pages/command_page.h"

namespace shardwright::cli {
namespace {

// A word in single quotes.
std::string fish_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string spaced(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

// `complete` for what follows the command of a page.
std::string begin(const CommandPage& root, const CommandPage& page) {
  return "complete -c " + root.name + " -n " + fish_word("__shardwright_is " + page.line);
}

std::string option_line(const CommandPage& root, const CommandPage& page,
                        const ArgumentPage& option) {
  std::string text = begin(root, page);
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (option.is_file) {
    text += " -r -F";
  } else if (!option.value.empty()) {
    text += " -x";
  }
  if (!option.choices.empty()) text += " -a " + fish_word(spaced(option.choices));
  return text + " -d " + fish_word(option.description) + "\n";
}

std::string lines(const CommandPage& root, const CommandPage& page) {
  std::string text;
  for (const CommandPage& command : page.commands)
    text +=
        begin(root, page) + " -a " + command.name + " -d " + fish_word(command.description) + "\n";
  for (const ArgumentPage& positional : page.positionals) {
    if (positional.is_file) text += begin(root, page) + " -F\n";
    if (!positional.choices.empty())
      text += begin(root, page) + " -a " + fish_word(spaced(positional.choices)) + "\n";
  }
  for (const ArgumentPage& option : page.options)
    text += option_line(root, page, option);
  return text;
}

}  // namespace

std::string fish_completion(const CommandPage& root) {
  std::string commands, text;
  for (const CommandPage* page : all_pages(root)) {
    if (page != &root) commands += " " + fish_word(page->line);
    text += lines(root, *page);
  }
  return "# fish completion for " + root.name + "; written by `" + root.name +
         " completion fish`\n"
         "function __shardwright_is\n"
         "  set -l command " +
         root.name +
         "\n"
         "  for word in (commandline -opc)[2..-1]\n"
         "    if contains -- \"$command $word\"" +
         commands +
         "\n"
         "      set command \"$command $word\"\n"
         "    end\n"
         "  end\n"
         "  test \"$command\" = \"$argv\"\n"
         "end\n"
         "complete -c " +
         root.name + " -f\n" + text;
}

}  // namespace shardwright::cli
