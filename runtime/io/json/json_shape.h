// What a JSON value may be, as a tree, and the JSON Schema that says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardwright {

struct JsonMember;

// Thread safety: a value.
struct JsonShape {
  enum class Type : std::uint8_t {
    kAny,
    kNotRead,  // any value; ignored
    kBoolean,
    kInteger,
    kNumber,
    kText,
    kList,
    kTuple,  // a list whose elements have shapes of their own
    kObject,
    kOneOf,
    kDefined,  // the shape with the name `words[0]`, which stands around this one
  };

  Type type = Type::kAny;
  bool nullable = false;
  // An object may have other members. A tuple may go on: the last shape is that of the rest.
  bool is_open = false;
  bool distinct = false;           // of a list: no value twice
  std::string help;                // what the value means, in a sentence
  std::string preset;              // the value of a member that is left out, as JSON
  std::string pattern;             // a regular expression, of a text or of the keys of `inner`
  std::vector<std::string> words;  // of a text: all that it may be; empty = any. Of kObject: keys
  std::optional<double> least, most;  // of a number, or of the length of a list
  std::string defines;                // the name by which inner shapes refer to this one
  // Of kList: its element. Of kTuple and kOneOf: one shape each. Of kObject: if given, the value of
  // every key, which is a name, beside `members`.
  std::vector<JsonShape> inner;
  std::vector<JsonMember> members;          // of an object
  std::vector<std::string> one_of_members;  // of an object: it has at least one of them

  JsonShape says(std::string_view what) &&;
  JsonShape or_null() &&;
  JsonShape from(double number) &&;
  JsonShape up_to(double number) &&;
  JsonShape each_once() &&;
  JsonShape open() &&;
  JsonShape with_one_of(std::initializer_list<std::string_view> keys) &&;
  JsonShape like(std::string_view expression) &&;
  JsonShape with_keys(std::span<const std::string_view> names) &&;
  JsonShape named(std::string_view name) &&;
};

struct JsonMember {
  std::string key;
  JsonShape shape;
  bool required = false;
};

namespace json {

JsonShape any();
JsonShape not_read();
JsonShape boolean();
JsonShape integer();
JsonShape natural();  // an integer from 0 on
JsonShape number();
JsonShape text();
JsonShape one_word(std::span<const std::string_view> words);
JsonShape one_word(std::initializer_list<std::string_view> words);
JsonShape list(JsonShape element);
JsonShape tuple(std::vector<JsonShape> elements);
JsonShape by_name(JsonShape value);  // an object whose keys are names
JsonShape object(std::vector<JsonMember> members);
JsonShape one_of(std::vector<JsonShape> shapes);
JsonShape defined(std::string_view name);

}  // namespace json

// Returns the shape of what a writer writes: without the nulls that only readers know, which stand
// for lists and for members that are left out.
JsonShape as_written(JsonShape shape);

// Returns a JSON Schema of draft 2020-12. Objects have no other members than comments, whose keys
// begin with "//".
std::string json_schema(const JsonShape& shape, std::string_view title);

}  // namespace shardwright
