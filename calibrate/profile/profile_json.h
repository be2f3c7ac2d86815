// SPDX-License-Identifier: Apache-2.0
// A profile as a file: schema "meshwright.profile/1". Its "cluster" is what sim reads; "machine",
// "measurements", "fits" and "notes" are there to judge it. Output keys are in base units.
#pragma once

#include <string>

#include "calibrate/profile/profile.h"
#include "sim/record/json.h"
#include "sim/record/record.h"

namespace meshwright::calibrate {

inline constexpr char kProfileSchema[] = "meshwright.profile/1";

const Record<Profile>& profile_record();
const Record<MeasuredPoint>& point_record();

Json to_json(const Profile& profile);
Json to_json(const MeasuredPoint& point);
// Throws InputError.
MeasuredPoint point_from_json(const Json& json, const std::string& file,
                              const std::string& pointer);

// Throws InputError. Points are restored with what the file keeps of them.
Profile profile_from_json(const Json& json, const std::string& file);

}  // namespace meshwright::calibrate
