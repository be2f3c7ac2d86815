// SPDX-License-Identifier: Apache-2.0
// The fingerprint of an input file, so that a reader of a report can tell which file was meant.
// SHA-256 of FIPS 180-4, as 64 lower-case hexadecimal digits; the same as sha256sum prints.
#pragma once

#include <string>
#include <string_view>

namespace meshwright::reports {

std::string sha256(std::string_view bytes);

}  // namespace meshwright::reports
