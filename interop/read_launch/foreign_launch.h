// SPDX-License-Identifier: Apache-2.0
// Launches that are known by name and not read, and those that are not known at all. Both are
// refused: a verdict on defaults would be false.
#pragma once

#include "interop/read_launch/launch_record.h"
#include "interop/read_launch/launch_text.h"

namespace meshwright::interop {

// Throws InputError where the text is a launch of software that is not read: with the sizes that it
// names, and how to ask about them by hand.
void refuse_foreign_launch(const LaunchText& text, const LaunchHints& hints);
[[noreturn]] void refuse_unknown_launch(const LaunchText& text, const LaunchHints& hints);
// Throws InputError: a program of the user's own, which has options of a launcher that is read.
// `why`: how it is known that it is another one.
[[noreturn]] void refuse_own_program(const Place& place, const std::string& program,
                                     const std::string& why, const std::vector<Value>& options);

}  // namespace meshwright::interop
