// An input that consists of several documents, such as a problem and a plan.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardwright::fuzz {

// Splits the input at lines "===". An input without such a line is one document.
std::vector<std::string> split_documents(std::string_view input);

// The inverse of split_documents().
std::string join_documents(std::span<const std::string> documents);

}  // namespace shardwright::fuzz
