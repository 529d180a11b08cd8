#include "runtime/io/json/json_shape.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/io/json/json_members.h"

namespace shardwright {
namespace {

JsonShape of(JsonShape::Type type, std::vector<JsonShape> inner = {}) {
  JsonShape shape;
  shape.type = type;
  shape.inner = std::move(inner);
  return shape;
}

}  // namespace

JsonShape JsonShape::says(std::string_view what) && { return help = what, std::move(*this); }
JsonShape JsonShape::or_null() && { return nullable = true, std::move(*this); }
JsonShape JsonShape::from(double number) && { return least = number, std::move(*this); }
JsonShape JsonShape::up_to(double number) && { return most = number, std::move(*this); }
JsonShape JsonShape::each_once() && { return distinct = true, std::move(*this); }
JsonShape JsonShape::open() && { return is_open = true, std::move(*this); }
JsonShape JsonShape::like(std::string_view expression) && {
  return pattern = expression, std::move(*this);
}
JsonShape JsonShape::named(std::string_view name) && { return defines = name, std::move(*this); }
JsonShape JsonShape::with_keys(std::span<const std::string_view> names) && {
  words.assign(names.begin(), names.end());
  return std::move(*this);
}

JsonShape JsonShape::with_one_of(std::initializer_list<std::string_view> keys) && {
  one_of_members.assign(keys.begin(), keys.end());
  return std::move(*this);
}

namespace json {

JsonShape any() { return of(JsonShape::Type::kAny); }
JsonShape not_read() { return of(JsonShape::Type::kNotRead); }
JsonShape boolean() { return of(JsonShape::Type::kBoolean); }
JsonShape integer() { return of(JsonShape::Type::kInteger); }
JsonShape natural() { return integer().from(0); }
JsonShape number() { return of(JsonShape::Type::kNumber); }
JsonShape text() { return of(JsonShape::Type::kText); }

JsonShape one_word(std::span<const std::string_view> words) { return text().with_keys(words); }
JsonShape one_word(std::initializer_list<std::string_view> words) {
  return one_word(std::span(words.begin(), words.size()));
}

JsonShape list(JsonShape element) { return of(JsonShape::Type::kList, {std::move(element)}); }
JsonShape tuple(std::vector<JsonShape> elements) {
  return of(JsonShape::Type::kTuple, std::move(elements));
}
JsonShape by_name(JsonShape value) { return of(JsonShape::Type::kObject, {std::move(value)}); }
JsonShape object(std::vector<JsonMember> members) {
  JsonShape shape = of(JsonShape::Type::kObject);
  shape.members = std::move(members);
  return shape;
}
JsonShape one_of(std::vector<JsonShape> shapes) {
  return of(JsonShape::Type::kOneOf, std::move(shapes));
}
JsonShape defined(std::string_view name) {
  JsonShape shape = of(JsonShape::Type::kDefined);
  shape.words.emplace_back(name);
  return shape;
}

}  // namespace json

JsonShape as_written(JsonShape shape) {
  if (shape.type == JsonShape::Type::kList) shape.nullable = false;
  for (JsonShape& inner : shape.inner)
    inner = as_written(std::move(inner));
  for (JsonMember& member : shape.members) {
    member.shape = as_written(std::move(member.shape));
    if (!member.required) member.shape.nullable = false;
  }
  return shape;
}

namespace {

// A part of a schema: a text, or members or elements in brackets. Long parts are broken into lines.
struct Piece {
  std::string text;  // precedes the bracket: "\"items\": "
  char open = 0;     // '{', '[', or 0 for no brackets
  std::vector<Piece> inner;

