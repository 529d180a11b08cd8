// Completion scripts for bash, fish and zsh.

#include <algorithm>
#include <string_view>

#include "runtime/cli/command_page.h"

namespace shardwright::cli {
namespace {

template <class List, class Text>
std::string joined(const List& list, const char* between, const Text& text) {
  std::string all;
  for (const auto& element : list)
    all += (all.empty() ? "" : between) + text(element);
  return all;
}

std::string joined(const std::vector<std::string>& words) {
  return joined(words, " ", [](const std::string& word) { return word; });
}

// Returns a bash pattern of "COMMAND OPTION" for every name of the option.
std::string pattern(const CommandPage& page, const ArgumentPage& option) {
  return joined(option.names, "|",
                [&](const std::string& name) { return "'" + page.line + " " + name + "'"; });
}

std::string commands_pattern(const CommandPage& root) {
  std::vector<const CommandPage*> pages = all_pages(root);
  pages.erase(pages.begin());
  return joined(pages, "|", [](const CommandPage* page) { return "'" + page->line + "'"; });
}

std::string value_cases(const CommandPage& page) {
  std::string text;
  for (const ArgumentPage& option : page.options) {
    if (option.value.empty()) continue;
    text += "    " + pattern(page, option) + ") ";
    if (option.is_file) {
      text += "_shardwright_files; return";
    } else if (option.choices.empty()) {
      text += "return";
    } else {
      text += "_shardwright_words '" + joined(option.choices) + "'; return";
    }
    text += " ;;\n";
  }
  return text;
}

std::string command_case(const CommandPage& page) {
  std::vector<std::string> words, options;
  for (const CommandPage& command : page.commands)
    words.push_back(command.name);
  for (const ArgumentPage& positional : page.positionals)
    words.insert(words.end(), positional.choices.begin(), positional.choices.end());
  for (const ArgumentPage& option : page.options)
    options.insert(options.end(), option.names.begin(), option.names.end());
  const bool files = std::any_of(page.positionals.begin(), page.positionals.end(),
                                 [](const ArgumentPage& positional) { return positional.is_file; });
  return "    '" + page.line + "')\n      options='" + joined(options) + "' words='" +
         joined(words) + "' files=" + (files ? "1" : "") + " ;;\n";
}

}  // namespace

std::string bash_completion(const CommandPage& root) {
  std::string values, commands;
  for (const CommandPage* page : all_pages(root)) {
    values += value_cases(*page);
    commands += command_case(*page);
  }
  return "# bash completion for " + root.name + "; written by `" + root.name +
         " completion bash`\n"
         "_shardwright_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$current\"); }\n"
         "_shardwright_files() {\n"
         "  mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
         "  compopt -o filenames 2>/dev/null\n"
         "}\n"
         "_shardwright() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local command=" +
         root.name +
         " options words files i\n"
         "  COMPREPLY=()\n"
         "  # bash takes `--option=value` for three words\n"
         "  if [[ $current == = ]]; then\n"
         "    current=\n"
         "  elif [[ $previous == = ]]; then\n"
         "    previous=${COMP_WORDS[COMP_CWORD-2]}\n"
         "  fi\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    case \"$command ${COMP_WORDS[i]}\" in\n"
         "    " +
         commands_pattern(root) +
         ") command+=\" ${COMP_WORDS[i]}\" ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$command $previous\" in\n" +
         values +
         "  esac\n"
         "  case $command in\n" +
         commands +
         "  esac\n"
         "  if [[ $current == -* ]]; then\n"
         "    _shardwright_words \"$options\"\n"
         "  elif [[ -n $words ]]; then\n"
         "    _shardwright_words \"$words\"\n"
         "  elif [[ -n $files ]]; then\n"
         "    _shardwright_files\n"
         "  fi\n"
         "}\n"
         "complete -F _shardwright " +
         root.name + "\n";
}

namespace {

// Returns the text in single quotes for fish.
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

// Begins a `complete` line of fish that applies after the page's command.
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

namespace {

// Escapes text for the single quotes of an _arguments specification of zsh.
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

// Returns the action of an argument for zsh, such as ":FILE:_files" or ":MODE:(best compat)".
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
