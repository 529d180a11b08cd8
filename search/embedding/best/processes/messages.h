// The messages of a search of several processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "search/embedding/best/parameters/best_parameters.h"
#include "search/embedding/best/processes/round_report.h"
#include "search/embedding/model/allocation.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// What processes tell each other before the first round. The part of process 0 counts for all:
// where a time limit ended what came before, others may have got another way.
// Thread safety: a value.
struct Opening {
  std::string fingerprint;  // of the model and the settings: equal in all processes
  std::uint64_t work_done = 0;
  bool prove = false;
  double bound = 0;  // proved before
  std::vector<Allocation> starts;
};

// A digest of what a model holds: choices with their costs, memory, placement rules.
std::string fingerprint_of(const ChoiceModel& model);
// The same with settings and limit: all that a search reads.
std::string fingerprint_of(const ChoiceModel& model, const BestSettings& settings,
                           std::optional<std::uint64_t> work_limit);

std::string to_message(const Opening& opening);
// The same for the report of a round, and for what the process that proves says then. Allocations
// are written as changes of the known one, or whole if it is null. `tree_model`: of the proof.
std::string to_message(const RoundReport& report, const Allocation* known,
                       const ChoiceModel& tree_model);
std::string to_message(const Verdict& verdict, const Allocation* known,
                       const ChoiceModel& tree_model);

// Reads a message. Nothing if it is not one of these or does not fit to the model.
std::optional<Opening> opening_of(const ChoiceModel& model, std::string_view message);
std::optional<RoundReport> report_of(const ChoiceModel& model, std::string_view message,
                                     const Allocation* known, const ChoiceModel& tree_model);
std::optional<Verdict> verdict_of(const ChoiceModel& model, std::string_view message,
                                  const Allocation* known, const ChoiceModel& tree_model);

}  // namespace shardwright::embedding
