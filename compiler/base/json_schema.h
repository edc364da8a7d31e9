// Holds a JSON value against a schema: the part of JSON Schema that our schema files use, which is type, enum, const,
// properties, required, additionalProperties, items, minimum, maximum, minItems. A keyword beyond these is an error of
// the schema, so that none is silently ignored ($schema, title and description say nothing).
// Thread-safety: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lenz {

// What does not fit, each with its place ("/rows/3/name: expected string"); empty if the value fits.
std::vector<std::string> schema_violations(const nlohmann::json& value, const nlohmann::json& schema);

}  // namespace lenz
