// SPDX-License-Identifier: Apache-2.0
// A Hugging Face config.json.
#include "interop/huggingface.h"
#include "sim/record/parse.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace meshwright;
  fuzz::attempt([&] {
    const Json config = parse_json(fuzz::text_of(data, size), "config.json");
    if (interop::looks_like_huggingface(config))
      interop::model_from_huggingface(config, "config.json");
  });
  return 0;
}
