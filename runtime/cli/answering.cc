#include "runtime/cli/answering.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/cli/interrupt.h"
#include "runtime/cli/machine_limits.h"
#include "runtime/cli/progress.h"
#include "runtime/io/file.h"
#include "runtime/report/text/style.h"

namespace shardwright::cli {
namespace {

using commands::Answer;
using commands::TextForm;
using commands::Watch;

constexpr std::size_t kNarrowest = 40;
constexpr std::size_t kWidest = 10000;

// Returns the width of the terminal; for a pipe or a file, the value of COLUMNS.
std::size_t text_width() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= kNarrowest) return size.ws_col;
  const char* const said = std::getenv("COLUMNS");
  const std::string_view text = said == nullptr ? "" : said;
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && columns >= kNarrowest && columns <= kWidest ? columns : TextForm().width;
}

// Returns true if standard output is a terminal and NO_COLOR is unset (https://no-color.org).
bool wants_colours() {
  const char* const refusal = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && (refusal == nullptr || *refusal == '\0') &&
         terminal != nullptr && std::string_view(terminal) != "dumb";
}

// Calls `ask`. During the search, shows progress; `interrupt` turns Ctrl-C into a stop request.
Result<Answer> ask_interruptibly(const OutputArguments& arguments, ProcessGroup* group,
                                 std::optional<InterruptGuard>& interrupt,
                                 const std::function<Result<Answer>(const Watch&)>& ask) {
  ProgressLine line;
  Watch watch;
  watch.log = arguments.log();
  // Until the search begins, Ctrl-C ends the command, which may be waiting for input.
  watch.begin = [&] {
    const std::stop_token stop = interrupt.emplace().token();
    return group != nullptr ? group->heed(stop) : stop;
  };
  watch.is_first_process = is_first_process();
  if (group != nullptr) {
    watch.read = [&](const std::string& path) { return group->read(path); };
    watch.exchange = group->exchange();
    watch.dealer = group->is_alone() ? nullptr : group;
  }
  if (arguments.progress_line)
    watch.on_plan = [&](const PlanProgress& progress) { line.show(progress); };
  return ask(watch);
}

// Returns the command line and the date, as the footer of a page shows them.
std::string made_by(const OutputArguments& arguments) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%d %H:%M UTC", &utc);
  return "Made on " + std::string(date.data()) + " by: " + arguments.command_line;
}

Status write_page(const OutputArguments& arguments, const Answer& answer) {
  const std::string& path = arguments.report_path;
  if (path.empty()) return {};
  if (path == "-") {
    return invalid_input("--report", "needs the name of a file; standard output has the text");
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(OutputFile output, OutputFile::open(path));
  SHARDWRIGHT_RETURN_IF_ERROR(
      answer.write_page({[&](std::string_view text) { output.write(text); }, made_by(arguments)}));
  return output.commit();
}

// Writes the table of --csv. If the table goes to standard output, the text is left out.
Status write_csv(const OutputArguments& arguments, const Answer& answer) {
  if (arguments.csv_path.empty()) return {};
  if (arguments.csv_path == "-" && arguments.json && arguments.path.empty())
    return invalid_input("--csv", "needs the name of a file; standard output has the JSON");
  SHARDWRIGHT_ASSIGN_OR_RETURN(OutputFile output, OutputFile::open(arguments.csv_path));
  answer.write_csv([&](std::string_view text) { output.write(text); });
  return output.commit();
}

Status write_files(const Answer& answer) {
  for (const auto& [path, write] : answer.files) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(OutputFile output, OutputFile::open(path));
    write([&file = output](std::string_view text) { file.write(text); });
    SHARDWRIGHT_RETURN_IF_ERROR(output.commit());
  }
  return {};
}

Status write_answer(const OutputArguments& arguments, const Answer& answer) {
  if (arguments.csv_path == "-" && !arguments.wants_json()) return {};
  SHARDWRIGHT_ASSIGN_OR_RETURN(OutputFile output,
                               OutputFile::open(arguments.path.empty() ? "-" : arguments.path));
  if (arguments.wants_json()) {
    answer.write_json([&](std::string_view text) { output.write(text); });
  } else {
    output.write(printable(answer.text({text_width(), wants_colours()}), wants_colours()));
  }
  return output.commit();
}

}  // namespace

int respond_with(const OutputArguments& output, ProcessGroup* group,
                 const std::function<Result<Answer>(const Watch&)>& ask) {
  std::optional<InterruptGuard> interrupt;  // lives until the answer is written
  const Result<Answer> answer = ask_interruptibly(output, group, interrupt, ask);
  if (!answer.ok()) return fail(answer.error());
  if (!is_first_process()) return answer->outcome;
  begin_to_write();
  for (const std::string& warning : answer->warnings)
    warn(warning);
  if (const Status page = write_page(output, *answer); !page.ok()) return fail(page.error());
  if (const Status table = write_csv(output, *answer); !table.ok()) return fail(table.error());
  if (const Status files = write_files(*answer); !files.ok()) return fail(files.error());
  if (!answer->hint.empty() && output.wants_json()) note(answer->hint);
  const Status written = write_answer(output, *answer);
  if (!written.ok()) return fail(written.error());
  if (!output.path.empty() && output.path != "-")
    note("wrote " + output.path + (answer->summary.empty() ? "" : ": " + answer->summary));
  return answer->outcome;
}

}  // namespace shardwright::cli
