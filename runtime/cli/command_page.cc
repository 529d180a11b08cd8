#include "runtime/cli/command_page.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "core/version.h"
#include "runtime/cli/arguments.h"
#include "runtime/cli/invocation.h"
#include "runtime/io/file.h"
#include "runtime/surface/outcome.h"

namespace shardwright::cli {
namespace {

std::vector<std::string> split_choices(std::string_view text) {
  std::vector<std::string> choices;
  if (text.find('|') == std::string_view::npos) return choices;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    choices.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return choices;
}

ArgumentPage read_argument(const CLI::Option& option) {
  ArgumentPage page;
  for (const std::string& name : option.get_snames())
    page.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames())
    page.names.push_back("--" + name);
  if (page.names.empty()) page.label = option.get_name(true);
  if (option.get_items_expected_max() > 0) page.value = option.get_type_name();
  page.choices = split_choices(page.value);
  page.is_file = page.value == kFile;
  page.required = option.get_required();
  page.description = option.get_description();
  return page;
}

void collect(const CommandPage& page, std::vector<const CommandPage*>& pages) {
  pages.push_back(&page);
  for (const CommandPage& command : page.commands)
    collect(command, pages);
}

}  // namespace

CommandPage read_page(const CLI::App& app, const std::string& before) {
  CommandPage page;
  page.name = app.get_name();
  page.line = before + page.name;
  page.description = app.get_description();
  page.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    ArgumentPage argument = read_argument(*option);
    (argument.names.empty() ? page.positionals : page.options).push_back(std::move(argument));
  }
  for (const CLI::App* command : app.get_subcommands({}))
    page.commands.push_back(read_page(*command, page.line + " "));
  return page;
}

std::vector<const CommandPage*> all_pages(const CommandPage& root) {
  std::vector<const CommandPage*> pages;
  collect(root, pages);
  return pages;
}

namespace {

// Escapes text for troff: a line must not begin like a troff request.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool begins = out.empty() || out.back() == '\n';
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

// Quotes the argument of a troff macro.
std::string macro_argument(std::string_view text) {
  std::string out = shown(text);
  for (std::size_t at = 0; (at = out.find('"', at)) != std::string::npos; at += 4)
    out.replace(at, 1, "\\(dq");
  return "\"" + out + "\"";
}

std::string bold(std::string_view text) { return "\\fB" + shown(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + shown(text) + "\\fR"; }

std::string argument(const ArgumentPage& page) {
  std::string names;
  for (const std::string& name : page.names)
    names += (names.empty() ? "" : ", ") + bold(name);
  if (page.names.empty()) names = italic(page.label);
  if (!page.names.empty() && !page.value.empty()) {
    std::string value = italic(page.value);
    for (std::size_t at = 0; (at = value.find('|', at)) != std::string::npos; at += 3)
      value.insert(at + 1, "\\:");  // a line may break here
    names += " " + value;
  }
  return ".TP\n" + names + "\n" + shown(page.description) + "\n";
}

std::string usage(const CommandPage& page) {
  std::string text = bold(page.line) + " [" + italic("OPTIONS") + "]";
  for (const ArgumentPage& positional : page.positionals)
    text += positional.required ? " " + italic(positional.label)
                                : " [" + italic(positional.label) + "]";
  if (!page.commands.empty()) text += " " + italic("COMMAND");
  return text;
}

// Returns the lines of the footer's example; empty if there is none.
std::string example_of(const CommandPage& page) {
  constexpr std::string_view kBegin = "Example:\n";
  const std::size_t begin = page.footer.find(kBegin);
  if (begin == std::string::npos) return "";
  const std::size_t end = page.footer.find("\n\n", begin);
  const std::size_t from = begin + kBegin.size();
  return page.footer.substr(from, end == std::string::npos ? end : end - from);
}

std::string example(const CommandPage& page) {
  const std::string lines = example_of(page);
  return lines.empty() ? "" : ".PP\nExample:\n.PP\n.nf\n" + shown(lines) + "\n.fi\n";
}

std::string section(const CommandPage& page) {
  std::string text = ".SS " + macro_argument(page.line) + "\n" + shown(page.description) +
                     ".\n.PP\n" + usage(page) + "\n";
  for (const ArgumentPage& positional : page.positionals)
    text += argument(positional);
  for (const ArgumentPage& option : page.options)
    text += argument(option);
  return text + example(page);
}

}  // namespace

std::string manual_page(const CommandPage& root, const std::string& version) {
  std::string title = root.name;
  std::transform(title.begin(), title.end(), title.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  std::string text = ".TH " + title + " 1 \"\" " + macro_argument(root.name + " " + version) +
                     " \"User Commands\"\n.SH NAME\n" + root.name + " \\- " +
                     shown(root.description) + "\n.SH SYNOPSIS\n" + usage(root) + "\n.SH OPTIONS\n";
  for (const ArgumentPage& option : root.options)
    text += argument(option);
  text += ".SH COMMANDS\n";
  const std::vector<const CommandPage*> pages = all_pages(root);
  for (std::size_t i = 1; i < pages.size(); ++i)
    text += section(*pages[i]);
  text += ".SH EXIT STATUS\n";
  for (const commands::OutcomeRow& row : commands::kOutcomes)
    text += ".TP\n" + bold(std::to_string(row.outcome)) + "\n" + shown(row.meaning) + "\n";
  return text +
         ".SH NOTES\nInput files may be compressed with gzip. Sizes are bytes, times "
         "milliseconds.\n";
}

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
