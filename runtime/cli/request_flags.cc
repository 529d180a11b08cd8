#include "runtime/cli/request_flags.h"

#include <string>
#include <vector>

namespace shardwright::cli {
namespace {

using commands::Field;

// Parsing only stores the words, so that errors of the command line itself come first.
void add_switch(CLI::App& command, Field& field) {
  command.add_flag_function(
      field.flag(), [&field](std::int64_t count) { field.words.assign(count > 0 ? 1 : 0, ""); },
      field.help);
}

void add_value(CLI::App& command, Field& field) {
  CLI::Option& option = *command.add_option(
      field.flag(), [&field](const CLI::results_t& words) { return field.words = words, true; },
      field.help);
  option.type_name(field.value);
  option.required(field.required);
  if (!field.preset.empty()) option.default_str(field.preset);
  if (field.is_rest)
    option.expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(true);
  if (field.is_list) {
    option.expected(1, CLI::detail::expected_max_vector_size)
        ->delimiter(',')
        ->allow_extra_args(false);
  }
}

}  // namespace

void add_flags(CLI::App& command, commands::Fields& fields, bool shows_advanced) {
  for (Field& field : fields.all()) {
    if (field.value.empty()) {
      add_switch(command, field);
    } else {
      add_value(command, field);
    }
    CLI::Option* const option = command.get_option(field.flag());
    if (!field.group.empty()) option->group(field.group);
    if (field.is_advanced && !shows_advanced) option->group("");  // CLI11 hides this group
  }
}

Status set_members(const commands::Fields& fields) {
  for (const Field& field : fields.all()) {
    if (field.words.empty()) continue;
    if (const Status set = field.take_words(field.words); !set.ok())
      return invalid_input(field.flag(), set.error().message);
  }
  return {};
}

Error in_flags(Error error, const commands::Fields& fields) {
  if (const Field* const about = fields.find(error.where)) error.where = about->flag();
  error.message = fields.named(error.message, &Field::flag);
  return error;
}

std::string in_flags(const std::string& note, const commands::Fields& fields) {
  constexpr std::string_view kMark = ": ";
  const std::size_t mark = note.find(kMark);
  const Field* const about =
      mark == std::string::npos ? nullptr : fields.find(note.substr(0, mark));
  return fields.named(about == nullptr ? note : about->flag() + note.substr(mark), &Field::flag);
}

}  // namespace shardwright::cli
