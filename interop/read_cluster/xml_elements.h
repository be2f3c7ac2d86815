// SPDX-License-Identifier: Apache-2.0
// An XML file that describes a machine, element by element. Errors name line and column.
#pragma once

#include <functional>
#include <pugixml.hpp>
#include <string>
#include <string_view>

namespace meshwright::interop {

struct XmlFormat {
  std::string_view root;        // the outermost element
  std::string_view hint;        // which file to give
  bool names_its_type = false;  // it may begin with a document type, which is skipped
};

// Calls `see` with each element, from the outermost on. Throws InputError: no XML, another
// outermost element, text between elements, a document type that the format does not begin with,
// more than 50 nested elements or 200,000 tags. Entities of a document type are never followed.
void for_each_element(std::string_view text, const std::string& file, const XmlFormat& format,
                      const std::function<void(const pugi::xml_node&)>& see);

}  // namespace meshwright::interop
