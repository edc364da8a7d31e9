#include "compiler/base/json_schema.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lenz {
namespace {

using nlohmann::json;

const json kSchema = json::parse(R"({
  "type": "object", "required": ["rows"], "additionalProperties": false,
  "properties": {
    "rows": {"type": "array", "minItems": 1, "items": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}}},
    "kind": {"enum": ["a", "b"]},
    "maybe": {"type": ["string", "null"]}
  }})");

TEST(JsonSchema, TakesWhatFits) {
  EXPECT_TRUE(
      schema_violations(json::parse(R"({"rows": [{"n": 3}, {}], "kind": "a", "maybe": null})"), kSchema).empty());
}

TEST(JsonSchema, NamesEveryMisfit) {
  struct Case {
    const char *text, *said;
  };
  for (const Case& c : std::initializer_list<Case>{{R"([])", "expected \"object\""},
                                                   {R"({})", "lacks \"rows\""},
                                                   {R"({"rows": []})", "fewer than 1"},
                                                   {R"({"rows": [{"n": -1}]})", "/rows/0/n: below 0"},
                                                   {R"({"rows": [{"n": 1.5}]})", "/rows/0/n: expected \"integer\""},
                                                   {R"({"rows": [{}], "kind": "c"})", "/kind: \"c\" is none of"},
                                                   {R"({"rows": [{}], "maybe": 1})", "/maybe: expected"},
                                                   {R"({"rows": [{}], "more": 1})", "has \"more\""}}) {
    auto violations = schema_violations(json::parse(c.text), kSchema);
    ASSERT_EQ(violations.size(), 1u) << c.text;
    EXPECT_NE(violations[0].find(c.said), std::string::npos) << violations[0];
  }
}

TEST(JsonSchema, RefusesAKeywordThatItDoesNotKnow) {
  EXPECT_EQ(schema_violations(json(1), json::parse(R"({"oneOf": []})")).size(), 1u);
}

}  // namespace
}  // namespace lenz
