// SPDX-License-Identifier: Apache-2.0
// A layout as a line; what is read can be written and read again.
#include "sim/json/records.h"
#include "sim/layout/short_name.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace meshwright;
  fuzz::attempt([&] {
    const Layout layout = layout_from_text(fuzz::text_of(data, size));
    fuzz::must_hold(layout_from_text(short_name(layout)) == layout,
                    "a layout reads back from its line");
  });
  return 0;
}
