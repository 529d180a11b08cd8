// Changes numbers and texts.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "tests/fuzz/mutator/chance.h"
#include "tests/fuzz/mutator/words.h"

namespace shardwright::fuzz {

using Json = nlohmann::ordered_json;

// Returns a number near `number`, or one at which arithmetic or a range check may fail.
Json changed_number(const Json& number, Chance& chance);

// Returns a word of the dictionary, or `text` with a few characters changed.
std::string changed_text(const std::string& text, const Words& words, Chance& chance);

// Returns any null, boolean, number or text.
Json any_scalar(const Words& words, Chance& chance);

}  // namespace shardwright::fuzz
