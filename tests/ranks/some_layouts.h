// SPDX-License-Identifier: Apache-2.0
// Layouts of each kind that the trial runs.
#pragma once

#include <vector>

#include "sim/json/records.h"
#include "tests/ranks/same_step.h"

namespace meshwright::calibrate {

// Layouts of exactly this many ranks that this network can run.
inline std::vector<Layout> layouts_of(int ranks) {
  std::vector<Layout> chosen;
  for (const char* text : {"mbs=2",
                           "mbs=8",
                           "recompute=full",
                           "recompute=selective",
                           "recompute=full,recompute_num_layers=3",
                           "recompute=full,recompute_method=block,recompute_num_layers=3",
                           "recompute=selective,recompute_modules=mlp",
                           "recompute=selective,recompute_modules=core_attn+mlp",
                           "tp=2",
                           "tp=2,mbs=4",
                           "tp=2,recompute=full",
                           "tp=2,recompute=selective",
                           "tp=2,sp",
                           "tp=2,sp,recompute=full",
                           "tp=2,sp,recompute=full,recompute_num_layers=2",
                           "tp=2,sp,recompute=full,recompute_method=block,recompute_num_layers=1",
                           "tp=2,sp,recompute=selective,recompute_modules=mlp",
                           "tp=2,recompute=selective,recompute_modules=mlp",
                           "pp=2,first=1,last=3",
                           "pp=2,first=3",
                           "pp=2,schedule=interleaved,vpp=2,overlap_p2p_comm",
                           "pp=2,schedule=interleaved,vpp=2,overlap_p2p_comm,mbs=2,recompute=full",
                           "pp=2,schedule=interleaved,vpp=2,overlap_p2p_comm,recompute=full,"
                           "recompute_method=block,recompute_num_layers=1",
                           "pp=2",
                           "pp=2,mbs=2",
                           "pp=2,schedule=gpipe,mbs=2",
                           "pp=2,recompute=full",
                           "dp=2",
                           "dp=2,mbs=2",
                           "dp=2,zero=1",
                           "tp=4",
                           "tp=4,sp",
                           "pp=4",
                           "pp=4,schedule=gpipe",
                           "dp=4",
                           "dp=4,zero=1",
                           "tp=2,pp=2",
                           "tp=2,pp=2,sp",
                           "tp=2,pp=2,sp,schedule=interleaved,vpp=2,overlap_p2p_comm",
                           "pp=2,dp=2,zero=1,schedule=interleaved,vpp=2,overlap_p2p_comm",
                           "tp=2,pp=2,mbs=2,recompute=full",
                           "tp=2,dp=2",
                           "tp=2,dp=2,sp",
                           "tp=2,dp=2,zero=1",
                           "tp=2,dp=2,sp,zero=1",
                           "pp=2,dp=2",
                           "pp=2,dp=2,zero=1,schedule=gpipe"}) {
    const Layout layout = layout_from_text(text);
    if (world_size(layout) == ranks && can_run(layout)) chosen.push_back(layout);
  }
  return chosen;
}

// Recomputes a part that a model without attention does not have.
inline bool needs_attention(const Layout& l) {
  return recomputes_module(l, kRecomputeCoreAttention);
}

}  // namespace meshwright::calibrate
