// SPDX-License-Identifier: Apache-2.0
// A launch line, script or configuration of any software.
#include "interop/read_launch/read_launch.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace meshwright;
  const std::string text = fuzz::text_of(data, size);
  fuzz::attempt([&] { interop::read_launch(text, "input", {}); });
  interop::LaunchHints hints;
  hints.model = Model{};
  // A script that sources itself, with arguments.
  hints.arguments = {"A", "4", "--x"};
  fuzz::attempt([&] {
    interop::read_launch(text, "input", hints, [&](const std::string&) { return text; });
  });
  return 0;
}
