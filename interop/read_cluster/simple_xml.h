// SPDX-License-Identifier: Apache-2.0
// The part of XML that NCCL's dumps are written in: elements with attributes, comments and a
// declaration; no text, no entities, no document types.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace meshwright::interop {

struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::vector<XmlElement> children;
  int line = 0;
  [[nodiscard]] std::string attribute(const std::string& key) const {
    const auto found = attributes.find(key);
    return found == attributes.end() ? "" : found->second;
  }
};

// The outermost element. Throws InputError with file, line and column: no XML of this kind, more
// than 100,000 elements, nested deeper than 50.
XmlElement read_simple_xml(std::string_view text, const std::string& file);

}  // namespace meshwright::interop
