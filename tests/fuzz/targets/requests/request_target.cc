// Input: a command of the C interface in the first document, and its request in the second.
#include <algorithm>
#include <array>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/capi/shardwright.h"
#include "tests/fuzz/mutator/documents.h"
#include "tests/fuzz/targets/expect.h"

namespace shardwright::fuzz {
namespace {

using nlohmann::json;

constexpr std::uint64_t kWorkLimit = 20000;

// Members of requests that name files.
constexpr std::array<const char*, 17> kDocuments{
    "problem", "search_space", "plan",    "old_plan",       "plan_a",  "plan_b",
    "reuse",   "resume",       "graph",   "instance",       "file",    "cases",
    "program", "startup",      "options", "redistribution", "transfer"};

bool names_a_file(const json& request) {
  return std::any_of(kDocuments.begin(), kDocuments.end(), [&](const char* key) {
    const auto member = request.find(key);
    if (member == request.end() || !member->is_string()) return false;
    const std::string text = member->get<std::string>();
    return text.find_first_of("{[\n") == std::string::npos;
  });
}

// Returns false if a number of ranks has four digits or more. Such inputs are legal but slow.
bool is_small(const std::string& input) {
  static const std::regex many(
      "(ranks|ranks_per_host|devices|mesh|world_size)[^0-9a-z{]{0,8}([0-9]{1,3}[x,])*[0-9]{4}");
  return !std::regex_search(input, many);
}

bool takes_work_limit(std::string_view command) {
  return command == "plan" || command == "replan" || command == "sweep" || command == "explain" ||
         command == "operators solve" || command == "operators plan" ||
         command == "operators sweep";
}

std::string text_of(const shardwright_answer* answer,
                    shardwright_status (*write)(const shardwright_answer*, char*, size_t,
                                                size_t*)) {
  std::size_t size = 0;
  expect(write(answer, nullptr, 0, &size) == SHARDWRIGHT_OK, "an answer has its texts");
  std::string text(size + 1, '\0');
  expect(write(answer, text.data(), text.size(), &size) == SHARDWRIGHT_OK, "a text fits its size");
  text.resize(size);
  return text;
}

void expect_answer(const std::string& command, const shardwright_answer* answer) {
  shardwright_outcome outcome = -1;
  std::uint64_t warnings = 0;
  expect(shardwright_answer_summary(answer, &outcome, &warnings) == SHARDWRIGHT_OK,
         "an answer has an outcome");
  expect(outcome >= SHARDWRIGHT_DONE && outcome <= SHARDWRIGHT_NOT_VERIFIED,
         "the outcome is documented");
  expect(json::accept(text_of(answer, &shardwright_answer_to_json)), command + " answers in JSON");
  const auto report = [](const shardwright_answer* of, char* buffer, size_t capacity,
                         size_t* size) {
    return shardwright_answer_to_text(of, 0, buffer, capacity, size);
  };
  text_of(answer, report);
}

}  // namespace
}  // namespace shardwright::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardwright::fuzz;
  const std::string input(text_of(data, size));
  const std::vector<std::string> documents = split_documents(input);
  if (documents.size() != 2 || !is_small(input)) return kRejected;
  std::string command = documents[0];
  command.erase(std::min(command.find('\n'), command.size()));
  std::string text = documents[1];
  json request = json::parse(text, nullptr, false);
  if (request.is_object()) {
    if (names_a_file(request)) return kRejected;
    if (takes_work_limit(command)) request["work_limit"] = kWorkLimit;
    if (request.contains("threads") && request["threads"].is_number()) request["threads"] = 1;
    text = request.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  shardwright_answer* answer = nullptr;
  const shardwright_status status =
      shardwright_ask(command.c_str(), text.data(), text.size(), nullptr, &answer);
  expect((status == SHARDWRIGHT_OK) == (answer != nullptr), "there is an answer, or an error");
  if (status == SHARDWRIGHT_OK) {
    expect_answer(command, answer);
    expect(shardwright_answer_destroy(answer) == SHARDWRIGHT_OK, "an answer can be destroyed");
    return kDone;
  }
  expect(status != SHARDWRIGHT_INTERNAL, "a request does not break the library");
  expect(*shardwright_last_error_message() != '\0', "an error is explained");
  return kDone;
}
