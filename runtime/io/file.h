// Reads whole files, plain or compressed with gzip.
#pragma once

#include <cstddef>
#include <string>

#include "core/status.h"
#include "runtime/io/output_file.h"  // IWYU pragma: export

namespace shardwright {

// Larger files are refused, so that they cannot exhaust memory. The limit also holds for the
// decompressed size, since a gzip file of a few megabytes can expand to any size.
inline constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

// Returns the contents of the file `path`, or of standard input for "-". Decompresses gzip data,
// recognised by its first two bytes. Errors at the path: kInvalidInput; kMachineLimit.
Result<std::string> read_file(const std::string& path, std::size_t max_bytes = kMaxFileBytes);

}  // namespace shardwright
