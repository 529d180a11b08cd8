#include "runtime/capi/boundary.h"

#include "runtime/capi/shardwright.h"

namespace shardwright::capi {
namespace {

// The error of a thread's last failed call. C callers ask for it after the call, so it is kept.
struct LastError {
  std::string message;
  std::string place;
  bool no_memory = false;  // no memory for the texts
};

LastError& last_error() noexcept {
  thread_local LastError error;
  return error;
}

const char* noun(HandleKind kind) {
  switch (kind) {
    case HandleKind::kProblem:
      return "a problem";
    case HandleKind::kSearchSpace:
      return "a search space";
    case HandleKind::kCancel:
      return "a cancel token";
    case HandleKind::kResult:
      return "a result";
    case HandleKind::kAnswer:
      return "an answer";
  }
  return "an object";
}

void check_struct_size(std::size_t given_size, std::size_t known_size, std::size_t least_size,
                       const char* name) {
  if (given_size >= least_size) return;
  fail(SHARDWRIGHT_INVALID_ARGUMENT,
       "struct_size is " + std::to_string(given_size) + "; set it to sizeof the structure (" +
           std::to_string(known_size) + ")",
       name);
}

}  // namespace

shardwright_status remember(shardwright_status status, std::string_view message,
                            std::string_view place) noexcept {
  LastError& error = last_error();
  error.message.clear();
  error.place.clear();
  try {
    error.message = message;
    error.place = place;
    error.no_memory = false;
  } catch (...) {
    error.no_memory = true;
  }
  return status;
}

shardwright_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidInput:
      return SHARDWRIGHT_INVALID_INPUT;
    case ErrorCode::kInfeasible:
      return SHARDWRIGHT_INFEASIBLE;
    case ErrorCode::kStopped:
      return SHARDWRIGHT_STOPPED;
    case ErrorCode::kVerificationFailed:
      return SHARDWRIGHT_VERIFICATION_FAILED;
    case ErrorCode::kUnsupported:
      return SHARDWRIGHT_UNSUPPORTED;
    case ErrorCode::kMachineLimit:
      return SHARDWRIGHT_OUT_OF_MEMORY;
  }
  return SHARDWRIGHT_INTERNAL;
}

void fail_handle(HandleTable::Fault fault, HandleKind kind, const char* name) {
  std::string message = "not a handle of " + std::string(noun(kind)) + ": ";
  switch (fault) {
    case HandleTable::Fault::kNull:
      message += "it is null";
      break;
    case HandleTable::Fault::kOtherKind:
      message += "it is one of another kind";
      break;
    case HandleTable::Fault::kDestroyed:
      message += "it has been destroyed";
      break;
    case HandleTable::Fault::kForeign:
    case HandleTable::Fault::kNone:
      message += "this library never gave it out";
      break;
  }
  fail(SHARDWRIGHT_INVALID_HANDLE, std::move(message), name);
}

void read_bytes(const void* given, std::size_t given_size, void* known, std::size_t known_size,
                std::size_t least_size, const char* name) {
  check_struct_size(given_size, known_size, least_size, name);
  std::memcpy(known, given, std::min(given_size, known_size));
  const char* bytes = static_cast<const char*>(given);
  for (std::size_t i = known_size; i < given_size; ++i) {
    if (bytes[i] != 0) {
      fail(SHARDWRIGHT_UNSUPPORTED,
           "the structure of a newer interface holds values that this library does not know", name);
    }
  }
}

void write_bytes(const void* known, std::size_t known_size, void* given, std::size_t given_size,
                 std::size_t least_size, const char* name) {
  check_struct_size(given_size, known_size, least_size, name);
  std::memcpy(given, known, std::min(given_size, known_size));
  if (given_size > known_size) {
    std::memset(static_cast<char*>(given) + known_size, 0, given_size - known_size);
  }
}

void put_text(std::string_view text, char* buffer, std::size_t capacity, std::size_t* size) {
  if (buffer == nullptr && (capacity > 0 || size == nullptr)) {
    fail(SHARDWRIGHT_INVALID_ARGUMENT,
         "must not be null, except with capacity 0 and a size to be told", "buffer");
  }
  if (size != nullptr) *size = text.size();
  if (buffer == nullptr) return;
  if (capacity <= text.size()) {
    fail(SHARDWRIGHT_BUFFER_TOO_SMALL,
         "the text needs " + std::to_string(text.size() + 1) + " bytes, the buffer has " +
             std::to_string(capacity),
         "buffer");
  }
  std::copy(text.begin(), text.end(), buffer);
  buffer[text.size()] = '\0';
}

void check_room(std::uint64_t room, std::uint64_t needed, const char* name) {
  if (room >= needed) return;
  fail(
      SHARDWRIGHT_BUFFER_TOO_SMALL,
      "the arrays have room for " + std::to_string(room) + ", needed are " + std::to_string(needed),
      name);
}

}  // namespace shardwright::capi

using shardwright::capi::last_error;

const char* shardwright_last_error_message(void) {
  return last_error().no_memory ? "out of memory while saying what failed"
                                : last_error().message.c_str();
}

const char* shardwright_last_error_place(void) { return last_error().place.c_str(); }
