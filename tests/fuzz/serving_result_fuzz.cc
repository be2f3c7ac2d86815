// SPDX-License-Identifier: Apache-2.0
// A result of a benchmark client, or an engine's log.
#include "interop/serving/benchmark_table.h"
#include "interop/serving/engine_log.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace meshwright;
  const std::string text = fuzz::text_of(data, size);
  fuzz::attempt([&] { interop::csv_text(interop::benchmark_table(text, "input")); });
  fuzz::attempt([&] { interop::csv_text(interop::engine_log_table(text, "input")); });
  interop::kv_tokens_in_log(text, interop::kUsualBlock);
  return 0;
}
