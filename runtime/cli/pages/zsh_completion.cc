// A completion script for zsh.
#include <algorithm>
#include <string_view>

#include "runtime/cli/pages/command_page.h"

namespace shardwright::cli {
namespace {

// `text` within single quotes of an _arguments specification.
std::string specified(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string function_name(const CommandPage& page) {
  std::string name = "_" + page.line;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

// ":FILE:_files", ":MODE:(best compat)".
std::string action(const ArgumentPage& argument) {
  std::string text =
      ":" + specified(argument.label.empty() ? argument.value : argument.label) + ":";
  if (argument.is_file) return text + "_files";
  if (argument.choices.empty()) return text + " ";
  text += "(";
  for (const std::string& choice : argument.choices)
    text += (text.back() == '(' ? "" : " ") + choice;
  return text + ")";
}

std::string option_lines(const ArgumentPage& option) {
  std::string all, text;
  for (const std::string& name : option.names)
    all += (all.empty() ? "" : " ") + name;
  for (const std::string& name : option.names) {
    text += " \\\n    '(" + all + ")" + name + "[" + specified(option.description) + "]" +
            (option.value.empty() ? "" : action(option)) + "'";
  }
  return text;
}

std::string function(const CommandPage& page) {
  std::string text = function_name(page) + "() {\n  local context state line\n  _arguments -C";
  for (const ArgumentPage& option : page.options)
    text += option_lines(option);
  for (std::size_t i = 0; i < page.positionals.size(); ++i)
    text += " \\\n    '" + std::to_string(i + 1) + action(page.positionals[i]) + "'";
  if (page.commands.empty()) return text + "\n}\n";
  text +=
      " \\\n    '1:command:->command' \\\n    '*::argument:->argument'\n"
      "  case $state in\n  command)\n    local -a commands=(";
  for (const CommandPage& command : page.commands)
    text += "\n      '" + command.name + ":" + specified(command.description) + "'";
  text += ")\n    _describe command commands ;;\n  argument)\n    case $line[1] in\n";
  for (const CommandPage& command : page.commands)
    text += "    " + command.name + ") " + function_name(command) + " ;;\n";
  return text + "    esac ;;\n  esac\n}\n";
}

}  // namespace

std::string zsh_completion(const CommandPage& root) {
  std::string text =
      "#compdef " + root.name + "\n# written by `" + root.name + " completion zsh`\n";
  for (const CommandPage* page : all_pages(root))
    text += function(*page);
  return text + "if [[ $funcstack[1] == " + function_name(root) + " ]]; then\n  " +
         function_name(root) + " \"$@\"\nelse\n  compdef " + function_name(root) + " " + root.name +
         "\nfi\n";
}

}  // namespace shardwright::cli
