#include "runtime/cli/options/arguments.h"
#include "runtime/execution/stopwatch.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>

#include "core/nearest_name.h"
#include "core/text/printable.h"
#include "runtime/cli/options/exit_code.h"
#include "runtime/io/embedding/search_space/search_space_json.h"
#include "runtime/io/file.h"
#include "runtime/io/sizes.h"
#include "runtime/report/text/style.h"

namespace shardwright::cli {
namespace {

constexpr int kMaxThreads = 4096;
// Messages do not name limits this far away.
constexpr std::uint64_t kAnyNumber = std::uint64_t{1} << 40;
constexpr std::size_t kDefaultWidth = 100;
constexpr std::size_t kNarrowest = 40;
constexpr std::size_t kWidest = 10000;

// Width of the terminal. For a pipe or a file: COLUMNS.
std::size_t report_width() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= kNarrowest) return size.ws_col;
  const char* const said = std::getenv("COLUMNS");
  const std::string_view text = said == nullptr ? "" : said;
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && columns >= kNarrowest && columns <= kWidest ? columns : kDefaultWidth;
}

Result<std::optional<std::int64_t>> size_flag(const char* flag, const std::string& text) {
  if (text.empty()) return std::optional<std::int64_t>();
  const Result<std::int64_t> bytes = parse_bytes(text);
  if (!bytes.ok()) return invalid_input(flag, bytes.error().message);
  return std::optional<std::int64_t>(*bytes);
}

template <class Enum>
Result<std::optional<Enum>> name_flag(const char* flag, const std::string& what,
                                      const std::string& name) {
  if (name.empty()) return std::optional<Enum>();
  const std::optional<Enum> value = embedding::from_name<Enum>(name);
  if (value) return value;
  return invalid_input(flag, "unknown " + what + " \"" + name + "\"" +
                                 suggestion(name, embedding::EnumNames<Enum>::kNames));
}

// Empty = any.
Result<std::vector<std::int64_t>> group_sizes_of(const std::vector<std::string>& given) {
  std::vector<std::int64_t> sizes;
  if (given == std::vector<std::string>{"any"}) return sizes;
  for (const std::string& text : given) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || end != text.data() + text.size() || size < 1) {
      return invalid_input("--sharding-group-size",
                           "must be `any` or numbers of ranks, not \"" + text + "\"");
    }
    sizes.push_back(size);
  }
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

// Hosts matter for what collectives cost, and few have more than eight accelerators.
void note_guessed_hosts(const embedding::TopologySpec& topology) {
  constexpr std::int64_t kUsualHost = 8;
  if (topology.local_world_size != 0 || topology.world_size <= kUsualHost) return;
  note("neither the file nor --ranks-per-host says how many ranks a host has: all " +
       std::to_string(topology.world_size) + " count as one host");
}

}  // namespace

Result<ProblemOverrides> overrides_of(const ProblemArguments& arguments) {
  ProblemOverrides overrides = arguments.overrides;
  SHARDWRIGHT_ASSIGN_OR_RETURN(overrides.hbm_bytes, size_flag("--hbm", arguments.hbm));
  SHARDWRIGHT_ASSIGN_OR_RETURN(overrides.ddr_bytes, size_flag("--ddr", arguments.ddr));
  SHARDWRIGHT_ASSIGN_OR_RETURN(overrides.ssd_bytes, size_flag("--ssd", arguments.ssd));
  if (!arguments.group_sizes.empty()) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(overrides.group_sizes, group_sizes_of(arguments.group_sizes));
  }
  if (!arguments.pod_sizes.empty()) {
    overrides.pod_sizes = arguments.pod_sizes;
    std::sort(overrides.pod_sizes->begin(), overrides.pod_sizes->end());
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      overrides.device,
      name_flag<embedding::ComputeDevice>("--device", "compute device", arguments.device));
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      overrides.torchrec, name_flag<embedding::TorchRecRelease>("--torchrec", "release of TorchRec",
                                                                arguments.torchrec));
  return overrides;
}

