// SPDX-License-Identifier: Apache-2.0
// What a measured profile says of its measurements: who made it, how well its points repeat, how
// its ranks compare.
#pragma once

#include <optional>
#include <string>

#include "reports/records/report.h"

namespace meshwright::reports {

const Record<ProfileFacts>& profile_facts_record();
const Record<NoisePart>& noise_record();
const Record<DevicesPart>& devices_record();

// `profile` as meshwright calibrate writes it, or null. Throws InputError.
void fill_from_profile(CalibrationPart& calibration, const Json& profile);

// Empty where there is none.
std::string profile_page(const std::optional<ProfileFacts>& profile);
std::string noise_page(const std::optional<NoisePart>& noise);
std::string devices_page(const std::optional<DevicesPart>& devices);

}  // namespace meshwright::reports
