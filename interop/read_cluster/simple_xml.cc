// SPDX-License-Identifier: Apache-2.0
#include "interop/read_cluster/simple_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

constexpr int kMostElements = 100'000;
constexpr int kDeepestElement = 50;

class XmlReader {
 public:
  XmlReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  XmlElement read() {
    skip_to_element();
    if (done()) fail("has no element");
    return read_element(0);
  }

 private:
  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] char here() const { return done() ? '\0' : text_[at_]; }
  [[nodiscard]] bool begins(std::string_view what) const {
    return text_.substr(at_, what.size()) == what;
  }
  [[nodiscard]] int line() const {
    return 1 + static_cast<int>(std::count(text_.begin(),
                                           text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n'));
  }
  [[noreturn]] void fail(const std::string& what) const {
    const std::size_t begin = at_ == 0 ? std::string_view::npos : text_.rfind('\n', at_ - 1);
    const std::size_t column = begin == std::string_view::npos ? at_ + 1 : at_ - begin;
    throw InputError(fmt::format("{}:{}:{}", file_, line(), column), "", "as XML: " + what);
  }
  void skip_blanks() {
    while (!done() && std::isspace(static_cast<unsigned char>(here())) != 0) ++at_;
  }
  void skip_past(std::string_view end) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) fail(fmt::format("{} is missing", end));
    at_ = found + end.size();
  }
  // Past blanks, the declaration and comments; text between elements is none of NCCL's.
  void skip_to_element() {
    while (!done()) {
      skip_blanks();
      if (begins("<!--")) {
        skip_past("-->");
      } else if (begins("<?")) {
        skip_past("?>");
      } else {
        break;
      }
    }
    if (!done() && here() != '<') fail("text between elements is not understood");
  }
  std::string read_name() {
    const std::size_t begin = at_;
    while (!done() && (std::isalnum(static_cast<unsigned char>(here())) != 0 || here() == '_' ||
                       here() == '-' || here() == ':')) {
      ++at_;
    }
    if (at_ == begin) fail("a name is missing");
    return std::string(text_.substr(begin, at_ - begin));
  }
  void read_attribute(XmlElement& element) {
    const std::string key = read_name();
    skip_blanks();
    if (here() != '=') fail("= is missing");
    ++at_;
    skip_blanks();
    const char quote = here();
    if (quote != '"' && quote != '\'') fail("a quote is missing");
    const std::size_t begin = ++at_;
    const std::size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) fail("a quote is not closed");
    element.attributes[key] = std::string(text_.substr(begin, end - begin));
    at_ = end + 1;
  }

  XmlElement read_element(int depth) {
    if (depth > kDeepestElement) fail("nests deeper than 50 elements");
    if (++elements_ > kMostElements) fail("holds more than 100,000 elements");
    XmlElement element;
    element.line = depth < 3 ? line() : 0;
    ++at_;
    element.name = read_name();
    while (true) {
      skip_blanks();
      if (begins("/>")) {
        at_ += 2;
        return element;
      }
      if (here() == '>') break;
      if (done()) fail(fmt::format("<{} is not closed", element.name));
      read_attribute(element);
    }
    ++at_;
    while (true) {
      skip_to_element();
      if (done()) fail(fmt::format("</{}> is missing", element.name));
      if (begins("</")) break;
      element.children.push_back(read_element(depth + 1));
    }
    at_ += 2;
    if (const std::string name = read_name(); name != element.name) {
      fail(fmt::format("</{}> closes <{}>", name, element.name));
    }
    skip_blanks();
    if (here() != '>') fail("> is missing");
    ++at_;
    return element;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int elements_ = 0;
};

}  // namespace

XmlElement read_simple_xml(std::string_view text, const std::string& file) {
  return XmlReader(text, file).read();
}

}  // namespace meshwright::interop
