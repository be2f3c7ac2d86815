// SPDX-License-Identifier: Apache-2.0
// A log as lines of words, without what launchers put before them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/measure/points.h"

namespace meshwright::calibrate {

// Lines of a log without the labels of launchers, also inside a line. "[1,0]<stdout>: 8 2 float"
// (mpirun --tag-output), "[0] 8 2 float" (mpiexec -l) and "0: 8 2 float" (srun -l) become
// "8 2 float".
std::vector<std::string> log_lines(const std::string& text);
// The whole word as a number.
std::optional<double> number_in(const std::string& word);

// Bytes that a GEMM reads and writes, as its points state.
Bytes gemm_bytes(const Product& product);

// A time that somebody else took: no samples of it are known.
Measurement told(Seconds time);

}  // namespace meshwright::calibrate
