// Runs the command. The first document has the arguments; the others are files a, b, c and d.
#include <sanitizer/common_interface_defs.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/cli/command_line.h"
#include "runtime/surface/outcome.h"
#include "tests/fuzz/mutator/documents.h"
#include "tests/fuzz/targets/expect.h"
#include "tests/fuzz/targets/scratch_folder.h"

namespace shardwright::fuzz {
namespace {

constexpr std::array<const char*, 4> kFiles{"a", "b", "c", "d"};
constexpr std::size_t kMostArguments = 40;
constexpr const char* kWorkLimit = "20000";
constexpr std::size_t kMostDigits = 3;  // in a number of ranks

struct Run {
  int status = 0;
  std::string output, errors;
};

// Returns true if the argument names no file outside the current folder.
bool is_safe(const std::string& argument) {
  return argument.find('/') == std::string::npos && argument.find("..") == std::string::npos;
}

// Returns false if a number of ranks has four digits or more. Such inputs are legal but slow.
bool is_small(const std::string& input) {
  static const std::regex many(
      "(ranks|ranks-per-host|devices|mesh|world_size)[^0-9a-z{]{0,8}"
      "([0-9]{1,3}[x,])*[0-9]{" +
      std::to_string(kMostDigits + 1) + "}");
  return !std::regex_search(input, many);
}

bool takes_work_limit(const std::vector<std::string>& arguments) {
  const std::string& command = arguments.front();
  if (command == "operators") return arguments.size() > 1 && arguments[1] == "solve";
  return command == "plan" || command == "replan" || command == "sweep" || command == "explain";
}

std::vector<std::string> arguments_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> arguments;
  for (std::string word; stream >> word;)
    arguments.push_back(word);
  return arguments;
}

// Adds the limits that keep a run short. They replace those of the input.
void limit_work(std::vector<std::string>& arguments) {
  if (arguments.empty() || !takes_work_limit(arguments)) return;
  const auto own = std::find(arguments.begin(), arguments.end(), "--work-limit");
  if (own == arguments.end()) {
    arguments.insert(arguments.end(), {"--work-limit", kWorkLimit});
  } else if (own + 1 != arguments.end() && own[1].size() > kMostDigits) {
    own[1] = kWorkLimit;
  }
}

Run run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "shardwright");
  std::vector<char*> pointers;
  for (std::string& argument : arguments)
    pointers.push_back(argument.data());
  const CapturedOutput output(STDOUT_FILENO);
  const CapturedOutput errors(STDERR_FILENO);
  Run result;
  result.status = cli::run_command(pointers);
  std::fflush(stdout);
  std::fflush(stderr);
  return {result.status, output.text(), errors.text()};
}

// Returns true if the text could change the state of a terminal.
bool has_control(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return (code < ' ' && c != '\n') || code == 0x7f;
  });
}

void expect_documented(const Run& run, const std::vector<std::string>& arguments) {
  const bool known =
      std::any_of(commands::kOutcomes.begin(), commands::kOutcomes.end(),
                  [&](const commands::OutcomeRow& s) { return s.outcome == run.status; });
  expect(known && run.status != commands::kCrashed,
         "the exit code is documented, not " + std::to_string(run.status) + ": " + run.errors);
  expect(run.status != commands::kBadInput || !run.errors.empty(), "an error is explained");
  expect(!has_control(run.errors), "no control character reaches the terminal: " + run.errors);
  const bool pages = arguments.front() == "completion" || arguments.front() == "man";
  expect(pages || !has_control(run.output), "no control character reaches the terminal");
  const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  const bool elsewhere = run.output.empty() || run.status == commands::kBadInput;
  if (json && !elsewhere && run.output.front() == '{') {
    expect(nlohmann::json::accept(run.output), "--json writes JSON");
  }
}

}  // namespace
}  // namespace shardwright::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardwright::fuzz;
  // Sanitizers write their reports to another descriptor than the command's errors.
  static const bool once = (__sanitizer_set_report_fd(reinterpret_cast<void*>(  // NOLINT
                                static_cast<std::intptr_t>(kMessages))),
                            std::freopen("/dev/null", "r", stdin) != nullptr);
  static const ScratchFolder folder;
  const std::string input(text_of(data, size));
  const std::vector<std::string> documents = split_documents(input);
  std::vector<std::string> arguments = arguments_of(documents.front());
  const bool usable = once && !arguments.empty() && arguments.size() <= kMostArguments &&
                      documents.size() <= 1 + kFiles.size() && is_small(input) &&
                      std::all_of(arguments.begin(), arguments.end(), is_safe);
  if (!usable) return kRejected;
  limit_work(arguments);
  for (std::size_t i = 1; i < documents.size(); ++i)
    folder.write(kFiles[i - 1], documents[i]);
  expect_documented(run(arguments), arguments);
  folder.clear();
  return kDone;
}
