// Converts errors of the operating system (errno) to Error.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/status.h"

namespace shardwright {

// Returns true if a resource of the machine is exhausted. Another path would not help then.
inline bool is_machine_limit(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO || error == ENOMEM ||
         error == EAGAIN || error == EMFILE || error == ENFILE;
}

// Makes an error such as "place: what: No space left on device"; `error` is an errno.
inline Error system_error(ErrorCode code, std::string place, const char* what, int error) {
  return Error{code, std::string(what) + ": " + std::strerror(error), std::move(place)};
}

// Makes the error of a failed open(): kInvalidInput for a wrong path, kMachineLimit at a limit.
inline Error open_error(std::string place, const char* what, int error) {
  return system_error(is_machine_limit(error) ? ErrorCode::kMachineLimit : ErrorCode::kInvalidInput,
                      std::move(place), what, error);
}

}  // namespace shardwright
