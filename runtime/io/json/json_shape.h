// The form that a JSON value may have, as a tree, and the JSON Schema of that form.
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
    kNotRead,  // any value; the reader ignores it
    kBoolean,
    kInteger,
    kNumber,
    kText,
    kList,
    kTuple,  // a list with a shape for each element
    kObject,
    kOneOf,
    kDefined,  // the enclosing shape with the name `words[0]`
  };

  Type type = Type::kAny;
  bool nullable = false;
  // An object may have other members; a tuple may go on, and its last shape holds for the rest.
  bool is_open = false;
  bool distinct = false;              // list without equal values
  std::string help;                   // meaning of the value, in a sentence
  std::string preset;                 // JSON of an absent member's default
  std::string pattern;                // regular expression for a text, or for the keys of `inner`
  std::vector<std::string> words;     // of a text: the allowed words, empty = any; of kObject: keys
  std::optional<double> least, most;  // limits of a number, or of a list's length
  std::string defines;                // name that inner shapes of kind kDefined use
  // Of kList: the element. Of kTuple and kOneOf: the shapes. Of kObject: the shape of all values
  // whose key is not in `members`; empty if there are none.
  std::vector<JsonShape> inner;
  std::vector<JsonMember> members;          // of an object
  std::vector<std::string> one_of_members;  // of an object: at least one is present

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
JsonShape natural();  // an integer >= 0
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

// Returns the shape of what writers write. Only readers accept null for lists and optional members.
JsonShape as_written(JsonShape shape);

// Returns a JSON Schema (draft 2020-12). Other members of objects must be comments ("//...").
std::string json_schema(const JsonShape& shape, std::string_view title);

}  // namespace shardwright
