// SPDX-License-Identifier: Apache-2.0
#include "sim/record/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

enum class Colour { red, green };
constexpr std::array kColourNames{EnumName{Colour::red, "red"}, EnumName{Colour::green, "green"}};

struct Wheel {
  int spokes = 0;
  bool operator==(const Wheel&) const = default;
};
struct Cart {
  std::string name{};
  int width = 3;
  int length = 0;  // default: twice the width
  Colour colour = Colour::red;
  Seconds delay{};
  bool motor = false;
  double power = 0.0;  // of a motor
  std::vector<Wheel> wheels{};
  bool operator==(const Cart&) const = default;
};

const Record<Wheel>& wheel_record() {
  return described([](Record<Wheel>& r) {
    r.about("A wheel.");
    r.row<&Wheel::spokes>(IntRange{1, 99}, "Spokes.").required();
  });
}

const Record<Cart>& cart_record() {
  return described([](Record<Cart>& r) {
    r.about("A cart.");
    r.file_of({"test.cart/2", "test.cart/1"}, true);
    r.row<&Cart::name>("Name.").required();
    r.unread("source", kind::text().schema(), "Who built it.");
    r.row<&Cart::width>(IntRange{1, 10}, "Width.");
    r.row<&Cart::length>(IntRange{1, 100}, "Length; default: twice the width.");
    r.default_from([](Cart& cart) { cart.length = 2 * cart.width; });
    r.row<&Cart::colour>(kColourNames, "Colour.").omitted_at_default();
    r.row<&Cart::delay>(kMicroseconds, "Delay.");
    r.row<&Cart::motor>("It has a motor.");
    r.row<&Cart::power>(kAboveZero, "Power of the motor.");
    r.only_if([](const Cart& cart) { return cart.motor; }).required();
    r.check([](const Cart& cart, ObjectReader& reader) {
      if (cart.length < cart.width) reader.fail("length", "must be width or more");
    });
    r.row<&Cart::wheels>(wheel_record, "Wheels.").omitted_at_default();
  });
}

Cart read_cart(const std::string& text) {
  return cart_record().read(Json::parse(text), "cart.json");
}

std::string cart_error(const std::string& text) {
  try {
    read_cart(text);
  } catch (const InputError& error) {
    return std::string(error.what()) + " " + error.hint();
  }
  return "";
}

TEST(Record, WhatAFileDoesNotSayIsTheDefaultOrFollows) {
  const Cart cart = read_cart(R"({"schema": "test.cart/2", "name": "a", "width": 4})");
  EXPECT_EQ(cart.length, 8);
  EXPECT_EQ(cart.colour, Colour::red);
  EXPECT_EQ(read_cart(R"({"schema": "test.cart/1", "name": "a", "length": 7})").length, 7);
}

TEST(Record, WhatIsWrittenIsReadAgain) {
  const Cart cart{.name = "b",
                  .width = 2,
                  .length = 5,
                  .colour = Colour::green,
                  .delay = Seconds(3e-6),
                  .motor = true,
                  .power = 1.5,
                  .wheels = {{8}, {9}}};
  const Json json = cart_record().write(cart);
  EXPECT_EQ(json.dump(),
            R"({"schema":"test.cart/2","name":"b","width":2,"length":5,"colour":"green",)"
            R"("delay_us":3.0,"motor":true,"power":1.5,"wheels":[{"spokes":8},{"spokes":9}]})");
  EXPECT_EQ(cart_record().read(json, "again.json"), cart);
}

TEST(Record, AMemberAtItsDefaultMayBeLeftOut) {
  const Json json = cart_record().write({.name = "c"});
  EXPECT_FALSE(json.contains("colour"));
  EXPECT_FALSE(json.contains("wheels"));
  EXPECT_FALSE(json.contains("power"));  // no motor
  EXPECT_TRUE(json.contains("width"));
}

