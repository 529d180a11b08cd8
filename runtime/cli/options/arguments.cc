#include "runtime/cli/options/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>

#include "core/nearest_name.h"
#include "core/text/printable.h"
#include "runtime/cli/options/exit_code.h"
#include "runtime/io/sizes.h"

namespace shardwright::cli {
namespace {

constexpr int kMaxThreads = 4096;
// Messages do not name limits this far away.
constexpr std::uint64_t kAnyNumber = std::uint64_t{1} << 40;
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

}  // namespace

Result<std::optional<std::int64_t>> size_flag(const char* flag, const std::string& text) {
  if (text.empty()) return std::optional<std::int64_t>();
  const Result<std::int64_t> bytes = parse_bytes(text);
  if (!bytes.ok()) return invalid_input(flag, bytes.error().message);
  return std::optional<std::int64_t>(*bytes);
}

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

Result<commands::ProblemRequest> request_of(const ProblemArguments& arguments) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(ProblemOverrides overrides, overrides_of(arguments));
  return commands::ProblemRequest{commands::Input::file(arguments.problem_path),
                                  commands::Input::file(arguments.search_space_path),
                                  std::move(overrides)};
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
          const bool too_large =
              (number && value > most) || converted.ec == std::errc::result_out_of_range;
          const std::string range =
              most < kAnyNumber || too_large
                  ? "from " + std::to_string(least) + " to " + std::to_string(most)
                  : "of at least " + std::to_string(least);
          const std::optional<std::int64_t> meant =
              number ? std::nullopt : whole_number_meant(text);
          const bool fits = meant && static_cast<std::uint64_t>(*meant) >= least &&
                            static_cast<std::uint64_t>(*meant) <= most;
          return "must be a whole number " + range + ", not \"" + text + "\"" +
                 (fits ? "; write " + std::to_string(*meant) : "");
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

CLI::Validator one_of(std::vector<std::string> words) {
  return CLI::Validator(
      [words = std::move(words)](const std::string& text) -> std::string {
        if (std::find(words.begin(), words.end(), text) != words.end()) return "";
        const std::vector<std::string_view> known(words.begin(), words.end());
        return "unknown word \"" + text + "\"" + suggestion(text, known);
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

void warn(const std::string& message) {
  if (!is_first_process()) return;
  std::fprintf(stderr, "shardwright: warning: %s\n", printable(message).c_str());
}

void note(const std::string& message) {
  if (!is_first_process()) return;
  std::fprintf(stderr, "shardwright: %s\n", printable(message).c_str());
}

int fail(const Error& error) {
  if (is_first_process())
    std::fprintf(stderr, "shardwright: %s\n", printable(error.to_string()).c_str());
  return exit_code(error.code);
}

}  // namespace shardwright::cli
