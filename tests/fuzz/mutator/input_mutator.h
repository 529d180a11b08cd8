// Changes inputs of several documents.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tests/fuzz/mutator/words.h"

namespace shardwright::fuzz {

// Changes one document of the input a few times: JSON as a tree, another text word by word. Returns
// nullopt if the document is neither or the result exceeds `most_bytes`.
std::optional<std::string> mutate_input(std::string_view input, std::size_t most_bytes,
                                        std::uint64_t seed, const Words& words);

// Puts a part of a document of `other` into the document at the same position of `input`. Returns
// nullopt as mutate_input() does.
std::optional<std::string> cross_inputs(std::string_view input, std::string_view other,
                                        std::size_t most_bytes, std::uint64_t seed,
                                        const Words& words);

}  // namespace shardwright::fuzz
