// SPDX-License-Identifier: Apache-2.0
// Other tools' measurements, and our own profiles.
#include "calibrate/imported/imported.h"
#include "calibrate/profile/profile_json.h"
#include "sim/record/parse.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace meshwright;
  const std::string text = fuzz::text_of(data, size);
  fuzz::attempt([&] { calibrate::imported(text, "input"); });
  fuzz::attempt([&] { calibrate::profile_from_json(parse_json(text, "input"), "input"); });
  return 0;
}
