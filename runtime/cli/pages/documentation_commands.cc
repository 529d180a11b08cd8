// shardwright completion SHELL, shardwright man
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "core/version.h"
#include "runtime/cli/invocation.h"
#include "runtime/commands/outcome.h"
#include "runtime/cli/pages/command_page.h"
#include "runtime/io/file.h"

namespace shardwright::cli {
namespace {

int print(const std::string& text) {
  Result<OutputFile> file = OutputFile::open("-");
  if (!file.ok()) return fail(file.error());
  OutputFile output = std::move(file).value();
  output.write(text);
  const Status written = output.commit();
  return written.ok() ? kDone : fail(written.error());
}

}  // namespace

void add_documentation_commands(CLI::App& app, Chosen& chosen) {
  auto shell = std::make_shared<std::string>();
  CLI::App& completion =
      *app.add_subcommand("completion", "Prints a script that completes the command line");
  completion.add_option("SHELL", *shell, "The shell that reads the script")
      ->type_name("bash|zsh|fish")
      ->check(one_of({"bash", "zsh", "fish"}))
      ->required();
  add_example(completion, "source <(shardwright completion bash)");
  completion.callback([shell, &app, &chosen] {
    chosen.run = [shell, page = read_page(app)] {
      if (*shell == "fish") return print(fish_completion(page));
      return print(*shell == "bash" ? bash_completion(page) : zsh_completion(page));
    };
  });
  CLI::App& manual = *app.add_subcommand("man", "Prints the manual page, for troff");
  add_example(manual, "shardwright man | man -l -");
  manual.callback([&app, &chosen] {
    chosen.run = [page = read_page(app)] {
      return print(manual_page(page, std::string(library_version())));
    };
  });
}

}  // namespace shardwright::cli