  std::string in_a_line() const;
  void write(std::size_t depth, std::string& out) const;
};

std::string quoted(std::string_view text) { return json_text(text); }

std::string Piece::in_a_line() const {
  if (open == 0) return text;
  std::string out = text + open;
  for (const Piece& piece : inner)
    out += (out.back() == open ? "" : ", ") + piece.in_a_line();
  return out + (open == '{' ? '}' : ']');
}

void Piece::write(std::size_t depth, std::string& out) const {
  constexpr std::size_t kLine = 118;
  const std::string line = in_a_line();
  if (open == 0 || (depth > 0 && depth + line.size() <= kLine)) {
    out += line;
    return;
  }
  out += text + open;
  std::size_t column = kLine;  // of the last line of words
  for (std::size_t i = 0; i < inner.size(); ++i) {
    const bool is_word = open == '[' && inner[i].open == 0;
    column += inner[i].text.size() + 2;
    if (is_word && column < kLine) {
      out += ", ";
    } else {
      out += (i == 0 ? "\n" : ",\n") + std::string(depth + 1, ' ');
      column = is_word ? depth + 1 + inner[i].text.size() : kLine;
    }
    inner[i].write(depth + 1, out);
  }
  out += "\n" + std::string(depth, ' ') + (open == '{' ? '}' : ']');
}

// Returns the text with the letters A to Z in lower case. Readers of files ignore the case of
// words, so an enum of a schema also lists each word in lower case.
std::string lower_case(std::string text) {
  for (char& c : text)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

Piece word(std::string text) { return {std::move(text), 0, {}}; }
Piece key(std::string_view name, std::string value) {
  return word(quoted(name) + ": " + std::move(value));
}
Piece group(std::string_view name, char open, std::vector<Piece> inner = {}) {
  return {quoted(name) + ": ", open, std::move(inner)};
}

std::string number_text(double number) {
  return number == std::floor(number) && std::abs(number) < 1e15
             ? std::to_string(static_cast<long long>(number))
             : json_number(number);
}

class SchemaWriter {
 public:
  std::string write(const JsonShape& shape, std::string_view title) {
    Piece whole{"", '{', {}};
    whole.inner = {key("$schema", quoted("https://json-schema.org/draft/2020-12/schema")),
                   key("title", quoted(title))};
    for (Piece& piece : pieces(shape))
      whole.inner.push_back(std::move(piece));
    if (!defined_.empty()) whole.inner.push_back(group("$defs", '{', std::move(defined_)));
    std::string text;
    whole.write(0, text);
    return text + "\n";
  }

 private:
  Piece brackets(const JsonShape& shape) { return {"", '{', pieces(shape)}; }

  // Returns `"type": "integer"`, or `"type": ["integer", "null"]`.
  static Piece type(std::string_view name, bool nullable) {
    return nullable ? key("type", "[" + quoted(name) + ", \"null\"]") : key("type", quoted(name));
  }

  void add_limits(const JsonShape& shape, std::string_view least, std::string_view most,
                  std::vector<Piece>& out) {
    if (shape.least) out.push_back(key(least, number_text(*shape.least)));
    if (shape.most) out.push_back(key(most, number_text(*shape.most)));
  }

  void add_words(const JsonShape& shape, std::vector<Piece>& out) {
    if (shape.words.size() == 1 && !shape.nullable) {
      out.push_back(key("const", quoted(shape.words.front())));
      return;
    }
    Piece words = group("enum", '[');
    for (const std::string& text : shape.words)
      words.inner.push_back(word(quoted(text)));
    for (const std::string& text : shape.words) {
      if (const std::string lower = lower_case(text); lower != text)
        words.inner.push_back(word(quoted(lower)));
    }
    if (shape.nullable) words.inner.push_back(word("null"));
    out.push_back(std::move(words));
  }

  void add_members(const JsonShape& shape, std::vector<Piece>& out) {
    if (!shape.words.empty()) {
      Piece names = group("enum", '[');
      for (const std::string& text : shape.words)
        names.inner.push_back(word(quoted(text)));
      out.push_back(group("propertyNames", '{', {std::move(names)}));
    }
    if (shape.inner.empty() || !shape.members.empty()) {
      Piece members = group("properties", '{');
      Piece required = group("required", '[');
      for (const JsonMember& member : shape.members) {
        members.inner.push_back({quoted(member.key) + ": ", '{', pieces(member.shape)});
        if (member.required) required.inner.push_back(word(quoted(member.key)));
      }
      out.push_back(std::move(members));
      if (!required.inner.empty()) out.push_back(std::move(required));
    }
    Piece one_of = group("anyOf", '[');
    for (const std::string& member : shape.one_of_members)
      one_of.inner.push_back(word("{\"required\": [" + quoted(member) + "]}"));
    if (!one_of.inner.empty()) out.push_back(std::move(one_of));
    if (shape.is_open) return;
    Piece by_pattern = group("patternProperties", '{', {key("^//", "true")});
    if (!shape.pattern.empty())
      by_pattern.inner.push_back({quoted(shape.pattern) + ": ", '{', pieces(shape.inner.front())});
    out.push_back(std::move(by_pattern));
    const bool any_name = !shape.inner.empty() && shape.pattern.empty();
    out.push_back(
        any_name ? Piece{quoted("additionalProperties") + ": ", '{', pieces(shape.inner.front())}
                 : key("additionalProperties", "false"));
  }

  void add_list(const JsonShape& shape, std::vector<Piece>& out) {
    if (shape.type == JsonShape::Type::kList) {
      out.push_back({quoted("items") + ": ", '{', pieces(shape.inner.front())});
      add_limits(shape, "minItems", "maxItems", out);
      if (shape.distinct) out.push_back(key("uniqueItems", std::string("true")));
      return;
    }
    Piece elements = group("prefixItems", '[');
    const std::size_t count = shape.inner.size() - (shape.is_open ? 1 : 0);
    for (std::size_t i = 0; i < count; ++i)
      elements.inner.push_back(brackets(shape.inner[i]));
    out.push_back(std::move(elements));
    out.push_back(shape.is_open ? Piece{quoted("items") + ": ", '{', pieces(shape.inner.back())}
                                : key("items", "false"));
    out.push_back(key("minItems", std::to_string(count)));
  }

  void add_alternatives(const JsonShape& shape, std::vector<Piece>& out) {
    Piece alternatives = group("anyOf", '[');
    for (const JsonShape& one : shape.inner)
      alternatives.inner.push_back(brackets(one));
    if (shape.nullable) alternatives.inner.push_back(word("{\"type\": \"null\"}"));
    out.push_back(std::move(alternatives));
  }

  std::vector<Piece> pieces(const JsonShape& shape) {
    if (!shape.defines.empty()) return define(shape);
    std::vector<Piece> out;
    if (!shape.help.empty()) out.push_back(key("description", quoted(shape.help)));
    switch (shape.type) {
      case JsonShape::Type::kAny:
        break;
      case JsonShape::Type::kNotRead:
        out.push_back(key("$comment", quoted("not read")));
        break;
      case JsonShape::Type::kBoolean:
        out.push_back(type("boolean", shape.nullable));
        break;
      case JsonShape::Type::kInteger:
      case JsonShape::Type::kNumber:
        out.push_back(
            type(shape.type == JsonShape::Type::kInteger ? "integer" : "number", shape.nullable));
        add_limits(shape, "minimum", "maximum", out);
        break;
      case JsonShape::Type::kText:
        shape.words.empty() ? out.push_back(type("string", shape.nullable)) : add_words(shape, out);
        if (!shape.pattern.empty()) out.push_back(key("pattern", quoted(shape.pattern)));
        break;
      case JsonShape::Type::kList:
      case JsonShape::Type::kTuple:
        out.push_back(type("array", shape.nullable));
        add_list(shape, out);
        break;
      case JsonShape::Type::kObject:
        out.push_back(type("object", shape.nullable));
        add_members(shape, out);
        break;
      case JsonShape::Type::kOneOf:
        add_alternatives(shape, out);
        break;
      case JsonShape::Type::kDefined:
        out.push_back(key("$ref", quoted("#/$defs/" + shape.words.front())));
        break;
    }
    if (!shape.preset.empty()) out.push_back(key("default", shape.preset));
    return out;
  }

  // Shapes that define the same name are equal, so the first one is kept.
  std::vector<Piece> define(const JsonShape& shape) {
    JsonShape plain = shape;
    plain.defines.clear();
    Piece own{quoted(shape.defines) + ": ", '{', {}};
    const bool known = std::any_of(defined_.begin(), defined_.end(),
                                   [&](const Piece& piece) { return piece.text == own.text; });
    if (!known) {
      own.inner = pieces(plain);
      defined_.push_back(std::move(own));
    }
    return pieces(json::defined(shape.defines));
  }

  std::vector<Piece> defined_;
};

}  // namespace

std::string json_schema(const JsonShape& shape, std::string_view title) {
  return SchemaWriter().write(shape, title);
}

}  // namespace shardwright
