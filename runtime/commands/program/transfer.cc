// shardwright program transfer
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "runtime/commands/pages.h"
#include "runtime/commands/program/program_commands.h"
#include "runtime/io/program/transfer/transfer_json.h"
#include "runtime/program/transfer_tensors.h"
#include "runtime/report/program/transfer_text.h"

namespace shardwright::commands {
namespace {

redistribution::TransferLimits limits_of(const TransferRequest& request) {
  redistribution::TransferLimits limits;
  limits.memory_bytes = request.memory.value_or(limits.memory_bytes);
  limits.message_bytes =
      request.message_bytes.value_or(std::min(limits.message_bytes, limits.memory_bytes));
  return limits;
}

}  // namespace

Result<Answer> answer(const TransferRequest& request, const Watch& watch) {
  using redistribution::TransferProblem;
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.transfer.read(watch.read));
  Result<TransferProblem> read = read_transfer(text);
  if (!read.ok()) return request.transfer.locate(read.error());
  const TransferOptions options{limits_of(request), watch.begin()};
  SHARDWRIGHT_ASSIGN_OR_RETURN(TransferAnswer found, transfer_tensors(*read, options));
  const auto problem = std::make_shared<const TransferProblem>(std::move(read).value());
  const auto plan = std::make_shared<const TransferAnswer>(std::move(found));
  Answer answer;
  answer.write_json = [problem, plan](const TextSink& sink) {
    write_transfer(*problem, *plan, sink);
  };
  answer.text = [problem, plan, full = request.full](const TextForm& form) {
    return transfer_text(*problem, *plan, full, form.width);
  };
  answer.write_page = page_of(problem, plan);
  return answer;
}

}  // namespace shardwright::commands
