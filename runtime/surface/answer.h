// The answer of a command, in every form in which it can be shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
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

// Most rows of a list in a text; the JSON has all rows.
inline constexpr std::size_t kMostTextRows = 400;

// Thread safety: the functions may be called from any thread, also at the same time.
struct Answer {
  Outcome outcome = Outcome::kDone;
  std::function<void(const TextSink&)> write_json;
  std::function<std::string(const TextForm&)> text;
  std::function<Status(const TextSink&)> write_page;  // one HTML page; empty if there is none
  std::function<void(const TextSink&)> write_csv;     // a table; empty if there is none
  std::vector<std::string> warnings;
  std::string hint;     // what to ask next; part of the text, not of the JSON
  std::string summary;  // half a line, printed if the answer went to a file
  std::shared_ptr<const EmbeddingPlanResult> plan;  // of `plan` and `replan`, else null
  std::shared_ptr<const PlanDocument> old_plan;     // that `replan` began with, else null
};

// How a command is watched and stopped.
struct Watch {
  Log log;
  // Called when the inputs have been read, before the search. The token stops the search with the
  // best answer so far.
  std::function<std::stop_token()> begin = [] { return std::stop_token(); };
  // How files are read.
  FileReader read = [](const std::string& path) { return read_file(path); };
  // The other processes that run the same command; null if there are none. Only the first process's
  // answer is used; the functions of the other answers may be empty.
  Exchange* exchange = nullptr;
  TaskDealer* dealer = nullptr;
  bool is_first_process = true;
  // The functions below are called on the command's thread, without a lock held, and may be empty.
  std::function<void(const std::string&)> note;  // remarks for the user
  // A better plan of best mode, and the seconds that reading took; see PlanOptions::on_checkpoint.
  std::function<void(const EmbeddingPlanResult&, double)> on_checkpoint;
  std::function<void(const PlanProgress&)> on_plan;
  std::function<void(const OperatorsProgress&)> on_operators;
};

}  // namespace shardwright::commands