void add_problem_arguments(CLI::App& command, ProblemArguments& arguments) {
  command.add_option("PROBLEM", arguments.problem_path, "Problem or workload file (- = stdin)")
      ->type_name(kFile)
      ->required();
  add_topology_arguments(command, arguments);
}

void add_topology_arguments(CLI::App& command, ProblemArguments& arguments) {
  const char* const group = "Topology (overrides the file)";
  command.add_option("--ranks", arguments.overrides.ranks, "Ranks")
      ->transform(positive_number())
      ->group(group);
  command.add_option("--ranks-per-host", arguments.overrides.ranks_per_host, "Ranks of one host")
      ->transform(positive_number())
      ->group(group);
  command.add_option("--hbm", arguments.hbm, "HBM per rank, such as 80GiB")->group(group);
  command.add_option("--ddr", arguments.ddr, "DDR per rank, such as 128GiB")->group(group);
  command.add_option("--ssd", arguments.ssd, "SSD per rank, such as 2TiB")->group(group);
  command.add_option("--device", arguments.device, "Compute device of the ranks")
      ->type_name("cuda|cpu|mtia|tpu")
      ->group(group);
  command.add_option("--batch-size", arguments.overrides.batch_size, "Samples per rank and step")
      ->transform(positive_number())
      ->group(group);
  add_layout_arguments(command, arguments, group);
  add_release_argument(command, arguments);
}

void add_release_argument(CLI::App& command, ProblemArguments& arguments) {
  command
      .add_option("--torchrec", arguments.torchrec,
                  "Release of TorchRec whose rules and costs hold (default: 1.9.2)")
      ->type_name("1.9.2|a48cef79");
}

void add_layout_arguments(CLI::App& command, ProblemArguments& arguments, const char* group) {
  command
      .add_option("--sharding-group-size", arguments.group_sizes,
                  "Ranks that share one copy of the tables; of a list or `any`, best mode chooses")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("N[,N...]|any")
      ->group(group);
  command
      .add_option("--sync-interval", arguments.overrides.sync_interval,
                  "Training steps between two averages over sharding groups")
      ->transform(positive_number())
      ->group(group);
  command
      .add_option("--pod-size", arguments.pod_sizes,
                  "Hosts that are linked like one; of a list, best mode chooses")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->transform(positive_number())
      ->type_name("N[,N...]")
      ->group(group);
}

void add_search_space_argument(CLI::App& command, ProblemArguments& arguments) {
  command
      .add_option(
          "--search-space", arguments.search_space_path,
          "Use the options and costs of this file (an answer with a `search_space` will do)")
      ->type_name(kFile);
}

void add_stats_argument(CLI::App& command, bool& stats) {
  command.add_flag("--stats", stats,
                   "Add TorchRec's statistics of the plan: every rank, critical path, imbalance");
}

void add_output_arguments(CLI::App& command, OutputArguments& arguments) {
  command.add_option("-o,--output", arguments.path, "Write JSON to this file (- = stdout)")
      ->type_name(kFile);
  command.add_flag("--json", arguments.json, "Write JSON to stdout instead of a report");
  command.add_option("--threads", arguments.threads, "Threads (default: all cores)")
      ->transform(whole_number(1, kMaxThreads));
  command.add_flag("-v,--verbose", arguments.verbose, "Log to stderr");
}

void add_example(CLI::App& command, const std::string& example) {
  command.footer("Example:\n  " + example + "\n\n" + command.get_footer());
}

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return CLI::Validator(
      [least, most](std::string& text) -> std::string {
        std::uint64_t value = 0;
        const char* const end = text.data() + text.size();
        const auto converted = std::from_chars(text.data(), end, value);
        const bool number = converted.ec == std::errc{} && converted.ptr == end;
        if (!number || value < least || value > most) {
          const std::string range =
              most < kAnyNumber ? "from " + std::to_string(least) + " to " + std::to_string(most)
                                : "of at least " + std::to_string(least);
          return "must be a whole number " + range + ", not \"" + text + "\"";
        }
        text = std::to_string(value);  // CLI11 reads a leading zero as octal
        return "";
      },
      "");
}

CLI::Validator positive_number() { return whole_number(1, kAnyNumber); }

