// The words of a dictionary: keys and values of a format.
#pragma once

#include <string>
#include <vector>

namespace shardwright::fuzz {

using Words = std::vector<std::string>;

// The words of the file that -dict=FILE names among libFuzzer's arguments; none without it. The
// file is in libFuzzer's format, so that its own mutations of bytes use the words, too.
Words words_of_arguments(int count, const char* const* arguments);

}  // namespace shardwright::fuzz
