// SPDX-License-Identifier: Apache-2.0
// Profiles of one kind of machine as one: what any of them measured is in it.
#pragma once

#include "calibrate/profile/profile.h"

namespace meshwright::calibrate {

// A time that several have is the geometric mean of theirs, each counted once; the standard
// deviation of their logarithms counts as spread. The cluster is as large as the largest one;
// models are fitted anew. At least one profile. Throws InputError when the devices differ, or the
// clusters that they were measured onto.
Profile merged(const std::vector<Profile>& profiles);

// The same profile with its points' models fitted anew; its cluster keeps names and sizes.
void refit(Profile& profile);

}  // namespace meshwright::calibrate
