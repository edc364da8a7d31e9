#include "compiler/base/json_schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lenz {

namespace {
using nlohmann::json;

bool has_type(const json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  return type == "null" && value.is_null();
}

class Validator {
 public:
  std::vector<std::string> violations;

  void check(const json& value, const json& schema, const std::string& at) {
    for (const auto& [key, rule] : schema.items()) keyword(value, schema, key, rule, at);
  }

 private:
  void fail(const std::string& at, const std::string& what) {
    violations.push_back((at.empty() ? "/" : at) + ": " + what);
  }

  void keyword(const json& value, const json& schema, const std::string& key, const json& rule, const std::string& at) {
    if (key == "type") {
      bool fits = rule.is_array() ? std::ranges::any_of(rule, [&](const json& t) { return has_type(value, t); })
                                  : has_type(value, rule);
      if (!fits) fail(at, "expected " + rule.dump() + ", not " + value.type_name());
    } else if (key == "enum") {
      if (std::ranges::find(rule, value) == rule.end()) fail(at, value.dump() + " is none of " + rule.dump());
    } else if (key == "const") {
      if (value != rule) fail(at, "expected " + rule.dump());
    } else if (key == "minimum") {
      if (value.is_number() && value < rule) fail(at, "below " + rule.dump());
    } else if (key == "maximum") {
      if (value.is_number() && value > rule) fail(at, "above " + rule.dump());
    } else if (key == "minItems") {
      if (value.is_array() && value.size() < rule.get<size_t>()) fail(at, "fewer than " + rule.dump() + " items");
    } else if (key == "required") {
      for (const json& name : rule)
        if (value.is_object() && !value.contains(name)) fail(at, "lacks " + name.dump());
    } else if (key == "properties") {
      for (const auto& [name, inner] : rule.items())
        if (value.is_object() && value.contains(name)) check(value[name], inner, at + "/" + name);
    } else if (key == "additionalProperties") {
      additional(value, schema, rule, at);
    } else if (key == "items") {
      for (size_t i = 0; value.is_array() && i < value.size(); ++i) check(value[i], rule, at + "/" + std::to_string(i));
    } else if (key != "$schema" && key != "title" && key != "description") {
      fail(at, "the schema uses the keyword " + key + ", which is not understood here");
    }
  }

  void additional(const json& value, const json& schema, const json& rule, const std::string& at) {
    if (!value.is_object()) return;
    for (const auto& [name, member] : value.items()) {
      if (schema.contains("properties") && schema["properties"].contains(name)) continue;
      if (rule.is_boolean()) {
        if (!rule.get<bool>()) fail(at, "has \"" + name + "\", which the schema does not know");
      } else {
        check(member, rule, at + "/" + name);
      }
    }
  }
};
}  // namespace

std::vector<std::string> schema_violations(const json& value, const json& schema) {
  Validator v;
  v.check(value, schema, "");
  return v.violations;
}

}  // namespace lenz
