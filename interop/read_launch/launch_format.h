// SPDX-License-Identifier: Apache-2.0
// A form in which somebody's launch is written. Each is one source of this folder, which defines
// its constant; CMakeLists.txt names the sources in the order in which they are asked.
#pragma once

#include <span>

#include "interop/read_launch/launch_record.h"
#include "interop/read_launch/launch_text.h"
#include "interop/shell/named_file.h"

namespace meshwright::interop {

struct LaunchFormat {
  // Recognises the format by keys or options that only it has.
  bool (*is)(const LaunchText& text);
  LaunchRecord (*read)(const LaunchText& text, const LaunchHints& hints, const ReadNamedFile& read);
  // Options "--section.key value" of a command that names the document overrule its keys: `read`
  // takes the text's document.
  bool takes_options = false;
};

// A text is of the first that it is one of.
std::span<const LaunchFormat* const> launch_formats();

}  // namespace meshwright::interop
