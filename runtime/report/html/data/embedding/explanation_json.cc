#include "runtime/report/html/data/embedding/explanation_json.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/embedding/explain/reasons.h"
#include "runtime/embedding/explain/remedy_text.h"
#include "runtime/report/embedding/questions/explain_words.h"
#include "runtime/report/html/data/name_list.h"

namespace shardwright {
namespace {

using embedding::OptionCost;
using embedding::Problem;
using Standing = OptionCost::Standing;

constexpr std::size_t kMostOptions = 24000;  // of a page: about 2 MB
constexpr std::size_t kLeastOptions = 4;     // of a table, the chosen one included

void write_digits(double number, JsonWriter& json) {
  constexpr int kDigits = 6;
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof(text), number, std::chars_format::general, kDigits);
  json.raw({text, end.ptr});
}

bool is_better_but_hindered(const OptionCost& cost) {
  return cost.standing > Standing::kPossible && cost.rating && cost.rating_change < 0;
}

// The options to show, at most `most`.
std::vector<const OptionCost*> shown_of(const TableExplanation& table, std::size_t most) {
  std::vector<const OptionCost*> shown;
  for (const OptionCost& cost : table.options)
    shown.push_back(&cost);
  std::stable_partition(shown.begin() + 1, shown.end(),
                        [](const OptionCost* cost) { return is_better_but_hindered(*cost); });
  shown.resize(std::min(shown.size(), most));
  return shown;
}

void write_option(const OptionCost& cost, std::size_t name, JsonWriter& json) {
  json.begin_array().value(static_cast<int>(cost.standing)).value(name);
  if (cost.rating) {
    write_digits(*cost.rating, json);
    json.value(cost.busiest_rank);
  } else {
    json.null().null();
  }
  if (cost.part) {
    json.value(static_cast<int>(*cost.part));
    write_digits(cost.part_change_ms, json);
  } else {
    json.null().null();
  }
  write_digits(cost.time_ms, json);
  json.value(cost.storage.hbm.value()).value(cost.storage.ddr.value());
  json.value(cost.storage.ssd.value()).value(rank_list(cost.ranks));
  json.value(obstacle_text(cost)).end_array();
}

}  // namespace

void write_explained_tables(const ExplainedTables& explained, JsonWriter& json) {
  NameList names;
  const std::size_t tables = std::max<std::size_t>(explained.tables.size(), 1);
  const std::size_t most = std::max(kMostOptions / tables, kLeastOptions);
  json.key("explained").begin_array();
  for (const TableExplanation& table : explained.tables) {
    const std::vector<const OptionCost*> shown = shown_of(table, most);
    json.new_line().begin_array().value(table.table.value()).begin_array();
    for (const OptionCost* cost : shown)
      write_option(*cost, names.number_of(option_name(*cost->option)), json);
    json.end_array().value(table.options.size() - shown.size()).end_array();
  }
  json.end_array().new_line();
  names.write("option_names", json);
}

void write_infeasibility(const Problem& problem, const Infeasibility& reason, JsonWriter& json) {
  json.key("infeasible").begin_object().member("proved", reason.proved);
  json.member("message", reason.message).key("remedies").begin_array();
  for (const embedding::Remedy& remedy : reason.remedies) {
    const RemedyWords words = words_of(problem, remedy);
    json.begin_array().value(words.change).value(words.from).value(words.to);
    json.value(words.one_step_less).value(words.flags).end_array();
  }
  json.end_array().key("in_vain").begin_array();
  for (const embedding::FailedRemedy& vain : reason.in_vain)
    json.value(std::string(to_name(vain.kind)) + ": " + failed_remedy_text(vain));
  json.end_array().end_object().new_line();
}

}  // namespace shardwright
