#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/cli/options/exit_code.h"
#include "runtime/cli/options/interrupt.h"
#include "runtime/cli/program/program_commands.h"
#include "runtime/cli/report/report_argument.h"
#include "runtime/io/file.h"
#include "runtime/io/program/transfer/transfer_json.h"
#include "runtime/io/sizes.h"
#include "runtime/program/transfer_tensors.h"
#include "runtime/report/program/transfer_text.h"

namespace shardwright::cli {
namespace {

struct TransferArguments {
  std::string path;
  std::string message_bytes;
  std::string memory;
  std::string report_path;
  bool full = false;
  OutputArguments output;
};

Status read_size(const char* flag, const std::string& text, std::int64_t& out) {
  if (text.empty()) return {};
  const Result<std::int64_t> size = parse_bytes(text);
  if (!size.ok()) return invalid_input(flag, size.error().message);
  out = *size;
  return {};
}

Result<redistribution::TransferLimits> limits_of(const TransferArguments& arguments) {
  redistribution::TransferLimits limits;
  SHARDWRIGHT_RETURN_IF_ERROR(read_size("--memory", arguments.memory, limits.memory_bytes));
  if (arguments.message_bytes.empty())
    limits.message_bytes = std::min(limits.message_bytes, limits.memory_bytes);
  SHARDWRIGHT_RETURN_IF_ERROR(
      read_size("--message-bytes", arguments.message_bytes, limits.message_bytes));
  return limits;
}

int run_transfer(const TransferArguments& arguments) {
  TransferOptions options;
  const Result<redistribution::TransferLimits> limits = limits_of(arguments);
  if (!limits.ok()) return fail(limits.error());
  options.limits = *limits;
  const Result<std::string> text = read_file(arguments.path);
  if (!text.ok()) return fail(text.error());
  const Result<redistribution::TransferProblem> problem = read_transfer(*text);
  if (!problem.ok()) return fail(in_file(problem.error(), arguments.path));
  const InterruptGuard interrupt;
  options.stop = interrupt.token();
  const Result<TransferAnswer> answer = transfer_tensors(*problem, options);
  if (!answer.ok()) return fail(answer.error());
  const Status reported = write_report(arguments.report_path, *problem, *answer);
  if (!reported.ok()) return fail(reported.error());
  return emit(
      arguments.output, kDone,
      [&](const TextSink& sink) { write_transfer(*problem, *answer, sink); },
      [&](std::size_t width) { return transfer_text(*problem, *answer, arguments.full, width); });
}

}  // namespace

void add_transfer_command(CLI::App& program, Action& chosen) {
  auto transfer = std::make_shared<TransferArguments>();
  CLI::App& command = *program.add_subcommand(
      "transfer", "Plans how all tensors of a model move from one layout to another");
  command.add_option("TRANSFER", transfer->path, "Transfer file (- = stdin)")
      ->type_name(kFile)
      ->required();
  command.add_option("--message-bytes", transfer->message_bytes,
                     "Most bytes of a message (default: 64MiB)");
  command.add_option(
      "--memory", transfer->memory,
      "Most bytes that a rank sends, and that it receives, in a round (default: 1GiB)");
  command.add_flag("--full", transfer->full, "Show every rank in the report");
  add_report_argument(command, transfer->report_path);
  add_output_arguments(command, transfer->output);
  add_example(command, "shardwright program transfer samples/data/transfer.json -o plan.json");
  command.callback(
      [transfer, &chosen] { chosen = [transfer] { return run_transfer(*transfer); }; });
}

}  // namespace shardwright::cli
