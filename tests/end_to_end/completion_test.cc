// Completion scripts and the manual page, tested with bash, groff and the like.
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/command.h"

namespace shardwright::completion_test {

namespace {

using shardwright::read_file;
using shardwright::test_support::Command;
using shardwright::test_support::CommandOutcome;
using shardwright::test_support::contains;

bool has_program(const char* name) {
  return std::system((std::string("command -v ") + name + " >/dev/null 2>&1").c_str()) == 0;
}

std::string quoted(const std::string& word) { return "'" + word + "'"; }

// Sources the script in bash and returns the completions of the last of `words`.
std::set<std::string> offered(const Command& run, const std::vector<std::string>& words) {
  const std::string script = run.path("completion.bash");
  REQUIRE(std::system(("'" + std::string(std::getenv("SHARDWRIGHT_COMMAND")) +
                       "' completion bash >" + script)
                          .c_str()) == 0);
  std::string line = "source " + script + "; cd " + run.folder().string() + "; COMP_WORDS=(";
  for (const std::string& word : words)
    line += quoted(word) + " ";
  line += "); COMP_CWORD=" + std::to_string(words.size() - 1) +
          "; _shardwright; printf \"%s\\n\" \"${COMPREPLY[@]}\"";
  const std::string file = run.path("complete.sh");
  auto out = *shardwright::OutputFile::open(file);
  out.write(line);
  REQUIRE(out.commit().ok());
  REQUIRE(std::system(
              ("bash " + file + " >" + run.path("offered") + " 2>" + run.path("errors")).c_str()) ==
          0);
  CHECK(*read_file(run.path("errors")) == "");
  std::set<std::string> found;
  std::istringstream lines(*read_file(run.path("offered")));
  for (std::string word; std::getline(lines, word);) {
    if (!word.empty()) found.insert(word);
  }
  return found;
}

using Words = std::set<std::string>;

// Returns every "shardwright ..." command that has a help page. The help pages name the commands
// below them.
std::vector<std::string> commands(const Command& run, const std::string& above = "") {
  std::vector<std::string> all{above};
  std::istringstream lines(run(above + " --help").out);
  bool listed = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "Subcommands:") {
      listed = true;
    } else if (listed && line.starts_with("  ") && line[2] != ' ') {
      const std::string name = line.substr(2, line.find(' ', 2) - 2);
      for (const std::string& below : commands(run, above + " " + name))
        all.push_back(below);
    } else if (listed) {
      break;
    }
  }
  return all;
}

// Returns the long options on a help page.
Words long_options(const std::string& help) {
  Words options;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    const std::size_t begin = line.find("--");
    if (begin != std::string::npos)
      options.insert(line.substr(begin, line.find_first_of(" ,", begin) - begin));
  }
  return options;
}

}  // namespace

TEST_CASE("completion: bash offers subcommands, options, choices and files") {
  if (!has_program("bash")) return;
  const Command run;
  std::system(("touch '" + run.path("problem one.json") + "'").c_str());
  CHECK(offered(run, {"shardwright", "pl"}) == Words{"plan"});
  CHECK(offered(run, {"shardwright", "operators", "s"}) == Words{"solve", "strategies", "sweep"});
  CHECK(offered(run, {"shardwright", "plan", "x.json", "--reu"}) == Words{"--reuse"});
  CHECK(offered(run, {"shardwright", "plan", "--mode", ""}) == Words{"best", "compat"});
  CHECK(offered(run, {"shardwright", "plan", "--mode", "=", "co"}) == Words{"compat"});
  CHECK(offered(run, {"shardwright", "plan", "--mode", "="}) == Words{"best", "compat"});
  CHECK(offered(run, {"shardwright", "operators", "paths", "--cost", "s"}) == Words{"sum"});
  CHECK(offered(run, {"shardwright", "completion", ""}) == Words{"bash", "fish", "zsh"});
  CHECK(offered(run, {"shardwright", "plan", "prob"}) == Words{"problem one.json"});
  CHECK(offered(run, {"shardwright", "verify", "-o", "prob"}) == Words{"problem one.json"});
  CHECK(offered(run, {"shardwright", "plan", "--threads", ""}).empty());
  CHECK(offered(run, {"shardwright", "plan", "--frobn"}).empty());
}

TEST_CASE("completion: every option of every help page is offered, and nothing else") {
  if (!has_program("bash")) return;
  const Command run;
  const std::vector<std::string> all = commands(run);
  CHECK(all.size() >= 16);
  for (const std::string& command : all) {
    CAPTURE(command);
    std::vector<std::string> words{"shardwright"};
    std::istringstream split(command);
    for (std::string word; split >> word;)
      words.push_back(word);
    words.push_back("--");
    CHECK(offered(run, words) == long_options(run(command + " --help all").out));
  }
}

