// SPDX-License-Identifier: Apache-2.0
// Other tools' measurements as points of ours: nccl-tests (text and JSON), perftest's ib_write_bw,
// BabelStream, flash-attention's benchmark, scripts/gpu-reference's attention times, mamf-finder,
// nvbandwidth (text and JSON), traces of PyTorch's profiler, Nsight Systems' SQLite export,
// DeepEP's tests. Their text is found wherever it stands in a log; what is not a result is passed
// over. Nothing else of the file is kept, least of all nccl-tests' "env", which holds everything.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/points.h"

namespace meshwright::calibrate {

struct Imported {
  std::string tool;  // "nccl-tests", "ib_write_bw", "BabelStream", "mamf-finder"
  std::vector<MeasuredPoint> points;
  std::vector<std::string> devices;  // that the tool names, each once
  std::vector<std::string> notes;    // rows that were left out, and why
};

// Recognises the tool by its output. `file` names the source in messages. Throws InputError when no
// tool's output is in it, or it does not say what was measured over how many ranks.
Imported imported(const std::string& text, const std::string& file);

// One tool each, for tests; empty points where the text is not theirs.
Imported from_nccl_tests(const std::string& text, const std::string& file);
Imported from_nccl_tests_json(const std::string& text, const std::string& file);
Imported from_ib_write_bw(const std::string& text);
Imported from_babel_stream(const std::string& text);
Imported from_flash_attention(const std::string& text);
Imported from_mamf_finder(const std::string& text);
Imported from_nvbandwidth(const std::string& text);
Imported from_nvbandwidth_json(const std::string& text, const std::string& file);
Imported from_kineto(const std::string& text, const std::string& file);
Imported from_attention_times(const std::string& text, const std::string& file);
Imported from_nsys(const std::string& bytes, const std::string& file);
Imported from_deepep(const std::string& text);

}  // namespace meshwright::calibrate
