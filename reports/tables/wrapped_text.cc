// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/wrapped_text.h"

#include <algorithm>

#include "reports/tables/table_text.h"
#include "sim/base/text.h"

namespace meshwright::reports {

std::string wrapped_text(const std::string& text, std::size_t width) {
  std::string out;
  for (const std::string& line : split_lines(text)) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t room = width - std::min(width - 1, indent + 2);
    const std::vector<std::string> pieces = broken_lines(line.substr(indent), room);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      out += std::string(indent + (i > 0 ? 2 : 0), ' ') + pieces[i] + "\n";
    }
  }
  return out;
}

}  // namespace meshwright::reports
