// SPDX-License-Identifier: Apache-2.0
// Measured runs without the fits made on them: as if their cluster, their software or their chip
// were unknown. The error of such a prediction is the one to expect on a new machine.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "planner/accuracy/measured_set.h"

namespace meshwright::planner {

// Names of the clusters that a set of measured runs (its file's stem) ran on.
using ClustersOfSets = std::map<std::string, std::set<std::string>>;

// The scalars that framework.fit.terms names, as if never fitted.
Framework without_fitted_scalars(Framework framework);

// Removes the fits of the runs' clusters. Software whose scalars were fitted on this cluster alone
// becomes unknown, with its documented facts only.
MeasuredSet without_clusters(MeasuredSet set, const ClustersOfSets& clusters);

// Software that nobody named.
MeasuredSet without_framework(MeasuredSet set);

// A device as its datasheet has it, and what a datasheet leaves open as the chips of other
// architectures have it: the mean over architectures of the median of their measured devices.
Device with_datasheet_rates(Device device, std::span<const Device> others);
MeasuredSet without_devices(MeasuredSet set, std::span<const Device> others);

}  // namespace meshwright::planner
