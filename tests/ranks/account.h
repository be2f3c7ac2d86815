// SPDX-License-Identifier: Apache-2.0
// What the trial counts of itself against what sim predicts.
#pragma once

#include "tests/ranks/same_step.h"

namespace meshwright::calibrate {

// What the ranks counted is what the ledger of sim/volume/volume.h says, call by call; by bytes
// where they are cut otherwise.
void expect_counted(const Model& model, const Layout& layout, const StepOptions& options = kOptions,
                    const Job& job = small_job());

// The products of forward, backward and what is run again are the operators'.
void expect_products(const Model& model, const Layout& layout);

// The prediction over the run, and the run over it, at most.
struct Band {
  double over, under;
};
void expect_memory(const Model& model, const Layout& layout, Band band);

}  // namespace meshwright::calibrate
