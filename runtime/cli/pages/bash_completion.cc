// A completion script for bash.
#include <algorithm>

#include "runtime/cli/pages/command_page.h"

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

// Names of options that take a value, as patterns of "COMMAND OPTION".
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

}  // namespace shardwright::cli