CLI::Validator decimal_number(const std::string& what, bool zero_allowed) {
  return CLI::Validator(
      [what, zero_allowed](const std::string& text) -> std::string {
        double value = 0;
        const char* const end = text.data() + text.size();
        const auto converted = std::from_chars(text.data(), end, value);
        const bool number = converted.ec == std::errc{} && converted.ptr == end;
        if (number && std::isfinite(value) && (zero_allowed ? value >= 0 : value > 0)) return "";
        return "must be a number" + what + ", " +
               std::string(zero_allowed ? "zero or above" : "above zero") + ", not \"" + text +
               "\"";
      },
      "");
}

CLI::Validator seconds(bool zero_allowed) { return decimal_number(" of seconds", zero_allowed); }

Status check_given_values(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands())
    SHARDWRIGHT_RETURN_IF_ERROR(check_given_values(*command));
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (!value.empty()) continue;
      return invalid_input(option->get_name(), "must not be empty; give a value, or leave it out");
    }
  }
  return {};
}

Error in_file(Error error, const std::string& path) {
  const std::string name = path == "-" ? "standard input" : path;
  error.where = error.where.empty() ? name : name + ": " + error.where;
  return error;
}

Result<LoadedProblem> load_problem(const ProblemArguments& arguments, const Log& log) {
  const Stopwatch watch;
  if (arguments.problem_path == "-" && arguments.search_space_path == "-") {
    return invalid_input("--search-space", "only one input can come from standard input");
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(const ProblemOverrides overrides, overrides_of(arguments));
  LoadedProblem loaded;
  {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, read_file(arguments.problem_path));
    Result<embedding::ProblemSpec> spec = read_problem(text, overrides);
    if (!spec.ok()) return in_file(spec.error(), arguments.problem_path);
    note_guessed_hosts(spec->topology);
    Result<embedding::Problem> problem = embedding::Problem::make(std::move(spec).value());
    if (!problem.ok()) return in_file(problem.error(), arguments.problem_path);
    loaded.problem = std::make_shared<const embedding::Problem>(std::move(problem).value());
  }
  log.info("read " + std::to_string(loaded.problem->tables().size()) + " tables, " +
           std::to_string(loaded.problem->topology().world_size()) + " ranks");
  if (!arguments.search_space_path.empty()) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, read_file(arguments.search_space_path));
    auto space = read_search_space(text, loaded.problem);
    if (!space.ok()) return in_file(space.error(), arguments.search_space_path);
    loaded.search_space = std::move(space).value();
    log.info("read " + std::to_string(loaded.search_space->size()) + " sharding options");
  }
  loaded.read_s = watch.seconds();
  return loaded;
}

int emit(const OutputArguments& arguments, int status,
         const std::function<void(const TextSink&)>& write_json,
         const std::function<std::string(std::size_t width)>& report, const std::string& summary) {
  const bool json = arguments.json || !arguments.path.empty();
  Result<OutputFile> file = OutputFile::open(arguments.path.empty() ? "-" : arguments.path);
  if (!file.ok()) return fail(file.error());
  OutputFile output = std::move(file).value();
  if (json) {
    write_json([&](std::string_view text) { output.write(text); });
  } else {
    output.write(printable(report(report_width()), wants_colours()));
  }
  const Status written = output.commit();
  if (!written.ok()) return fail(written.error());
  if (!arguments.path.empty() && arguments.path != "-")
    note("wrote " + arguments.path + (summary.empty() ? "" : ": " + summary));
  return status;
}

bool wants_colours() {
  const char* const refusal = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && (refusal == nullptr || *refusal == '\0') &&
         terminal != nullptr && std::string_view(terminal) != "dumb";
}

void warn(const std::string& message) {
  std::fprintf(stderr, "shardwright: warning: %s\n", printable(message).c_str());
}

void note(const std::string& message) {
  std::fprintf(stderr, "shardwright: %s\n", printable(message).c_str());
}

int fail(const Error& error) {
  std::fprintf(stderr, "shardwright: %s\n", printable(error.to_string()).c_str());
  return exit_code(error.code);
}

}  // namespace shardwright::cli
