// The words of a dictionary: keys and values of a format.
#pragma once

#include <string>
#include <vector>

namespace shardwright::fuzz {

using Words = std::vector<std::string>;

// Returns the words of the file FILE if libFuzzer's arguments have -dict=FILE, else none. The file
// has libFuzzer's format, so libFuzzer's own mutations use it, too.
Words words_of_arguments(int count, const char* const* arguments);

}  // namespace shardwright::fuzz
