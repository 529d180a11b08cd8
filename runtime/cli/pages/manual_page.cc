// The manual page, as source for troff with the man macros.
#include <algorithm>
#include <string_view>

#include "runtime/commands/outcome.h"
#include "runtime/cli/pages/command_page.h"

namespace shardwright::cli {
namespace {

// Escapes text for troff. A line must not begin like a request.
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

// The argument of a macro.
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
  if (!page.names.empty() && !page.value.empty()) names += " " + italic(page.value);
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

// The lines of the footer's example.
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

}  // namespace shardwright::cli