TEST(Record, ErrorsNameFilePointerValueAndWhatIsAllowed) {
  const std::string head = R"({"schema": "test.cart/2", "name": "a", )";
  EXPECT_THAT(cart_error(head + R"("width": 11})"), HasSubstr("cart.json"));
  EXPECT_THAT(cart_error(head + R"("width": 11})"), HasSubstr("/width"));
  EXPECT_THAT(cart_error(head + R"("width": 11})"),
              HasSubstr("must be an integer from 1 to 10 (got 11)"));
  EXPECT_THAT(cart_error(head + R"("colour": "gren"})"), HasSubstr("green"));
  EXPECT_THAT(cart_error(head + R"("wheels": [{"spokes": 8}, {"spokes": 0}]})"),
              HasSubstr("/wheels/1/spokes"));
  EXPECT_THAT(cart_error(head + R"("delay_us": 1, "delay_seconds": 1})"),
              HasSubstr("is given beside delay_us"));
  EXPECT_THAT(cart_error(head + R"("widht": 2})"), HasSubstr("width"));
  EXPECT_THAT(cart_error(head + R"("width": 9, "length": 2})"), HasSubstr("must be width or more"));
  EXPECT_THAT(cart_error(head + R"("motor": true})"), HasSubstr("is required and missing"));
  EXPECT_THAT(cart_error(head + R"("power": 2})"), HasSubstr("unknown key"));  // no motor
  EXPECT_THAT(cart_error(R"({"schema": "test.cart/2"})"), HasSubstr("/name"));
  EXPECT_THAT(cart_error(R"({"schema": "test.cart/3", "name": "a"})"),
              HasSubstr(R"(is "test.cart/3"; this version reads "test.cart/2")"));
}

TEST(Record, TheSchemaHasARowForEachKeyAndNoOthers) {
  const Json schema = cart_record().schema("cart");
  EXPECT_EQ(schema["title"], "cart");
  EXPECT_EQ(schema["required"], Json::parse(R"(["schema", "name"])"));
  EXPECT_EQ(schema["additionalProperties"], false);
  const Json& rows = schema["properties"];
  EXPECT_EQ(rows["width"], Json::parse(R"({"type": "integer", "minimum": 1, "maximum": 10,
                            "description": "Width."})"));
  EXPECT_EQ(rows["schema"], Json::parse(R"({"enum": ["test.cart/2", "test.cart/1"]})"));
  EXPECT_TRUE(rows.contains("source"));
  EXPECT_TRUE(rows.contains("delay_us") && rows.contains("delay_seconds"));
  EXPECT_EQ(rows["power"]["exclusiveMinimum"], 0.0);
  EXPECT_EQ(rows["wheels"]["items"]["required"], Json::parse(R"(["spokes"])"));
}

TEST(Record, DifferencesAreTheRowsThatDiffer) {
  const Cart a{.name = "a", .width = 2}, b{.name = "a", .width = 3, .wheels = {{8}}};
  const auto found = cart_record().differences(a, b);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].key, "width");
  EXPECT_EQ(found[0].a, 2);
  EXPECT_EQ(found[0].b, 3);
  EXPECT_EQ(found[1].key, "wheels");
  EXPECT_EQ(cart_record().write_beyond(b, a).dump(), R"({"width":3,"wheels":[{"spokes":8}]})");
}

TEST(Record, OverlaidAreTheKeysThatAreSaid) {
  const Cart defaults{.name = "d", .width = 5, .length = 50, .delay = Seconds(1)};
  const Cart given{.name = "g", .width = 7, .length = 1, .delay = Seconds(2)};
  const Cart both = cart_record().overlay(defaults, given, {"name", "width"}, "the launch");
  EXPECT_EQ(both.name, "g");
  EXPECT_EQ(both.width, 7);
  EXPECT_EQ(both.length, 14);  // follows from the width, as in a file that does not say it
  EXPECT_EQ(both.delay, Seconds(1));
  EXPECT_THROW(cart_record().overlay(defaults, given, {"length", "width"}, "the launch"),
               InputError);  // 1 is less than 7
}

// A cart with a number, and what it carries.
struct Load {
  double weight = 0.0;
  std::optional<double> value{};  // null: nobody knows
};
struct Delivery : Wheel {
  bool loaded = false;
  Load load{};
  std::vector<std::pair<std::string, double>> tolls{};
  std::vector<std::vector<double>> places{};
};

