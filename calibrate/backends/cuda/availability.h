// SPDX-License-Identifier: Apache-2.0
// Whether CUDA can be used on this machine at all.
#pragma once

#include <string>

namespace meshwright::calibrate::cuda {

// Empty, or one sentence: no driver, an old one, no device, no permission, or CUDA's own text.
std::string why_unavailable();

// 0 where CUDA cannot be used.
int visible_devices();

// CUDA writes 13.0 as 13000 + 10 * 0.
std::string version_text(int number);

}  // namespace meshwright::calibrate::cuda
