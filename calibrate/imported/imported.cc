// SPDX-License-Identifier: Apache-2.0
#include "calibrate/imported/imported.h"

#include "sim/base/error.h"
#include "sim/record/parse.h"

namespace meshwright::calibrate {

Imported imported(const std::string& text, const std::string& file) {
  if (Imported result = from_nsys(text, file); !result.points.empty()) return result;
  if (looks_like_json(text)) {
    // A trace is larger than other JSON may be, and is read by its events.
    if (Imported trace = from_kineto(text, file); !trace.points.empty()) return trace;
    for (Imported result : {from_attention_times(text, file), from_nccl_tests_json(text, file),
                            from_nvbandwidth_json(text, file)}) {
      if (!result.points.empty()) return result;
    }
  }
  for (Imported result :
       {from_babel_stream(text), from_ib_write_bw(text), from_flash_attention(text),
        from_nvbandwidth(text), from_mamf_finder(text), from_deepep(text)}) {
    if (!result.points.empty()) return result;
  }
  Imported result = from_nccl_tests(text, file);
  if (!result.points.empty()) return result;
  throw InputError(file, "",
                   "holds no result of nccl-tests (text or -J JSON), ib_write_bw, nvbandwidth, "
                   "BabelStream, mamf-finder, flash-attention's benchmark, PyTorch's profiler, "
                   "Nsight Systems (SQLite), DeepEP's tests or scripts/gpu-reference",
                   "give the tool's whole output, with its header lines");
}

}  // namespace meshwright::calibrate
