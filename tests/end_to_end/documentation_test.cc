// The pages that document the command: the commands on them run and print what the pages show.
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/io/file.h"
#include "tests/support/command.h"

namespace shardwright::documentation_test {

using namespace shardwright::test_support;
using shardwright::read_file;
using shardwright::write_file;

namespace {

struct Block {
  std::string language;
  std::vector<std::string> lines;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(text.substr(begin, end - begin));
  }
  return lines;
}

// Returns the fenced blocks of a page in order.
std::vector<Block> blocks_of(const std::string& page) {
  constexpr std::string_view kFence = "```";
  std::vector<Block> blocks;
  bool inside = false;
  for (const std::string& line : lines_of(*read_file(page))) {
    if (line.starts_with(kFence)) {
      inside = !inside;
      if (inside) blocks.push_back({line.substr(kFence.size()), {}});
    } else if (inside) {
      blocks.back().lines.push_back(line);
    }
  }
  REQUIRE_FALSE(inside);
  return blocks;
}

// Returns the arguments of a command on a page. File names without a folder get the test's folder.
std::string arguments_of(const std::string& line, const Command& run) {
  std::string arguments;
  for (std::size_t at = line.find(' '); at != std::string::npos;) {
    const std::size_t end = line.find(' ', at + 1);
    const std::string word = line.substr(at + 1, end - at - 1);
    const bool named = word.ends_with(".json") || word.ends_with(".html") || word.ends_with(".csv");
    const bool own_file = named && word.find('/') == std::string::npos;
    arguments += (own_file ? run.path(word.c_str()) : word) + " ";
    at = end;
  }
  return arguments;
}

// Runs the commands of a page and returns their number.
int check_page(const std::string& page, const Command& run) {
  constexpr std::string_view kCommand = "shardwright ";
  constexpr std::string_view kPrompt = "$ ";
  int count = 0;
  for (const Block& block : blocks_of(page)) {
    const bool console = block.language == "console";
    if (!console && block.language != "sh") continue;
    CommandOutcome outcome{};
    for (const std::string& line : block.lines) {
      CAPTURE(page);
      CAPTURE(line);
      const std::string shown = line.starts_with(kPrompt) ? line.substr(kPrompt.size()) : line;
      if (shown.starts_with(kCommand)) {
        outcome = run(arguments_of(shown, run), "COLUMNS=100 ");
        CHECK_MESSAGE(outcome.status == 0, outcome.err);
        const bool says_flags = contains(outcome.err, " was made with ");
        const bool says_gaps = contains(outcome.err, "shardwright: --machine: ");
        CHECK((outcome.err.empty() || says_flags || says_gaps ||
               outcome.err.starts_with("shardwright: wrote ")));
        ++count;
      } else if (console && line != "...") {
        CHECK_MESSAGE(contains("\n" + outcome.out, "\n" + line + "\n"), outcome.out);
      }
    }
  }
  return count;
}

// Writes the first JSON block of the front page as the reader's own tables.
void write_own_tables(const Command& run) {
  for (const Block& block : blocks_of("README.md")) {
    if (block.language != "json") continue;
    std::string text;
    for (const std::string& line : block.lines)
      text += line + "\n";
    REQUIRE(write_file(run.path("my_tables.json"), text).ok());
    return;
  }
  FAIL("the front page shows no problem file");
}

}  // namespace

TEST_CASE("documentation: the commands of every page run and answer as shown") {
  const Command run;
  write_own_tables(run);
  CHECK(check_page("README.md", run) >= 8);
  CHECK(check_page("runtime/cli/README.md", run) >= 16);
  CHECK(check_page("runtime/report/README.md", run) >= 1);
  CHECK(check_page("samples/put_in_my_gpus.md", run) >= 2);
  CHECK(check_page("samples/how_far_to_trust_a_millisecond.md", run) >= 2);
  CHECK(check_page("samples/what_does_it_cost_to_move.md", run) >= 3);
}

TEST_CASE("documentation: the front page fits in 10 kB") {
  CHECK(read_file("README.md")->size() <= 10'000);
}

TEST_CASE("documentation: the reference has every command and every option") {
  const Command run;
  const std::string page = *read_file("runtime/cli/README.md");
  std::vector<std::string> commands;
  for (const char* group : {"", "operators ", "program "}) {
    bool listed = false;
    for (const std::string& line : lines_of(run(std::string(group) + "--help").out)) {
      if (line.empty()) listed = false;
      if (listed) commands.push_back(group + line.substr(2, line.find(' ', 2) - 2));
      if (line == "Subcommands:") listed = true;
    }
  }
  REQUIRE(commands.size() > 15);
  for (const std::string& command : commands) {
    for (const std::string& line : lines_of(run(command + " --help all").out)) {
      const std::size_t at = line.find("--");
      if (!line.starts_with("  -") || at == std::string::npos) continue;
      const std::string option = line.substr(at, line.find_first_of(" =,", at) - at);
      CAPTURE(command);
      CHECK_MESSAGE((option == "--help" || contains(page, option)), option);
    }
  }
}

}  // namespace shardwright::documentation_test
