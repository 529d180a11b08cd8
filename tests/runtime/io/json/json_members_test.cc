// The description of a value defines its reader, its writer and its schema.
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_members.h"

namespace shardwright::json_members_test {

enum class Colour : std::uint8_t { kRed, kBlue };

constexpr std::array<std::string_view, 2> kColours{"Red", "Blue"};

static std::span<const std::string_view> names_of(Colour) { return kColours; }
static std::string_view what_of(Colour) { return "colour"; }

struct Wheel {
  std::int64_t spokes = 0;
};

struct Cart {
  std::string name;
  double weight = 2.5;
  Colour colour = Colour::kBlue;
  std::vector<Wheel> wheels;
  std::optional<Wheel> spare;
};

static void describe(JsonMembers& members, Wheel& wheel) {
  members.required("spokes", wheel.spokes, "How many.").ignore({"note"});
}

static void describe(JsonMembers& members, Cart& cart) {
  members.required("name", cart.name)
      .optional("weight", cart.weight, "Tonnes.")
      .optional("colour", cart.colour)
      .filled("wheels", cart.wheels)
      .optional("spare", cart.spare);
}

namespace {

Status read(std::string_view text, Cart& cart) {
  const JsonDocument document = JsonDocument::parse(text).value();
  return read_value(document.root(), cart);
}

TEST_CASE("json members: a description reads what is given and keeps the rest") {
  Cart cart;
  REQUIRE(
      read(R"({"name": "a", "colour": "red", "wheels": [{"spokes": 8, "note": 1}], "spare": null})",
           cart)
          .ok());
  CHECK(cart.name == "a");
  CHECK(cart.weight == 2.5);
  CHECK(cart.colour == Colour::kRed);
  REQUIRE(cart.wheels.size() == 1);
  CHECK(cart.wheels[0].spokes == 8);
  CHECK(!cart.spare);
}

TEST_CASE("json members: errors of inner values name their place") {
  const auto error = [](std::string_view text) {
    Cart cart;
    return read(text, cart).error().to_string();
  };
  CHECK(error(R"({"name": "a", "wheels": [{"spokes": 8}, {"spoke": 1}]})") ==
        "/wheels/1/spoke: unknown key \"spoke\"; did you mean \"spokes\"?");
  CHECK(error(R"({"name": "a", "wheels": []})") == "/wheels: the list is empty; leave it out");
  CHECK(error(R"({"name": "a", "colour": "bleu"})") ==
        "/colour: unknown colour \"bleu\"; did you mean \"Blue\"?");
  CHECK(error(R"({"weight": 1})").find("the key \"name\" is missing") != std::string::npos);
}

TEST_CASE("json members: a description writes members in order, without empty optional ones") {
  Cart cart;
  cart.name = "b";
  cart.spare = Wheel{4};
  CHECK(json_text(cart.spare) == R"({"spokes":4})");
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; });
  write_by(json, [&](JsonMembers& members) {
    members.required("spare", cart.spare).optional("weight", cart.weight);
    cart.spare.reset();
    members.optional("none", cart.spare).required("empty", cart.spare);
  });
  json.finish();
  CHECK(text == "{\"spare\":{\"spokes\":4},\"weight\":2.5,\"empty\":null}\n");
}

TEST_CASE("json members: a description has a schema that is closed and knows defaults") {
  const std::string schema = json_schema(shape_of(Cart()).says("A cart."), "Cart");
  const JsonDocument document = JsonDocument::parse(schema).value();
  const JsonValue root = document.root();
  CHECK(*root.find("title")->string() == "Cart");
  CHECK(*root.find("description")->string() == "A cart.");
  CHECK(*root.find("additionalProperties")->boolean() == false);
  CHECK(root.find("required")->size() == 1);
  const JsonValue members = *root.find("properties");
  CHECK(*members.find("weight")->find("default")->number() == 2.5);
  CHECK(*members.find("weight")->find("description")->string() == "Tonnes.");
  CHECK(*members.find("colour")->find("default")->string() == "Blue");
  CHECK(members.find("colour")->find("enum")->size() == 4);  // upper and lower case
  const JsonValue wheels = *members.find("wheels");
  CHECK(*wheels.find("minItems")->integer() == 1);
  CHECK(wheels.find("items")->find("properties")->find("note")->find("$comment").has_value());
}

}  // namespace
}  // namespace shardwright::json_members_test
