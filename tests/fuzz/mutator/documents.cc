#include "tests/fuzz/mutator/documents.h"

namespace shardwright::fuzz {
namespace {

constexpr std::string_view kSeparator = "\n===\n";

}  // namespace

std::vector<std::string> split_documents(std::string_view input) {
  std::vector<std::string> documents;
  for (;;) {
    const std::size_t end = input.find(kSeparator);
    documents.emplace_back(input.substr(0, end));
    if (end == std::string_view::npos) return documents;
    input.remove_prefix(end + kSeparator.size());
  }
}

std::string join_documents(std::span<const std::string> documents) {
  std::string input;
  for (const std::string& document : documents) {
    if (&document != documents.data()) input += kSeparator;
    input += document;
  }
  return input;
}

}  // namespace shardwright::fuzz
