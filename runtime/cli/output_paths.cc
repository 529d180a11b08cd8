#include "runtime/cli/output_paths.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "runtime/cli/arguments.h"
#include "runtime/io/output_file.h"

namespace shardwright::cli {
namespace {

struct NamedFile {
  std::string name;  // such as "PROBLEM" or "--report"
  std::string path;
  bool written = false;
};

const CLI::App& parsed_command(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands())
    return parsed_command(*command);
  return app;
}

std::vector<NamedFile> named_files(const CLI::App& command) {
  std::vector<NamedFile> files;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_type_name() != kFile || option->count() == 0) continue;
    const std::string name = option->get_name();
    const bool written = option->check_lname("output") || option->check_lname("report") ||
                         option->check_lname("csv") || option->check_lname("checkpoint");
    for (const std::string& path : option->results())
      files.push_back({name, path, written});
  }
  return files;
}

// Returns false for devices and pipes, which may be read and written at the same time.
bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (a == "-" || b == "-" || a.empty() || b.empty()) return false;
  const std::filesystem::path first = std::filesystem::weakly_canonical(written_file(a), error);
  if (error) return false;
  if (std::filesystem::exists(first, error) && !std::filesystem::is_regular_file(first, error))
    return false;
  if (std::filesystem::equivalent(a, b, error)) return true;
  return first == std::filesystem::weakly_canonical(written_file(b), error) && !error;
}

// Returns true if the file of flag `output` may be the file of flag `other`.
bool may_replace(const std::string& output, const std::string& other) {
  const bool is_answer = output == "--output" || output == "--checkpoint";
  return is_answer && (other == "--reuse" || other == "--resume" || other == "--output" ||
                       other == "--checkpoint");
}

Status check_standard_input(const std::vector<NamedFile>& files) {
  bool taken = false;
  for (const NamedFile& input : files) {
    if (input.written || input.path != "-") continue;
    if (taken) return invalid_input(input.name, "only one input can come from standard input");
    taken = true;
  }
  return {};
}

// Refuses --json together with --output.
Status check_json(const CLI::App& command) {
  const CLI::Option* const json = command.get_option_no_throw("--json");
  const CLI::Option* const output = command.get_option_no_throw("--output");
  if (json == nullptr || output == nullptr || json->count() == 0 || output->count() == 0) return {};
  return invalid_input("--json", "is for standard output, and --output " +
                                     output->results().front() +
                                     " has the JSON already; leave one of them out");
}

// Checks before the search that the file can be written. Does not open devices or pipes.
Status check_place(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = written_file(path);
  const bool special = std::filesystem::exists(target, error) &&
                       !std::filesystem::is_regular_file(target, error) &&
                       !std::filesystem::is_directory(target, error);
  if (path == "-" || special) return {};
  const Result<OutputFile> file = OutputFile::open(path);
  return file.ok() ? Status() : Status(file.error());
}

}  // namespace

Status check_paths(const CLI::App& app) {
  const CLI::App& command = parsed_command(app);
  const std::vector<NamedFile> files = named_files(command);
  SHARDWRIGHT_RETURN_IF_ERROR(check_standard_input(files));
  SHARDWRIGHT_RETURN_IF_ERROR(check_json(command));
  for (const NamedFile& output : files) {
    if (!output.written) continue;
    SHARDWRIGHT_RETURN_IF_ERROR(check_place(output.path));
    for (const NamedFile& other : files) {
      if (&other == &output || may_replace(output.name, other.name)) continue;
      if (!is_same_file(output.path, other.path)) continue;
      return invalid_input(output.name, output.path + " is " + other.name +
                                            ", too, and would be lost; name another file");
    }
  }
  return {};
}

}  // namespace shardwright::cli
