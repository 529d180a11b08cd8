#include "runtime/cli/arguments.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "core/nearest_name.h"
#include "core/text/printable.h"
#include "runtime/surface/outcome.h"

namespace shardwright::cli {
void add_example(CLI::App& command, const std::string& example) {
  command.footer("Example:\n  " + example + "\n\n" + command.get_footer());
}

CLI::Validator one_of(std::vector<std::string> words) {
  return CLI::Validator(
      [words = std::move(words)](const std::string& text) -> std::string {
        if (std::find(words.begin(), words.end(), text) != words.end()) return "";
        const std::vector<std::string_view> known(words.begin(), words.end());
        return "unknown word \"" + text + "\"" + suggestion(text, known);
      },
      "");
}

Status check_given_values(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands())
    SHARDWRIGHT_RETURN_IF_ERROR(check_given_values(*command));
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (!value.empty()) continue;
      return invalid_input(option->get_name(), "must not be empty; give a value, or leave it out");
    }
  }
  return {};
}

void warn(const std::string& message) {
  if (!is_first_process()) return;
  std::fprintf(stderr, "shardwright: warning: %s\n", printable(message).c_str());
}

void note(const std::string& message) {
  if (!is_first_process()) return;
  std::fprintf(stderr, "shardwright: %s\n", printable(message).c_str());
}

int fail(const Error& error) {
  if (is_first_process())
    std::fprintf(stderr, "shardwright: %s\n", printable(error.to_string()).c_str());
  return outcome_of(error.code);
}

}  // namespace shardwright::cli
