// The strict JSON layer: values, places, limits.
#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright::json_document_test {

using shardwright::JsonDocument;
using shardwright::JsonMembers;
using shardwright::JsonType;
using shardwright::JsonValue;
using shardwright::JsonWriter;
using shardwright::Result;
using shardwright::Status;

namespace {

std::string error_of(std::string_view text) {
  const Result<JsonDocument> document = JsonDocument::parse(text);
  return document.ok() ? "" : document.error().to_string();
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("json document: values keep their type, order and place") {
  const auto document = JsonDocument::parse(
      R"({"a": [1, -2, 2.5, true, null, "x\n\u00e9"], "b/c~d": {"e": [[], {}, [7]]}})");
  REQUIRE(document.ok());
  const JsonValue root = document->root();
  CHECK(root.pointer().empty());
  REQUIRE(root.size() == 2);
  const JsonValue a = root[0];
  CHECK(a.key() == "a");
  REQUIRE(a.size() == 6);
  CHECK(a[0].integer().value() == 1);
  CHECK(a[1].integer().value() == -2);
  CHECK(a[2].number().value() == 2.5);
  CHECK(a[3].boolean().value());
  CHECK(a[4].is_null());
  CHECK(a[5].string().value() == "x\n\xc3\xa9");
  CHECK(a[5].pointer() == "/a/5");
  const JsonValue seven = root.find("b/c~d")->find("e").value()[2][0];
  CHECK(seven.integer().value() == 7);
  CHECK(seven.pointer() == "/b~1c~0d/e/2/0");
  CHECK(root[1][0][1].pointer() == "/b~1c~0d/e/1");
  CHECK_FALSE(root.find("z").has_value());
}

TEST_CASE("json document: integers are integral and within int64") {
  const auto document = JsonDocument::parse(
      "[512.0, 1e3, 9223372036854775807, -9223372036854775808, 512.5, 9223372036854775808, 1e18, "
      "\"5\"]");
  REQUIRE(document.ok());
  const JsonValue root = document->root();
  CHECK(root[0].integer().value() == 512);
  CHECK(root[1].integer().value() == 1000);
  CHECK(root[2].integer().value() == std::numeric_limits<std::int64_t>::max());
  CHECK(root[3].integer().value() == std::numeric_limits<std::int64_t>::min());
  for (std::size_t i = 4; i < root.size(); ++i) {
    CAPTURE(i);
    const auto wrong = root[i].integer();
    REQUIRE_FALSE(wrong.ok());
    CHECK(wrong.error().where == "/" + std::to_string(i));
    CHECK(wrong.error().message.starts_with("expected an integer"));
  }
  CHECK(root[4].integer().error().message == "expected an integer, found the number 512.5");
  CHECK(root[5].integer().error().message ==
        "expected an integer below 2^63, in digits, found the number 9223372036854775808");
}

TEST_CASE("json document: doubles are read exactly and written in the shortest form") {
  for (const double value : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, 29205613772.0,
                             0.007638750533462235, 1e22, 4503599627370497.5}) {
    const std::string text = shardwright::json_number(value);
    CAPTURE(text);
    const auto document = JsonDocument::parse(text);
    REQUIRE(document.ok());
    CHECK(document->root().type() == JsonType::kFloat);
    CHECK(document->root().number().value() == value);
  }
  CHECK(shardwright::json_number(0.1) == "0.1");
  CHECK(shardwright::json_number(5) == "5.0");
  CHECK(shardwright::json_number(std::numeric_limits<double>::infinity()) == "null");
}

TEST_CASE("json document: text that is not strict JSON is an error with line and column") {
  CHECK(error_of("") == "the input is empty");
  CHECK(error_of(" \n\t") == "the input is empty");
  CHECK(error_of("{\"a\": 1,\n \"b\": }").starts_with("line 2, column 7"));
  for (const char* text : {"{",
                           "[1,",
                           "[1 2]",
                           "{\"a\" 1}",
                           "{a: 1}",
                           "[NaN]",
                           "[Infinity]",
                           "[-Infinity]",
                           "[1e999]",
                           "[01]",
                           "[1.]",
                           "[+1]",
                           "// comment\n[]",
                           "[] /* c */",
                           "[] []",
                           "[\"\\x\"]",
                           "[\"\x01\"]",
                           "[\"\xff\"]",
                           "nul",
                           "hello",
                           "[1,]",
                           "{\"a\":1,}",
                           "'a'"}) {
    CAPTURE(text);
    CHECK(contains(error_of(text), "not valid JSON"));
    CHECK(error_of(text).starts_with("line "));
  }
}

TEST_CASE("json document: members whose key begins with // are comments") {
  const auto document = JsonDocument::parse(
      R"({"//": "one", "a": {"// b": [1, {"c": null}], "b": 2}, "//": ["again", -1.5e3, true]})");
  REQUIRE(document.ok());
  REQUIRE(document->root().size() == 1);
  REQUIRE(document->root()[0].size() == 1);
  CHECK(document->root()[0][0].key() == "b");
  CHECK(document->root()[0][0].pointer() == "/a/b");
  CHECK(JsonDocument::parse(R"({"//": 1})")->root().size() == 0);
  CHECK(JsonDocument::parse(R"({"/": 1, "a//": 2})")->root().size() == 2);
}

TEST_CASE("json document: a comment is JSON, too") {
  for (const char* text :
       {R"({"//": })", R"({"//": nul})", R"({"//": [1, ]})", R"({"//": {"a" 1}})", R"({"//": "x)",
        R"({"//": [01]})", R"({"//": 1 "a": 2})"}) {
    CAPTURE(text);
    CHECK(contains(error_of(text), "not valid JSON"));
  }
  std::string deep, nested;
  for (int i = 0; i < 100; ++i) {
    deep += R"({"//": [)";
    nested += "[";
  }
  CHECK(contains(error_of(deep), "a comment is nested more than 64 levels deep"));
  CHECK(contains(error_of(R"({"//": )" + nested), "a comment is nested more than 64 levels deep"));
}

TEST_CASE("json document: whole numbers up to 2^64 - 1") {
  const auto numbers =
      JsonDocument::parse("[18446744073709551615, 0, 7.0, -1, 18446744073709551616]");
  REQUIRE(numbers.ok());
  const JsonValue root = numbers->root();
  CHECK(root[0].natural().value() == std::numeric_limits<std::uint64_t>::max());
  CHECK(root[1].natural().value() == 0);
  CHECK(root[2].natural().value() == 7);
  CHECK(root[3].natural().error().to_string() ==
        "/3: expected a whole number from 0 to 2^64 - 1, found the number -1");
  CHECK_FALSE(root[4].natural().ok());
}

TEST_CASE("json document: errors say what was probably meant") {
  for (const auto& example : std::initializer_list<std::pair<const char*, const char*>>{
           {"name,rows\na,3", "expected '{' (other formats"},
           {"\n tables:\n  - a", "line 2, column 2: not valid JSON: expected '{' (other"},
           {"[NaN]", "JSON has no NaN, found 'N'"},
           {"[Infinity]", "JSON has no Infinity"},
           {"[True]", "write true for True"},
           {R"({"a": None})", "write null for None"},
           {"[nul]", "a text needs quotes: \"nul\""},
           {R"({"a": FP16, "b": 1})", "a text needs quotes: \"FP16\""},
           {"[]]", "expected the end of the text"},
           {"[,]", "expected a value"}}) {
    const std::string_view text = example.first, meant = example.second;
    CAPTURE(text);
    CHECK_MESSAGE(contains(error_of(text), meant), error_of(text));
  }
}

TEST_CASE("json document: numbers as texts are refused with the number to write") {
  const auto document =
      JsonDocument::parse(R"(["80GiB", "1.5 KB", "5%", "16", "many", "", [], "-3%"])");
  REQUIRE(document.ok());
  const auto integer = [&](std::size_t i) {
    return document->root()[i].integer().error().to_string();
  };
  CHECK(integer(0) ==
        "/0: expected an integer, found the text \"80GiB\"; in bytes that is 85899345920");
  CHECK(integer(1) == "/1: expected an integer, found the text \"1.5 KB\"; in bytes that is 1500");
  CHECK(integer(3) == "/3: expected an integer, found the text \"16\"; write it without quotes");
  CHECK(integer(4) == "/4: expected an integer, found the text \"many\"");
  CHECK(integer(5) == "/5: expected an integer, found the text \"\"");
  CHECK(integer(6) == "/6: expected an integer, found an empty list");
  const auto number = [&](std::size_t i) {
    return document->root()[i].number().error().to_string();
  };
  CHECK(number(2) == "/2: expected a number, found the text \"5%\"; write 0.05");
  CHECK(number(7) == "/7: expected a number, found the text \"-3%\"; write -0.03");
}

TEST_CASE("json document: a key that occurs twice is an error with its place") {
  CHECK(error_of(R"({"a": [0, {"b": 1, "c": 2, "b": 3}]})") ==
        "/a/1/b: the key \"b\" occurs twice");
  CHECK(error_of(R"({"a": 1, "a": 1})") == "/a: the key \"a\" occurs twice");
  // The same key may be in several objects, nested or not.
  CHECK(error_of(R"({"a": {"a": {"a": 1}}, "b": [{"a": 1}, {"a": 2}]})").empty());
}

TEST_CASE("json document: nesting is limited for texts of any depth") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  CHECK(error_of(nested(64)).empty());
  CHECK(contains(error_of(nested(65)), "nested more than 64 levels deep"));
  CHECK(contains(error_of(std::string(2'000'000, '[')), "nested more than 64 levels deep"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i)
    objects += "{\"a\":";
  CHECK(error_of(objects).starts_with("/a/a/a/"));
}

TEST_CASE("json reader: unknown keys name the nearest known key") {
  const auto document = JsonDocument::parse(R"({"worldsize": 8})");
  REQUIRE(document.ok());
  std::int64_t world_size = 0;
  std::int64_t batch_size = 3;
  const Status status = JsonMembers(document->root())
                            .optional("world_size", world_size)
                            .optional("batch_size", batch_size)
                            .finish();
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().to_string() ==
        "/worldsize: unknown key \"worldsize\"; did you mean \"world_size\"?");
  CHECK(batch_size == 3);
}

TEST_CASE("json document: a NUL byte does not end the text") {
  const std::string text = std::string("{}") + '\0' + "garbage";
  const auto document = JsonDocument::parse(text);
  REQUIRE_FALSE(document.ok());
  CHECK(document.error().where == "byte 3");
}

TEST_CASE("json reader: the first error is kept, and missing keys are named") {
  const auto document = JsonDocument::parse(R"({"a": "x", "b": 1.5})");
  REQUIRE(document.ok());
  std::int64_t number = 0;
  const Status wrong =
      JsonMembers(document->root()).required("a", number).required("b", number).finish();
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().to_string() == "/a: expected an integer, found the text \"x\"");
  const Status missing =
      JsonMembers(document->root()).required("c", number).ignore({"a", "b"}).finish();
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().message == "the key \"c\" is missing");
  CHECK(number == 0);
}

TEST_CASE(
    "json reader: an unknown key is reported before a missing key, which it may be a misspelling "
    "of") {
  const auto document = JsonDocument::parse(R"({"rovs": 3})");
  REQUIRE(document.ok());
  std::int64_t rows = 0;
  const Status status = JsonMembers(document->root()).required("rows", rows).finish();
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().message == "unknown key \"rovs\"; did you mean \"rows\"?");
}

TEST_CASE("json writer: escapes, nests and breaks lines") {
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; });
  json.begin_object().member("a\"\\", std::string("x\ty\n")).key("list").begin_array();
  json.new_line().value(1).new_line().value(2.0).new_line().end_array();
  json.member("none", std::optional<double>()).member("yes", true).end_object().finish();
  CHECK(text ==
        "{\"a\\\"\\\\\":\"x\\u0009y\\n\",\"list\":[\n1,\n2.0\n],\"none\":null,\"yes\":true}\n");
  const auto document = JsonDocument::parse(text);
  REQUIRE(document.ok());
  CHECK(document->root()[0].key() == "a\"\\");
  CHECK(document->root()[0].string().value() == "x\ty\n");
}

TEST_CASE("json writer: arrays of numbers of every length, longer than a piece") {
  std::vector<std::uint32_t> numbers{0, 9, 10, 99, 100, 999, 1000, 9999, 10'000, 4'294'967'295};
  for (std::uint32_t i = 0; i < 30'000; ++i)
    numbers.push_back(i * 143'165);
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; });
  json.begin_object().key("none").numbers({}).key("many").numbers(numbers).end_object().finish();
  CHECK(text.starts_with(
      R"({"none":[],"many":[0,9,10,99,100,999,1000,9999,10000,4294967295,0,143165,)"));
  const auto document = JsonDocument::parse(text);
  REQUIRE(document.ok());
  const JsonValue many = document->root()[1];
  REQUIRE(many.size() == numbers.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    wrong += many[i].integer().value() != numbers[i] ? 1U : 0U;
  CHECK(wrong == 0);
}

}  // namespace shardwright::json_document_test
