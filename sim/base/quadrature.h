// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace meshwright {

// Independent errors together: the root of the sum of squares. std::hypot would ask for a glibc
// newer than that of clusters that the archive is for (scripts/package).
inline double in_quadrature(double a, double b) { return std::sqrt(a * a + b * b); }

}  // namespace meshwright
