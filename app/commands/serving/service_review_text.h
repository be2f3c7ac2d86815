// SPDX-License-Identifier: Apache-2.0
// Files of review and serve read as people and programs read them.
#pragma once

#include <vector>

#include "app/options/output.h"
#include "interop/serving/serving_launch.h"
#include "reports/records/serving_review.h"

namespace meshwright::app {

// The words of the launch, and its model, form and engine.
void add_launch(reports::ServingReviewFile& file, const interop::ServingLaunch& launch);

// One service after another; a file of several has one record each.
void write_service_reviews(const std::vector<reports::ServingReviewFile>& files,
                           const OutputOptions& output);

}  // namespace meshwright::app
