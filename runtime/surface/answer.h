// The answer of a command, in all forms in which it can be shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/status.h"
#include "runtime/embedding/options.h"
#include "runtime/execution/log.h"
#include "runtime/execution/processes/exchange.h"
#include "runtime/execution/processes/task_dealer.h"
#include "runtime/io/file.h"
#include "runtime/io/text_sink.h"
#include "runtime/operators/solve.h"
#include "runtime/surface/input.h"
#include "runtime/surface/outcome.h"

namespace shardwright::commands {

struct TextForm {
  std::size_t width = 100;  // columns
  bool colours = false;
};

// Most rows of a list in a text. The JSON has all rows.
inline constexpr std::size_t kMostTextRows = 400;

// Thread safety: the functions may be called from any thread, also concurrently.
struct Answer {
  Outcome outcome = Outcome::kDone;
  std::function<void(const TextSink&)> write_json;
  std::function<std::string(const TextForm&)> text;
  std::function<Status(const PageSink&)> write_page;  // one HTML page; empty if there is none
  std::function<void(const TextSink&)> write_csv;     // a table; empty if there is none
  // Files that the request names, with their content. The command line writes them.
  std::vector<std::pair<std::string, std::function<void(const TextSink&)>>> files;
  std::vector<std::string> warnings;
  std::string hint;     // the next question; part of the text, not of the JSON
  std::string summary;  // short; printed if the answer went to a file
  std::shared_ptr<const EmbeddingPlanResult> plan;  // of `plan` and `replan`, else null
  std::shared_ptr<const PlanDocument> old_plan;     // from which `replan` started, else null
};

// How a caller watches and stops a command.
struct Watch {
  Log log;
  // Called after the inputs are read and before the search. The token that it returns stops the
  // search; the answer then has the best result so far.
  std::function<std::stop_token()> begin = [] { return std::stop_token(); };
  // Reads a file.
  FileReader read = [](const std::string& path) { return read_file(path); };
  // Other processes that run the same command; null if there are none. Only the answer of the first
  // process is used, so other answers may have empty functions.
  Exchange* exchange = nullptr;
  TaskDealer* dealer = nullptr;
  bool is_first_process = true;
  // The functions below may be empty. They are called on the command's thread, with no lock held.
  std::function<void(const std::string&)> note;  // remarks for the user
  // Called with a better plan of best mode and the seconds that reading took; see
  // PlanOptions::on_checkpoint.
  std::function<void(const EmbeddingPlanResult&, double)> on_checkpoint;
  std::function<void(const PlanProgress&)> on_plan;
  std::function<void(const OperatorsProgress&)> on_operators;
};

}  // namespace shardwright::commands
