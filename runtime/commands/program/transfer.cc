// shardwright program transfer
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/text/size_word.h"
#include "runtime/commands/pages.h"
#include "runtime/commands/program/program_commands.h"
#include "runtime/io/program/transfer/transfer_json.h"
#include "runtime/program/transfer_tensors.h"
#include "runtime/report/program/transfer_text.h"
#include "runtime/report/text/format.h"

namespace shardwright::commands {
namespace {

redistribution::TransferLimits limits_of(const TransferRequest& request) {
  redistribution::TransferLimits limits;
  limits.memory_bytes = request.memory.value_or(limits.memory_bytes);
  limits.message_bytes =
      request.message_bytes.value_or(std::min(limits.message_bytes, limits.memory_bytes));
  return limits;
}

// Each round takes the latency of a message, and a short message takes as long as one of a packet;
// no time of the answer has either in it.
constexpr std::int64_t kManyRounds = 4096;
constexpr std::int64_t kAdvisedRounds =
    3840;  // the last rounds before parts are passed on may be short
constexpr std::int64_t kManyMessages = 65536;
constexpr std::int64_t kPacketBytes = 4096;  // the largest that InfiniBand has

std::vector<std::string> warnings_of(const TransferRequest& request, const TransferAnswer& answer) {
  std::vector<std::string> warnings;
  if (answer.plan.rounds > kManyRounds) {
    const std::int64_t most = busiest_bytes(answer.loads);
    warnings.push_back("memory: " + format_count(static_cast<std::uint64_t>(answer.plan.rounds)) +
                       " rounds, each with the latency of a message, which the times leave out; " +
                       size_of_at_least((most + kAdvisedRounds - 1) / kAdvisedRounds) +
                       " would take about " +
                       format_count(static_cast<std::uint64_t>(kAdvisedRounds)));
  }
  if (request.message_bytes && answer.plan.message_bytes < kPacketBytes &&
      answer.messages > kManyMessages) {
    warnings.push_back(
        "message_bytes: " + format_count(static_cast<std::uint64_t>(answer.messages)) +
        " messages shorter than a packet of a network; give at least " +
        size_of_at_least(kPacketBytes));
  }
  return warnings;
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
  answer.warnings = warnings_of(request, *plan);
  return answer;
}

}  // namespace shardwright::commands
