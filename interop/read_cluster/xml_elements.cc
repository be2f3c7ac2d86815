// SPDX-License-Identifier: Apache-2.0
#include "interop/read_cluster/xml_elements.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

class Elements : public pugi::xml_tree_walker {
 public:
  Elements(std::string_view text, const std::string& file, const XmlFormat& format,
           const std::function<void(const pugi::xml_node&)>& see)
      : text_(text), file_(file), format_(format), see_(see) {
    constexpr std::ptrdiff_t kMostTags = 200'000;
    if (std::count(text.begin(), text.end(), '<') > kMostTags) {
      throw InputError(file, "", "as XML: holds more than 200,000 tags", std::string(format.hint));
    }
    const unsigned kept = pugi::parse_escapes | pugi::parse_cdata |
                          (format.names_its_type ? 0U : pugi::parse_doctype);
    const pugi::xml_parse_result result =
        document_.load_buffer(text.data(), text.size(), kept, pugi::encoding_utf8);
    if (!result) fail(result.offset, lower_case(result.description()));
    const std::string root = document_.document_element().name();
    if (root != format.root) {
      throw InputError(file, "",
                       fmt::format("begins with <{}>, a topology with <{}>", root, format.root),
                       std::string(format.hint));
    }
    document_.traverse(*this);
  }

 private:
  [[noreturn]] void fail(std::ptrdiff_t offset, const std::string& what) const {
    const std::string_view before = text_.substr(0, static_cast<std::size_t>(offset));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
    throw InputError(fmt::format("{}:{}:{}", file_, line, column), "", "as XML: " + what,
                     std::string(format_.hint));
  }

  bool for_each(pugi::xml_node& node) override {
    constexpr int kDeepest = 50;
    if (node.type() == pugi::node_doctype) fail(node.offset_debug(), "has a document type");
    if (node.type() != pugi::node_element) fail(node.offset_debug(), "has text between elements");
    if (depth() > kDeepest) fail(node.offset_debug(), "nests deeper than 50 elements");
    if (depth() == 0 && node != document_.document_element()) {
      fail(node.offset_debug(), "has a second outermost element");
    }
    see_(node);
    return true;
  }

  std::string_view text_;
  const std::string& file_;
  const XmlFormat& format_;
  const std::function<void(const pugi::xml_node&)>& see_;
  pugi::xml_document document_;
};

}  // namespace

void for_each_element(std::string_view text, const std::string& file, const XmlFormat& format,
                      const std::function<void(const pugi::xml_node&)>& see) {
  Elements(text, file, format, see);
}

}  // namespace meshwright::interop
