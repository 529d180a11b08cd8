#include "runtime/surface/program_answers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "runtime/io/program/program_json.h"
#include "runtime/io/program/redistribution_json.h"
#include "runtime/io/program/transfer_json.h"
#include "runtime/program/communication_report.h"
#include "runtime/program/reshard_program.h"
#include "runtime/program/reshard_tensor.h"
#include "runtime/program/transfer_tensors.h"
#include "runtime/report/program/redistribution_report.h"
#include "runtime/report/program/transfer_report.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"
#include "runtime/surface/answer.h"
#include "runtime/surface/pages.h"
#include "runtime/surface/program_requests.h"
#include "runtime/surface/program_warnings.h"

namespace shardwright::commands {
namespace {

template <class List>
std::string list_text(const List& list) {
  std::string text = "[";
  for (const auto& value : list) {
    if (text.size() > 1) text += ",";
    text += std::to_string(static_cast<std::int64_t>(value));
  }
  return text + "]";
}

std::string placement_text(const program::DistAttr& attr) {
  std::string text = list_text(attr.mesh.shape()) + " " + list_text(attr.dims_mapping);
  for (std::size_t axis = 0; axis < attr.partial.size(); ++axis) {
    if (attr.partial[axis] == program::Reduction::kNone) continue;
    text += " " + std::string(to_name(attr.partial[axis])) + "@" + std::to_string(axis);
  }
  return text;
}

// Returns one line with the operators of the rank that has the most operators.
std::string sequence_text(const TensorReshard& answer) {
  const auto busiest = std::max_element(answer.ranks.begin(), answer.ranks.end(),
                                        [](const RankReshard& a, const RankReshard& b) {
                                          return a.inserted.size() < b.inserted.size();
                                        });
  std::string text;
  for (const auto& [type, shape] : busiest->inserted)
    text += (text.empty() ? "" : ", ") + type;
  return text.empty() ? "nothing" : text;
}

// Returns the types of inserted operators in program order, such as "c_allgather, 2 x split".
std::string inserted_text(const program::Program& program) {
  std::vector<std::pair<std::string, std::size_t>> runs;
  for (std::size_t b = 0; b < program.num_blocks(); ++b) {
    for (program::OpId id = program.block(program::BlockId(b)).first; id.valid();
         id = program.next(id)) {
      const program::Operation& op = program.op(id);
      if (!op.is_inserted) continue;
      if (runs.empty() || runs.back().first != op.type) runs.emplace_back(op.type, 0);
      ++runs.back().second;
    }
  }
  std::string text;
  for (const auto& [type, count] : runs) {
    text += (text.empty() ? "" : ", ") + (count > 1 ? std::to_string(count) + " x " : "") + type;
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::string case_name(const ReshardCase& request) {
  return list_text(request.shape) + " from " + placement_text(request.source) + " to " +
         placement_text(request.target);
}

std::string reshard_report(const std::vector<ReshardCaseDocument>& cases,
                           const std::vector<TensorReshard>& answers, std::size_t width) {
  using Align = TextTable::Align;
  TextTable table({{"shape", Align::kLeft},
                   {"from", Align::kLeft},
                   {"to", Align::kLeft},
                   {"us"},
                   {"simulated", Align::kLeft},
                   {"operators of the busiest rank", Align::kLeft}});
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ReshardCase& request = cases[i].request;
    const auto& simulation = answers[i].simulation;
    const bool ok = !simulation || simulation->ok();
    wrong += ok ? 0U : 1U;
    if (i >= kMostTextRows) continue;
    table.add_row({list_text(request.shape), placement_text(request.source),
                   placement_text(request.target), format_ms(answers[i].us),
                   !simulation ? "-"
                   : ok        ? "correct"
                               : "WRONG",
                   sequence_text(answers[i])});
  }
  std::string report =
      "A placement is the mesh, for each dimension the mesh axis that splits it (-1 = none), and "
      "the\n"
      "reductions that are due, each with its axis. Times are in microseconds.\n\n" +
      table.render(width);
  if (cases.size() > kMostTextRows)
    report +=
        "  and " + format_plural(cases.size() - kMostTextRows, "case") + " more, in the JSON\n";
  return report + "\n" + format_plural(cases.size(), "case") + ", " + std::to_string(wrong) +
         " wrong by simulation\n";
}

std::string apply_report(const std::vector<std::pair<ProgramDocument, program::ReshardResult>>& all,
                         std::size_t width) {
  using Align = TextTable::Align;
  std::string report;
  for (const auto& [document, result] : all) {
    if (!report.empty()) report += "\n";
    report += "program " + printable(document.program.name()) + ": " +
              format_plural(result.requests, "request") + ", " +
              format_plural(result.plans, "distinct plan") + "\n";
    const CommunicationReport communication = communication_of(result);
    report += "  " + format_bytes(Bytes(communication.moved_bytes)) + " between ranks, " +
              format_ms(communication.total_us) + " us if computing takes no time\n";
    TextTable table({{"rank"},
                     {"operators"},
                     {"inserted"},
                     {"sends"},
                     {"receives"},
                     {"us"},
                     {"edits", Align::kRight, 2},
                     {"planner calls", Align::kRight, 1},
                     {"syncs"},
                     {"items scanned", Align::kRight, 3},
                     {"inserted operators", Align::kLeft}});
    for (const program::RankProgram& rank : result.ranks) {
      const ReportedRankLoad& load = communication.load_of(rank.rank);
      std::uint64_t ops = 0;
      for (std::size_t i = 0; i < rank.program.num_blocks(); ++i) {
        ops += rank.program.block(program::BlockId(i)).num_ops;
      }
      table.add_row({std::to_string(rank.rank), format_count(ops),
                     format_count(rank.counters.inserted_ops), format_bytes(Bytes(load.sent)),
                     format_bytes(Bytes(load.received)), format_ms(load.communicating_us),
                     format_count(rank.counters.edits), format_count(rank.counters.planner_calls),
                     format_count(rank.counters.mirror_syncs),
                     format_count(rank.counters.items_scanned), inserted_text(rank.program)});
    }
    report += table.render(width);
  }
  return report;
}

Result<Answer> answer(const ReshardRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.cases.read(watch.read));
  Result<std::vector<ReshardCaseDocument>> read = read_reshard_cases(text);
  if (!read.ok()) return request.cases.locate(read.error());
  const auto cases =
      std::make_shared<const std::vector<ReshardCaseDocument>>(std::move(read).value());
  const auto answers = std::make_shared<std::vector<TensorReshard>>();
  for (std::size_t i = 0; i < cases->size(); ++i) {
    TensorReshardOptions options;
    options.compat = request.compat;
    options.mesh_steps = (*cases)[i].on_mesh;
    options.sync = sync_mode(request.legacy_sync);
    Result<TensorReshard> one = reshard_tensor((*cases)[i].request, options);
    if (!one.ok()) {
      Error error = one.error();
      error.where = "/" + std::to_string(i) + error.where;
      return request.cases.locate(std::move(error));
    }
    answers->push_back(std::move(one).value());
  }
  Answer answer;
  answer.warnings = wrong_plans(*answers);
  answer.write_json = [cases, answers](const TextSink& sink) {
    write_reshards(*cases, *answers, sink);
  };
  answer.text = [cases, answers](const TextForm& form) {
    return reshard_report(*cases, *answers, form.width);
  };
  answer.write_page =
      page_of("resharding", answer.write_json, [text = answer.text] { return text({}); });
  return answer;
}

namespace {

using Results = std::vector<std::pair<ProgramDocument, program::ReshardResult>>;

// Returns one startup program per program. A file with one startup program gives it to all. Returns
// an empty list if no file is given.
Result<std::vector<program::Program>> read_startups(const Input& input, std::size_t programs,
                                                    const Watch& watch) {
  std::vector<program::Program> startups;
  if (!input.given()) return startups;
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, input.read(watch.read));
  Result<std::vector<ProgramDocument>> documents = read_programs(text);
  if (!documents.ok()) return input.locate(documents.error());
  if (documents->size() != 1 && documents->size() != programs) {
    return input.locate(
        invalid_input("/programs", "must have one program, or as many as there are main programs"));
  }
  for (std::size_t i = 0; i < programs; ++i) {
    startups.push_back((*documents)[documents->size() == 1 ? 0 : i].program);
  }
  return startups;
}

program::ReshardOptions options_of(const ApplyRequest& request, const ProgramDocument& document,
                                   const std::stop_token& stop) {
  program::ReshardOptions options;
  options.compat = request.compat;
  options.sync = sync_mode(request.legacy_sync);
  options.whole = request.full;
  options.batch_size = request.batch_size;
  options.ranks = document.ranks;
  options.stop = stop;
  return options;
}

bool has_batch_dimension(const program::Program& program) {
  for (std::size_t i = 0; i < program.var_capacity(); ++i) {
    const program::VarId id(i);
    if (program.has(id) && program.var(id).is_open()) return true;
  }
  return false;
}

// Refuses programs without meshes or operators, and a batch size that would have no effect.
Status check_asked(const std::vector<ProgramDocument>& programs, const ApplyRequest& request) {
  if (programs.empty())
    return request.program.locate(invalid_input("/programs", "the list of programs is empty"));
  for (const ProgramDocument& document : programs) {
    if (document.program.meshes().empty())
      return request.program.locate(
          invalid_input(document.place + "/meshes", "a program runs on at least one mesh"));
    if (document.program.op_capacity() == 0)
      return request.program.locate(
          invalid_input(document.place + "/ops", "the program has no operator"));
  }
  const bool is_used = std::any_of(
      programs.begin(), programs.end(),
      [](const ProgramDocument& document) { return has_batch_dimension(document.program); });
  if (!request.batch_size || is_used) return {};
  return invalid_input("batch_size",
                       "no variable has a batch dimension, an extent of -1, so the size would "
                       "change nothing; leave it out");
}

}  // namespace

Result<Answer> answer(const ApplyRequest& request, const Watch& watch) {
  if (request.startup.given() && !request.full) {
    return invalid_input("startup", "needs {full}");
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.program.read(watch.read));
  Result<std::vector<ProgramDocument>> programs = read_programs(text);
  if (!programs.ok()) return request.program.locate(programs.error());
  SHARDWRIGHT_ASSIGN_OR_RETURN(const auto startups,
                               read_startups(request.startup, programs->size(), watch));
  SHARDWRIGHT_RETURN_IF_ERROR(check_asked(*programs, request));
  const std::stop_token stop = watch.begin();
  Answer answer;
  const auto results = std::make_shared<Results>();
  for (const ProgramDocument& document : *programs) {
    program::ReshardOptions options = options_of(request, document, stop);
    if (!startups.empty()) options.startup = startups[results->size()];
    Result<program::ReshardResult> result =
        reshard_program(document.program, options, request.threads);
    if (!result.ok()) {
      Error error = result.error();
      error.where = document.place + error.where;
      return request.program.locate(std::move(error));
    }
    for (const auto& warnings : {wrong_plans(document.program, document.place, result->wrong),
                                 empty_tensors(document.program, document.place),
                                 reads_before_writes(document.program, document.place)})
      answer.warnings.insert(answer.warnings.end(), warnings.begin(), warnings.end());
    results->emplace_back(document, std::move(result).value());
  }
  answer.write_json = [results](const TextSink& sink) { write_programs(*results, sink); };
  answer.text = [results](const TextForm& form) { return apply_report(*results, form.width); };
  answer.write_page =
      page_of("programs", answer.write_json, [text = answer.text] { return text({}); });
  return answer;
}

namespace {

using Paths = std::vector<PlannedRedistribution>;

Result<Paths> find_paths(const RedistributionCase& request, const RedistributionOptions& options,
                         bool front) {
  if (front) return plan_redistribution_front(request, options);
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlannedRedistribution cheapest,
                               plan_redistribution(request, options));
  return Paths{std::move(cheapest)};
}

}  // namespace

