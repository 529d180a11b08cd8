// Errors as values: a sentence that says what is wrong, and the place in the input.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "core/check.h"

namespace shardwright {

enum class ErrorCode {
  kInvalidInput,        // the caller's data or options are wrong; `where` says which
  kInfeasible,          // the request is well formed, but no solution exists
  kStopped,             // the budget was spent before a solution was found
  kVerificationFailed,  // an answer does not have the values or properties that it states
  kUnsupported,         // the request is valid, but this build or mode cannot do it
  kMachineLimit,        // memory, threads or disk space ran out
};

// `message` is one sentence for the user, without the place. `where` is the place in the input: a
// JSON pointer such as `/tables/3/num_embeddings`, a file, or a member of a request such as
// `time_limit`. Empty without a place. Messages write members in braces.
// Thread safety: a value.
struct Error {
  ErrorCode code = ErrorCode::kInvalidInput;
  std::string message;
  std::string where;

  // "where: message", as the command prints it.
  std::string to_string() const { return where.empty() ? message : where + ": " + message; }
};

inline Error invalid_input(std::string where, std::string message) {
  return Error{ErrorCode::kInvalidInput, std::move(message), std::move(where)};
}

// Returns a name in quotes, as error messages show it.
inline std::string quoted(const std::string& name) { return "\"" + name + "\""; }

// Either a T or an Error. Accessing the alternative that is absent aborts the program.
// Thread safety: a value.
template <class T>
class [[nodiscard]] Result {
 public:
  // Implicit, so that a function can `return value;` or `return error;`.
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const T& value() const& {
    SHARDWRIGHT_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    SHARDWRIGHT_CHECK(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    SHARDWRIGHT_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

// Either success or an Error.
// Thread safety: a value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  Status(Error error) : failed_(true), error_(std::move(error)) {}

  bool ok() const { return !failed_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    SHARDWRIGHT_CHECK(failed_);
    return error_;
  }

 private:
  bool failed_ = false;
  Error error_;
};

}  // namespace shardwright

#define SHARDWRIGHT_CONCAT_INNER(a, b) a##b
#define SHARDWRIGHT_CONCAT(a, b) SHARDWRIGHT_CONCAT_INNER(a, b)

// Evaluates a Status or Result expression and returns its error from the enclosing function.
#define SHARDWRIGHT_RETURN_IF_ERROR(expression)                      \
  do {                                                               \
    auto&& shardwright_status = (expression);                        \
    if (!shardwright_status.ok()) return shardwright_status.error(); \
  } while (false)

// Declares `declaration` from the value of a Result, or returns its error from the function.
#define SHARDWRIGHT_ASSIGN_OR_RETURN(declaration, expression)                          \
  SHARDWRIGHT_ASSIGN_OR_RETURN_IMPL(SHARDWRIGHT_CONCAT(shardwright_result_, __LINE__), \
                                    declaration, expression)
#define SHARDWRIGHT_ASSIGN_OR_RETURN_IMPL(result, declaration, expression) \
  auto result = (expression);                                              \
  if (!result.ok()) return result.error();                                 \
  declaration = std::move(result).value()