const Record<Load>& load_record() {
  return described([](Record<Load>& r) {
    r.about("A load.");
    r.row<&Load::weight>();
    r.row<&Load::value>(nullable(kAnyNumber));
    r.derived<bool>("heavy", kind::flag(), "Above 100.",
                    [](const Load& load) { return load.weight > 100.0; });
    r.named("Load").all_required();
  });
}

const Record<Delivery>& delivery_record() {
  return described([](Record<Delivery>& r) {
    r.about("A delivery.");
    r.rows_of(wheel_record());
    r.row<&Delivery::loaded>();
    r.rows_of(
        load_record(), [](auto& delivery) -> auto& { return delivery.load; },
        [](const Delivery& delivery) { return delivery.loaded; });
    r.row<&Delivery::tolls>(kind::numbers_by_name()).absent_in_older_files();
    r.row<&Delivery::places>(kind::number_rows(2));
    r.all_required();
  });
}

TEST(Record, RowsOfABaseAndOfAPartStandAmongItsOwn) {
  Delivery delivery;
  delivery.spokes = 8;
  delivery.places = {{1.0, 2.5}};
  EXPECT_EQ(delivery_record().write(delivery).dump(),
            R"({"spokes":8,"loaded":false,"tolls":{},"places":[[1.0,2.5]]})");
  delivery.loaded = true;
  delivery.load.weight = 120.0;
  delivery.tolls = {{"north", 2.0}, {"bridge", 1.0}};
  const Json json = delivery_record().write(delivery);
  EXPECT_EQ(json.dump(), R"({"spokes":8,"loaded":true,"weight":120.0,"value":null,"heavy":true,)"
                         R"("tolls":{"north":2.0,"bridge":1.0},"places":[[1.0,2.5]]})");
  const Delivery read = delivery_record().read(json, "d.json");
  EXPECT_EQ(delivery_record().write(read), json);
  EXPECT_FALSE(read.load.value.has_value());
}

TEST(Record, ARowThatIsAlwaysWrittenIsAskedForUnlessOlderFilesLackIt) {
  const auto error_of_json = [](const std::string& text) {
    try {
      (void)delivery_record().read(Json::parse(text), "d.json");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error_of_json(R"({"spokes": 1, "loaded": false, "places": []})"), "");
  EXPECT_THAT(error_of_json(R"({"spokes": 1, "loaded": false})"), HasSubstr("/places"));
  EXPECT_THAT(error_of_json(R"({"spokes": 1, "loaded": true, "places": [], "weight": 1})"),
              HasSubstr("/value"));
  EXPECT_THAT(error_of_json(R"({"spokes": 1, "loaded": false, "places": [[1]]})"),
              HasSubstr("rows of 2 numbers"));
  EXPECT_EQ(delivery_record().schema()["required"],
            Json::parse(R"(["spokes", "loaded", "tolls", "places"])"));
}

TEST(Record, NamedRecordsAreDefinitionsOfAFilesSchema) {
  struct Fleet {
    std::vector<Load> loads{};
    std::optional<Load> spare{};
  };
  Record<Fleet> fleet("A fleet.");
  fleet.row<&Fleet::loads>(load_record, "All of them.");
  fleet.row<&Fleet::spare>(nullable(load_record), "One more.");
  const Json schema = fleet.schema("fleet");
  EXPECT_EQ(schema["definitions"].size(), 1U);
  EXPECT_EQ(schema["definitions"]["Load"]["required"],
            Json::parse(R"(["weight", "value", "heavy"])"));
  EXPECT_EQ(schema["definitions"]["Load"]["properties"]["value"],
            Json::parse(R"({"type": ["number", "null"]})"));
  EXPECT_EQ(schema["properties"]["loads"]["items"],
            Json::parse(R"({"$ref": "#/definitions/Load"})"));
  EXPECT_EQ(schema["properties"]["spare"]["oneOf"],
            Json::parse(R"([{"type": "null"}, {"$ref": "#/definitions/Load"}])"));
}

}  // namespace
}  // namespace meshwright
