// SPDX-License-Identifier: Apache-2.0
// Text on a screen of some width.
#pragma once

#include <string>

namespace meshwright::reports {

// Lines of at most `width` characters: longer ones are broken between words, and go on two
// characters further in than they began.
std::string wrapped_text(const std::string& text, std::size_t width);

}  // namespace meshwright::reports
