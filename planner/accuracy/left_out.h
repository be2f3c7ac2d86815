// SPDX-License-Identifier: Apache-2.0
// Measured runs without what had been learnt from them: as if nobody had seen their cluster, their
// software or their chip. What a prediction then misses is what it will miss for somebody else.
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

// No fit of the runs' clusters; and software whose scalars were fitted on this very cluster alone
// is software that nobody knows, with what is documented of it.
MeasuredSet without_clusters(MeasuredSet set, const ClustersOfSets& clusters);

// Software that nobody named.
MeasuredSet without_framework(MeasuredSet set);

// A device as its datasheet has it, and what a datasheet leaves open as the chips of other
// architectures have it: the mean over architectures of the median of their measured devices.
Device with_datasheet_rates(Device device, std::span<const Device> others);
MeasuredSet without_devices(MeasuredSet set, std::span<const Device> others);

}  // namespace meshwright::planner
