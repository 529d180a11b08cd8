// Changes that help and changes that do not, in words.
#pragma once

#include <string>

#include "core/embedding/problem/problem.h"
#include "search/embedding/questions/remedies.h"

namespace shardwright {

// Flags of the command that make the change; empty if no flag does.
std::string flags_of(const embedding::Problem& problem, const embedding::Remedy& remedy);

// "not even 2,048 would do".
std::string failed_remedy_text(const embedding::FailedRemedy& vain);

}  // namespace shardwright
