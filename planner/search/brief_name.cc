// SPDX-License-Identifier: Apache-2.0
#include "planner/search/brief_name.h"

#include "sim/layout/short_name.h"

namespace meshwright::planner {

std::string brief_name(const Layout& layout) {
  Layout plain = layout;
  plain.overlap_grad_reduce = plain.overlap_param_gather = false;
  plain.overlap_p2p_comm = plain.tp_comm_overlap = false;
  plain.account_for_embedding_in_pipeline_split = false;
  plain.account_for_loss_in_pipeline_split = false;
  return short_name(plain);
}

}  // namespace meshwright::planner
