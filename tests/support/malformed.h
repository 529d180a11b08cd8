// Checks that files with one error each cause the right messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "runtime/io/file.h"

namespace shardwright::test_support {

// One change that makes a well-formed document malformed.
struct Malformed {
  const char* place;     // JSON pointer of the changed member
  const char* value;     // its new value as JSON; "-" removes the member
  const char* expected;  // the beginning of the error message
};

inline nlohmann::json golden_json(const std::string& path) {
  const auto text = read_file("tests/golden/" + path + ".json.gz");
  REQUIRE_MESSAGE(text.ok(), path);
  return nlohmann::json::parse(*text);
}

inline std::string changed(nlohmann::json document, const Malformed& change) {
  const nlohmann::json::json_pointer place(change.place);
  if (std::string_view(change.value) == "-") {
    document.at(place.parent_pointer()).erase(place.back());
  } else {
    document[place] = nlohmann::json::parse(change.value);
  }
  return document.dump();
}

// Checks that `base` is accepted and every change refused. `error_of` reads a text and returns the
// error message, or "" if there is none.
template <class ErrorOf>
void check_malformed(const nlohmann::json& base, const ErrorOf& error_of,
                     const std::vector<Malformed>& changes) {
  const std::string none = error_of(base.dump());
  CHECK_MESSAGE(none.empty(), none);
  for (const Malformed& change : changes) {
    CAPTURE(change.place);
    CAPTURE(change.value);
    const std::string error = error_of(changed(base, change));
    CHECK_MESSAGE(error.starts_with(change.expected), error);
    CHECK(error.find('\n') == std::string::npos);
  }
}

// Checks that a reader refuses texts that are not JSON, without crashing.
template <class ErrorOf>
void check_no_json(const ErrorOf& error_of) {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("nul"), std::string(1, '\0'),
        std::string("{} x"), std::string("[1,]"), std::string("\xff\xfe"),
        std::string(100'000, '['), std::string(100'000, '{')}) {
    const std::string error = error_of(text);
    CHECK_FALSE(error.empty());
    CHECK(error.find('\n') == std::string::npos);
  }
}

}  // namespace shardwright::test_support