TEST_CASE("help: every page has an example, and the first one the exit status") {
  const Command run;
  for (const std::string& command : commands(run)) {
    CAPTURE(command);
    const CommandOutcome help = run(command + " --help");
    CHECK(help.status == 0);
    CHECK(contains(help.out, "\nExample:\n  "));
    CHECK(contains(help.out, "Exit status") == command.empty());
  }
}

TEST_CASE("completion: the zsh script parses, and names every command") {
  const Command run;
  const CommandOutcome script = run("completion zsh");
  REQUIRE(script.status == 0);
  CHECK(script.out.starts_with("#compdef shardwright\n"));
  for (const std::string& command : commands(run)) {
    std::string name = "_shardwright" + command;
    for (char& c : name)
      c = c == ' ' ? '_' : c;
    CAPTURE(name);
    CHECK(contains(script.out, "\n" + name + "() {\n"));
  }
  if (!has_program("zsh")) return;
  REQUIRE(run("completion zsh").out == script.out);
  CHECK(std::system(("zsh -n " + run.path("out") + " 2>" + run.path("errors")).c_str()) == 0);
  CHECK(*read_file(run.path("errors")) == "");
}

TEST_CASE(
    "completion: the fish script names every command and option, and fish completes with it") {
  const Command run;
  const CommandOutcome script = run("completion fish");
  REQUIRE(script.status == 0);
  for (const std::string& command : commands(run)) {
    const std::string begin = "complete -c shardwright -n '__shardwright_is shardwright" + command;
    Words named;
    std::istringstream lines(script.out);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t at = line.find(" -l ");
      if (!line.starts_with(begin + "' ") || at == std::string::npos) continue;
      named.insert("--" + line.substr(at + 4, line.find(' ', at + 4) - at - 4));
    }
    CAPTURE(command);
    CHECK(named == long_options(run(command + " --help all").out));
  }
  if (!has_program("fish")) return;
  REQUIRE(run("completion fish").out == script.out);
  std::system(("touch " + run.path("problem.json")).c_str());
  const auto offers = [&](const std::string& line) {
    const std::string fish = "cd " + run.folder().string() + "; HOME=" + run.folder().string() +
                             " fish --no-config -c 'source out; complete -C \"" + line +
                             "\"' >offered 2>errors";
    CHECK(std::system(fish.c_str()) == 0);
    CHECK(*read_file(run.path("errors")) == "");
    Words found;
    std::istringstream words(*read_file(run.path("offered")));
    for (std::string word; std::getline(words, word);)
      found.insert(word.substr(0, word.find('\t')));
    return found;
  };
  CHECK(offers("shardwright repl") == Words{"replan"});
  CHECK(offers("shardwright operators so") == Words{"solve"});
  CHECK(offers("shardwright plan x.json --reu") == Words{"--reuse"});
  CHECK(offers("shardwright plan --mode ") == Words{"best", "compat"});
  CHECK(offers("shardwright completion ") == Words{"bash", "fish", "zsh"});
  CHECK(offers("shardwright plan prob") == Words{"problem.json"});
  CHECK(offers("shardwright verify -o prob") == Words{"problem.json"});
  CHECK(offers("shardwright plan --threads ").empty());
}

TEST_CASE("completion: another shell is refused") {
  const Command run;
  CHECK(run("completion tcsh").status == 2);
  CHECK(run("completion").status == 2);
}

TEST_CASE("man: the page has every command and option, and troff reports no warning") {
  const Command run;
  const CommandOutcome page = run("man");
  REQUIRE(page.status == 0);
  for (const std::string& command : commands(run)) {
    CAPTURE(command);
    if (command.empty()) continue;
    CHECK(contains(page.out, ".SS \"shardwright" + command + "\"\n"));
  }
  CHECK(contains(page.out, "\\fB\\-\\-migration\\-weight\\fR"));
  CHECK(contains(page.out, ".SH EXIT STATUS\n"));
  CHECK(contains(page.out, "verification found a violation"));
  if (!has_program("groff")) return;
  // Runs of other commands have overwritten the output file.
  REQUIRE(run("man").out == page.out);
  const std::string line = "groff -man -ww -Tutf8 " + run.path("out") + " >" + run.path("shown") +
                           " 2>" + run.path("errors");
  CHECK(std::system(line.c_str()) == 0);
  CHECK(*read_file(run.path("errors")) == "");
  CHECK(contains(*read_file(run.path("shown")), "SHARDWRIGHT(1)"));
}

}  // namespace shardwright::completion_test
