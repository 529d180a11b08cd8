// Errors of the operating system as errors of the library.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "core/status.h"

namespace shardwright {

// Returns true if a resource of the machine is exhausted, so that another path would not help.
inline bool is_machine_limit(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO || error == ENOMEM ||
         error == EAGAIN || error == EMFILE || error == ENFILE;
}

// `error` is an errno. "place: what: No space left on device".
inline Error system_error(ErrorCode code, std::string place, const char* what, int error) {
  return Error{code, std::string(what) + ": " + std::strerror(error), std::move(place)};
}

// The error of opening a file: the path is wrong, or the machine is at a limit.
inline Error open_error(std::string place, const char* what, int error) {
  return system_error(is_machine_limit(error) ? ErrorCode::kMachineLimit : ErrorCode::kInvalidInput,
                      std::move(place), what, error);
}

}  // namespace shardwright
