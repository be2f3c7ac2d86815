// SPDX-License-Identifier: Apache-2.0
// A table of runs and the map of its columns: the map's JSON, a line of "---", the table.
#include "interop/tables/measurement_map.h"
#include "sim/record/parse.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace meshwright;
  const std::string text = fuzz::text_of(data, size);
  const std::size_t border = text.find("\n---\n");
  fuzz::attempt([&] { interop::read_csv(text, "table.csv"); });
  if (border == std::string::npos) return 0;
  fuzz::attempt([&] {
    const Json map = parse_json(text.substr(0, border), "map.json");
    const interop::CsvTable table = interop::read_csv(text.substr(border + 5), "table.csv");
    interop::measurements_from_csv(table, "table.csv", map, "map.json");
  });
  return 0;
}