Result<Answer> answer(const RedistributeRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.redistribution.read(watch.read));
  Result<RedistributionDocument> read = read_redistribution(text);
  if (!read.ok()) return request.redistribution.locate(read.error());
  const auto document = std::make_shared<const RedistributionDocument>(std::move(read).value());
  RedistributionOptions options = document->options;
  options.stop = watch.begin();
  Result<Paths> found = find_paths(document->request, options, request.front);
  if (!found.ok()) {
    Error error = found.error();
    if (error.where.starts_with("/links")) error.where.insert(0, "/costs");  // place in the file
    return request.redistribution.locate(std::move(error));
  }
  const auto paths = std::make_shared<const Paths>(std::move(found).value());
  Answer answer;
  answer.write_json = [document, paths, front = request.front](const TextSink& sink) {
    front ? write_redistribution_front(*document, *paths, sink)
          : write_redistribution(*document, paths->front(), sink);
  };
  answer.text = [document, paths, front = request.front](const TextForm& form) {
    return front
               ? redistribution_front_text(document->request, document->options, *paths, form.width)
               : redistribution_text(document->request, document->options, paths->front(),
                                     form.width);
  };
  answer.write_page =
      page_of("redistribution", answer.write_json, [text = answer.text] { return text({}); });
  return answer;
}

namespace {

redistribution::TransferLimits limits_of(const TransferRequest& request) {
  redistribution::TransferLimits limits;
  limits.memory_bytes = request.memory.value_or(limits.memory_bytes);
  limits.message_bytes =
      request.message_bytes.value_or(std::min(limits.message_bytes, limits.memory_bytes));
  return limits;
}

// Thresholds for warnings: the times in the answer omit the latency per round and the least time of
// a message, which is the time of one packet.
constexpr std::int64_t kManyRounds = 4096;
constexpr std::int64_t kAdvisedRounds = 3840;  // leaves a margin: late rounds may be short
constexpr std::int64_t kManyMessages = 65536;
constexpr std::int64_t kPacketBytes = 4096;  // largest packet of InfiniBand

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
  answer.write_page =
      page_of("transfer", answer.write_json, [text = answer.text] { return text({}); });
  answer.warnings = warnings_of(request, *plan);
  return answer;
}

}  // namespace shardwright::commands
