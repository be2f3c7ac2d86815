// SPDX-License-Identifier: Apache-2.0
// What software, a device or a cluster cannot do, as JSON: by name, why.
#include "sim/json/input_records.h"

namespace meshwright {

const Kind<FeatureLimits>& limits_kind() {
  static const Kind<FeatureLimits> limits{
      {.read =
           [](ObjectReader& reader, const std::string& key, FeatureLimits& value) {
             ObjectReader inside = reader.required_object(key);
             for (const auto& [what, name] : kUnsupportedNames) {
               std::string& reason = value.reasons[static_cast<std::size_t>(what)];
               reason = inside.optional_string(name, reason);
             }
             inside.finish();
           },
       .write =
           [](Json& json, const std::string& key, const FeatureLimits& value) {
             Json& reasons = json[key] = Json::object();
             for (const auto& [what, name] : kUnsupportedNames) {
               if (value.lacks(what)) reasons[std::string(name)] = value.reason(what);
             }
           },
       .schema =
           [] {
             std::vector<RowSchema> rows;
             for (const auto& entry : kUnsupportedNames) {
               rows.push_back({.key = std::string(entry.name),
                               .value = kind::text().schema(),
                               .about = "Why, with the source."});
             }
             return object_schema(rows, "");
           }}};
  return limits;
}

}  // namespace meshwright
