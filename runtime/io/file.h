// Reads whole files, plain or gzip-compressed.
#pragma once

#include <cstddef>
#include <string>

#include "core/status.h"
#include "runtime/io/output_file.h"  // IWYU pragma: export

namespace shardwright {

// Larger inputs are refused so that they cannot exhaust the memory. A compressed file of a few
// megabytes can expand to any size.
inline constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

// Returns the contents of `path`, or of standard input for "-". Decompresses gzip data, which it
// recognises by the magic number and not by the file name. Errors: kInvalidInput;
// kMachineLimit; `where` is the path.
Result<std::string> read_file(const std::string& path, std::size_t max_bytes = kMaxFileBytes);

}  // namespace shardwright
