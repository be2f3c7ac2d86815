// SPDX-License-Identifier: Apache-2.0
// A launch command or manifest of an inference engine.
#include "interop/serving/read_serving.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace meshwright;
  const std::string text = fuzz::text_of(data, size);
  fuzz::attempt([&] { interop::read_serving(text, "input"); });
  // A configuration that names itself.
  const interop::ShellInputs inputs{{{"TP", "8"}}, std::nullopt, [&](const std::string&) {
                                      return std::optional<std::string>(text);
                                    }};
  fuzz::attempt([&] { interop::read_serving(text, "input", inputs); });
  fuzz::attempt([&] { interop::read_serving("vllm serve m --config c.yaml", "input", inputs); });
  return 0;
}
