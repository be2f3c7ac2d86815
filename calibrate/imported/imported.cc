// SPDX-License-Identifier: Apache-2.0
#include "calibrate/imported/imported.h"

#include "sim/base/error.h"

namespace meshwright::calibrate {

Imported imported(const std::string& text, const std::string& file) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') {
    Imported result = from_nccl_tests_json(text, file);
    if (!result.points.empty()) return result;
  }
  for (Imported result : {from_babel_stream(text), from_ib_write_bw(text)}) {
    if (!result.points.empty()) return result;
  }
  Imported result = from_nccl_tests(text, file);
  if (!result.points.empty()) return result;
  throw InputError(file, "",
                   "holds no result of nccl-tests (text or -J JSON), ib_write_bw or BabelStream",
                   "give the tool's whole output, with its header lines");
}

}  // namespace meshwright::calibrate
