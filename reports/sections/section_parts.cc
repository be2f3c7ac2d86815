// SPDX-License-Identifier: Apache-2.0
#include "reports/sections/section_parts.h"

#include "sim/hardware/device_noun.h"

namespace meshwright::reports {

std::string_view device_noun(const Report& report, std::int64_t count) {
  return meshwright::device_noun(report.cluster.device_kind, count);
}

}  // namespace meshwright::reports
