// Helpers for tests of shardwright_ask().
#pragma once

#include <string>

#include "runtime/capi/shardwright.h"
#include "tests/runtime/capi/handles.h"

namespace shardwright::test_support {

// The answer to a request; the destructor releases its handle.
class Asked {
 public:
  Asked(const char* command, const std::string& request,
        const shardwright_ask_options* options = nullptr)
      : status_(shardwright_ask(command, request.data(), request.size(), options, &answer_)) {}
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  ~Asked() {
    if (answer_ != nullptr) CHECK_OK(shardwright_answer_destroy(answer_));
  }

  shardwright_status status() const { return status_; }
  shardwright_outcome outcome() const {
    shardwright_outcome found = -1;
    REQUIRE_OK(shardwright_answer_summary(answer_, &found, nullptr));
    return found;
  }
  std::string json() const {
    return text([&](char* buffer, std::size_t capacity, std::size_t* size) {
      return shardwright_answer_to_json(answer_, buffer, capacity, size);
    });
  }
  std::string report() const {
    return text([&](char* buffer, std::size_t capacity, std::size_t* size) {
      return shardwright_answer_to_text(answer_, 0, buffer, capacity, size);
    });
  }
  std::string page() const {
    return text([&](char* buffer, std::size_t capacity, std::size_t* size) {
      return shardwright_answer_to_html(answer_, buffer, capacity, size);
    });
  }

 private:
  template <class Write>
  static std::string text(const Write& write) {
    std::size_t size = 0;
    REQUIRE_OK(write(nullptr, 0, &size));
    std::string found(size + 1, '\0');
    REQUIRE_OK(write(found.data(), found.size(), &size));
    found.resize(size);
    return found;
  }

  shardwright_answer* answer_ = nullptr;
  shardwright_status status_;
};

}  // namespace shardwright::test_support
