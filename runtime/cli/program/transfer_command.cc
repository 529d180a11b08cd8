#include <memory>
#include <string>

#include "runtime/cli/answering/answering.h"
#include "runtime/cli/program/program_commands.h"
#include "runtime/commands/program/program_commands.h"

namespace shardwright::cli {
namespace {

struct TransferArguments {
  std::string path;
  std::string message_bytes;
  std::string memory;
  bool full = false;
  OutputArguments output;
};

Result<commands::TransferRequest> request_of(const TransferArguments& arguments) {
  commands::TransferRequest request;
  request.transfer = commands::Input::file(arguments.path);
  SHARDWRIGHT_ASSIGN_OR_RETURN(request.memory, size_flag("--memory", arguments.memory));
  SHARDWRIGHT_ASSIGN_OR_RETURN(request.message_bytes,
                               size_flag("--message-bytes", arguments.message_bytes));
  request.full = arguments.full;
  return request;
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
  add_report_argument(command, transfer->output);
  add_output_arguments(command, transfer->output);
  add_example(command,
              "shardwright program transfer samples/data/transfer.json --memory 16MiB -o "
              "transfer_plan.json");
  command.callback([transfer, &chosen] {
    chosen = [transfer] { return respond(transfer->output, request_of(*transfer)); };
  });
}

}  // namespace shardwright::cli
