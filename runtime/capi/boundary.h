// The border between C and C++: checks of arguments, handles, errors.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "core/status.h"
#include "runtime/capi/handle_table.h"
#include "runtime/capi/objects.h"
#include "runtime/capi/shardwright_types.h"

namespace shardwright::capi {

// The exception that ends a call. Every C function catches it and returns its status.
struct CallFailure {
  shardwright_status status;
  std::string message;
  std::string place;
};

// Stores this thread's last error; without memory for the texts, only the status. Returns `status`.
shardwright_status remember(shardwright_status status, std::string_view message,
                            std::string_view place) noexcept;

shardwright_status status_of(ErrorCode code);

[[noreturn]] inline void fail(shardwright_status status, std::string message, std::string place) {
  throw CallFailure{status, std::move(message), std::move(place)};
}

inline void take(const Status& status) {
  if (!status.ok()) {
    fail(status_of(status.error().code), status.error().message, status.error().where);
  }
}
template <class T>
T take(Result<T> result) {
  if (!result.ok()) {
    fail(status_of(result.error().code), result.error().message, result.error().where);
  }
  return std::move(result).value();
}

// Runs the body of a C function and turns every exception into a status.
template <class Body>
shardwright_status guarded(const Body& body) noexcept {
  try {
    body();
    return SHARDWRIGHT_OK;
  } catch (const CallFailure& failure) {
    return remember(failure.status, failure.message, failure.place);
  } catch (const std::bad_alloc&) {
    return remember(SHARDWRIGHT_OUT_OF_MEMORY, "out of memory", "");
  } catch (const std::exception& exception) {
    return remember(SHARDWRIGHT_INTERNAL, exception.what(), "");
  } catch (...) {
    return remember(SHARDWRIGHT_INTERNAL, "something other than std::exception was thrown", "");
  }
}

template <class T>
T& required(T* pointer, const char* name) {
  if (pointer == nullptr) fail(SHARDWRIGHT_INVALID_ARGUMENT, "must not be null", name);
  return *pointer;
}

// Returns the caller's text of `size` bytes. Throws CallFailure if it is null and `size` is not 0.
inline std::string_view given_text(const char* text, std::size_t size, const char* name) {
  if (size > 0) required(text, name);
  return {text, size};
}

// ---- Handles

// Throws a CallFailure that describes the fault.
[[noreturn]] void fail_handle(HandleTable::Fault fault, HandleKind kind, const char* name);

template <class Handle>
std::uint64_t number_of(const Handle* handle) {
  return std::bit_cast<std::uint64_t>(handle);
}

// Returns the object behind a handle. Throws CallFailure for a bad handle.
template <class Handle>
auto object_of(const Handle* handle, const char* name) {
  using Object = typename ObjectOf<Handle>::Type;
  HandleTable::Found found = handles().find(ObjectOf<Handle>::kKind, number_of(handle));
  if (found.fault != HandleTable::Fault::kNone) {
    fail_handle(found.fault, ObjectOf<Handle>::kKind, name);
  }
  return std::static_pointer_cast<const Object>(std::move(found.object));
}

// Returns the object behind a handle, or null for a null handle.
template <class Handle>
auto optional_object_of(const Handle* handle, const char* name) {
  return handle == nullptr ? decltype(object_of(handle, name))() : object_of(handle, name);
}

// An output handle of the caller. It is null until set() is called.
template <class Handle>
class HandleOutput {
 public:
  HandleOutput(Handle** out, const char* name) : out_(&required(out, name)) { *out_ = nullptr; }

  void set(std::shared_ptr<const typename ObjectOf<Handle>::Type> object) {
    static_assert(sizeof(Handle*) == sizeof(std::uint64_t), "handles have 64 bits");
    *out_ = std::bit_cast<Handle*>(handles().add(ObjectOf<Handle>::kKind, std::move(object)));
  }

 private:
  Handle** out_;
};

template <class Handle>
shardwright_status destroy(const Handle* handle, const char* name) noexcept {
  return guarded([&] {
    const HandleTable::Found found = handles().remove(ObjectOf<Handle>::kKind, number_of(handle));
    if (found.fault != HandleTable::Fault::kNone) {
      fail_handle(found.fault, ObjectOf<Handle>::kKind, name);
    }
  });
}

// The inputs of planning and verifying: a problem, and a search space or null.
struct Inputs {
  Inputs(const shardwright_problem* problem_handle, const shardwright_search_space* space_handle)
      : problem(object_of(problem_handle, "problem")),
        space(optional_object_of(space_handle, "space")) {
    if (space && space->shared_problem() != problem) {
      fail(SHARDWRIGHT_INVALID_ARGUMENT, "the search space belongs to another problem", "space");
    }
  }

  std::shared_ptr<const embedding::Problem> problem;
  std::shared_ptr<const embedding::SearchSpace> space;
};

// ---- Structures and buffers

// Copies between a caller's structure (`given`) and this library's version of it (`known`). Members
// that the caller's version lacks become 0. Members that this library lacks must be 0.
void read_bytes(const void* given, std::size_t given_size, void* known, std::size_t known_size,
                std::size_t least_size, const char* name);
void write_bytes(const void* known, std::size_t known_size, void* given, std::size_t given_size,
                 std::size_t least_size, const char* name);

// `kLeastSize` is the size of the structure in the first version of the interface.
template <class Struct, std::size_t kLeastSize = sizeof(Struct)>
Struct read_struct(const Struct* given, const char* name) {
  const std::size_t size = required(given, name).struct_size;
  Struct known{};
  read_bytes(given, size, &known, sizeof(known), kLeastSize, name);
  return known;
}

template <class Struct, std::size_t kLeastSize = sizeof(Struct)>
void write_struct(const Struct& known, Struct* given, const char* name) {
  const std::uint32_t size = required(given, name).struct_size;
  Struct written = known;
  written.struct_size = size;
  write_bytes(&written, sizeof(written), given, size, kLeastSize, name);
}

// Copies text into the caller's buffer, by the rules in shardwright.h.
void put_text(std::string_view text, char* buffer, std::size_t capacity, std::size_t* size);

// Throws CallFailure if `needed` elements do not fit into the caller's arrays of `room` elements.
void check_room(std::uint64_t room, std::uint64_t needed, const char* name);

// Sets an element of the caller's array. Does nothing if the array is null.
template <class T, class Value>
void put(T* array, std::uint64_t index, Value value) {
  if (array != nullptr) array[index] = static_cast<T>(value);
}

// Returns the enumerator with this number. Throws CallFailure at `place()` if there is none.
template <class Enum, class Place>
Enum kind_of(std::uint8_t number, const Place& place) {
  if (number >= embedding::EnumNames<Enum>::kNames.size()) {
    fail(SHARDWRIGHT_INVALID_INPUT, "there is no number " + std::to_string(number), place());
  }
  return static_cast<Enum>(number);
}

}  // namespace shardwright::capi
