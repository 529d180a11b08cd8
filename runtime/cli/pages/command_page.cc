#include "runtime/cli/pages/command_page.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "runtime/cli/options/arguments.h"

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

}  // namespace shardwright::cli
