// SPDX-License-Identifier: Apache-2.0
// Two profiles of the same kind of machine as one: what either measured is in it.
#pragma once

#include "calibrate/profile/profile.h"

namespace meshwright::calibrate {

// A time that both have is the geometric mean; half of the difference counts as spread. The cluster
// is as large as the larger one; models are fitted anew. Throws InputError when the devices differ.
Profile merged(const Profile& a, const Profile& b);

// The same profile with its points' models fitted anew; its cluster keeps names and sizes.
void refit(Profile& profile);

}  // namespace meshwright::calibrate
