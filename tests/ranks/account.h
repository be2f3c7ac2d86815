// SPDX-License-Identifier: Apache-2.0
// What the trial counts of itself against what sim predicts.
#pragma once

#include "sim/schedule/traits.h"
#include "tests/ranks/same_step.h"

namespace meshwright::calibrate {

// Compares the counted calls with the ledger of sim/volume/volume.h: call by call, or by bytes if
// they are cut in another way.
void expect_counted(const Model& model, const Layout& layout, const StepOptions& options = kOptions,
                    const Job& job = small_job());

// The products of forward, backward and what is run again are the operators'.
void expect_products(const Model& model, const Layout& layout);

// The prediction over the run, and the run over it, at most.
struct Band {
  double over, under;
};
void expect_memory(const Model& model, const Layout& layout, Band band);
// On eight ranks up to 2.5 % more is asked for than taken: messages are more of so small a share.
// Where passes take turns up to 3.5 %, on eight ranks 4.4: a layer's backward gives up the experts'
// part before the forward beside it has all of its own. DualPipe's are counted whole, both
// (arXiv 2412.19437, table 2: p + 1 micro-batches), up to 5.1 % too many.
inline Band band_of_experts(const Layout& l) {
  double over = machine().world->size() == 8 ? 1.03 : 1.02;
  if (l.overlap_moe_expert_parallel_comm) over += 0.02;
  if (l.overlap_moe_expert_parallel_comm && traits(l.schedule).pairs_passes) over += 0.02;
  return {over, 1.1};
}

}  // namespace meshwright::calibrate
