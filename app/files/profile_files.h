// SPDX-License-Identifier: Apache-2.0
// What `meshwright calibrate` does with profiles that are already there: merge, import, plot.
#pragma once

#include <string>
#include <vector>

#include "calibrate/profile/profile.h"
#include "reports/records/origin.h"

namespace meshwright::app {

// Throws InputError when it is no profile.
calibrate::Profile load_profile(const std::string& path);
// That the plan for this device was made with. Throws InputError where it is of another device,
// whose times would say how two devices differ.
calibrate::Profile load_profile_of(const std::string& device, const std::string& path);

void merge_profiles(const std::vector<std::string>& files, const std::string& out,
                    const reports::Origin& origin);

// Adds what other tools measured to the profile `onto`; each point keeps the tool, the file's name
// and its SHA-256. Throws InputError where a file names another device, unless `force`d.
void import_measurements(const std::vector<std::string>& files, const std::string& onto,
                         const std::string& out, bool force, const reports::Origin& origin);

// A page of charts where `out` ends in .html, else a table. Returns whether all
// models describe their points.
bool plot_profile(const std::string& profile, const std::string& out);

}  // namespace meshwright::app
