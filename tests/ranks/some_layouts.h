// SPDX-License-Identifier: Apache-2.0
// Layouts of each kind that the trial runs: on 1, 2 and 4 ranks in CI, on 8 in the night.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <vector>

#include "sim/json/records.h"
#include "tests/ranks/same_step.h"

namespace meshwright::calibrate {

// MESHWRIGHT_TEST_EVERY=n takes every n-th of a list.
inline int every() {
  static const char* const asked = std::getenv("MESHWRIGHT_TEST_EVERY");
  return asked == nullptr ? 1 : std::atoi(asked);
}

// The layouts of exactly this many ranks.
// `turn` belongs to the list: its next call begins one layout further on, so that n calls take all.
inline std::vector<Layout> of_ranks(int ranks, int& turn,
                                    std::initializer_list<const char*> texts) {
  std::vector<Layout> chosen;
  int found = 0;
  for (const char* text : texts) {
    const Layout layout = layout_from_text(text);
    if (world_size(layout) == ranks && found++ % every() == turn % every())
      chosen.push_back(layout);
  }
  ++turn;
  return chosen;
}
inline void append(std::vector<Layout>& to, const std::vector<Layout>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// Layouts of exactly this many ranks.
inline std::vector<Layout> layouts_of(int ranks) {
  static int turn = 0;
  return of_ranks(ranks, turn,
                  {"mbs=2",
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
                   "pp=2,stages=Et|tttL",
                   "pp=2,stages=Etttt|L,mbs=2",
                   "pp=2,schedule=interleaved,vpp=2,overlap_p2p_comm,stages=Et|tt|t|L",
                   "pp=2,schedule=interleaved,vpp=2,overlap_p2p_comm,stages=E|tt||ttL",
                   "pp=4,stages=E|tt|t|tL",
                   "pp=2,schedule=interleaved,vpp=2,overlap_p2p_comm",
                   "pp=2,schedule=interleaved,vpp=2,overlap_p2p_comm,mbs=2,recompute=full",
                   "pp=2,schedule=interleaved,vpp=2,overlap_p2p_comm,recompute=full,"
                   "recompute_method=block,recompute_num_layers=2",
                   "pp=2",
                   "pp=2,mbs=2",
                   "pp=2,schedule=gpipe,mbs=2",
                   "pp=2,recompute=full",
                   "dp=2",
                   "dp=2,mbs=2",
                   "dp=2,zero=1",
                   "dp=2,zero=1,all_reduce_gradients",
                   "dp=2,overlap_grad_reduce",
                   "dp=2,zero=1,overlap_grad_reduce,overlap_param_gather",
                   "tp=2,pp=2,scatter_gather_p2p",
                   "tp=2,pp=2,scatter_gather_p2p,schedule=interleaved,vpp=2,"
                   "overlap_p2p_comm",
                   "dp=4,zero=1,shard=2,all_reduce_gradients",
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
                   "tp=2,dp=2,sp,overlap_grad_reduce",
                   "tp=2,dp=2,sp,zero=1,overlap_grad_reduce,overlap_param_gather",
                   "pp=2,dp=2,overlap_grad_reduce",
                   "pp=2,dp=2,zero=1,schedule=interleaved,vpp=2,overlap_p2p_comm,"
                   "overlap_grad_reduce,overlap_param_gather",
                   "dp=4,zero=1,shard=2,overlap_grad_reduce,overlap_param_gather",
                   "pp=2,dp=2",
                   "pp=2,dp=2,zero=1,schedule=gpipe",
                   "tp=2,pp=2,dp=2,sp,zero=1",
                   "tp=4,dp=2,sp",
                   "pp=4,dp=2,zero=1",
                   "tp=2,pp=4,scatter_gather_p2p",
                   "pp=2,dp=4,zero=1,shard=2,schedule=interleaved,vpp=2,overlap_p2p_comm",
                   "dp=8,zero=1"});
}

// The same for models with experts.
inline std::vector<Layout> expert_layouts_of(int ranks, int experts = 8) {
  static int turn = 0;
  std::vector<Layout> chosen =
      of_ranks(ranks, turn,
               {"mbs=2",
                "recompute=full",
                "recompute=selective,recompute_modules=moe",
                "recompute=selective,recompute_modules=moe_act+layernorm",
                "dp=2",
                "dp=2,ep=2",
                "dp=2,ep=2,mbs=2,zero=1",
                "dp=2,ep=2,recompute=full",
                "dp=2,ep=2,recompute=selective,recompute_modules=moe",
                "dp=2,ep=2,recompute=selective,recompute_modules=moe_act",
                "dp=2,ep=2,recompute=selective,recompute_modules=layernorm+moe_act",
                "tp=2,sp",
                "tp=2,sp,recompute=full",
                "tp=2,sp,recompute=selective,recompute_modules=moe",
                "tp=2,sp,ep=2,etp=1",
                "tp=2,sp,etp=1",
                "dp=2,ep=2,dispatcher=allgather",
                "dp=2,ep=2,mbs=2,zero=1,dispatcher=allgather",
                "dp=2,ep=2,dispatcher=allgather,recompute=selective,"
                "recompute_modules=moe",
                "tp=2,sp,dispatcher=allgather",
                "tp=2,sp,ep=2,etp=1,dispatcher=allgather",
                "dp=4,ep=4,dispatcher=allgather",
                "tp=2,dp=2,sp,ep=2,dispatcher=allgather",
                "tp=2,dp=2,sp,ep=2,dispatcher=allgather,recompute=full",
                "tp=2,dp=2,sp,ep=2,etp=1,dispatcher=allgather",
                "pp=2,dp=2,ep=2,dispatcher=allgather,schedule=zb_h1,mbs=2",
                "pp=2,mbs=2",
                "dp=4,ep=2,zero=1",
                "dp=2,ep=2,zero=1,overlap_grad_reduce,overlap_param_gather",
                "dp=4,ep=2,zero=1,overlap_grad_reduce,overlap_param_gather",
                "pp=2,dp=2,ep=2,schedule=zb_h1,zero=1,overlap_grad_reduce,"
                "overlap_param_gather",
                "pp=2,dp=2,ep=2,schedule=dualpipe_v,vpp=2,overlap_grad_reduce",
                "dp=4,ep=4",
                "dp=4,ep=4,mbs=2",
                "tp=2,dp=2,sp,ep=2",
                "tp=2,dp=2,sp,ep=2,zero=1",
                "tp=2,dp=2,sp,ep=4,etp=1",
                "tp=2,dp=2,sp,ep=2,etp=1",
                "tp=2,pp=2,sp,ep=2,etp=1,mbs=2",
                "tp=4,sp,ep=2,etp=2",
                "pp=2,dp=2,ep=2",
                "pp=2,dp=2,ep=2,schedule=interleaved,vpp=2,overlap_p2p_comm",
                "pp=2,dp=2,ep=2,schedule=zb_h1,mbs=2",
                "pp=2,dp=2,ep=2,schedule=dualpipe_v,vpp=2",
                "pp=2,dp=2,ep=2,zero=1,schedule=gpipe",
                "dp=2,ep=2,ep_overlap",
                "dp=2,ep=2,ep_overlap,delay_wgrad_compute,zero=1,mbs=2,overlap_grad_reduce,"
                "overlap_param_gather",
                "dp=2,ep=2,ep_overlap,recompute=selective,recompute_modules=layernorm+moe_act",
                "dp=2,ep=2,ep_overlap,zero=3",
                "dp=2,ep=2,ep_overlap,zero=2,delay_wgrad_compute",
                "tp=2,sp,ep=2,etp=1,ep_overlap,delay_wgrad_compute",
                "dp=2,ep=2,moe_shared_expert_overlap",
                "tp=2,sp,ep=2,etp=1,moe_shared_expert_overlap",
                "dp=4,ep=4,ep_overlap",
                "dp=4,ep=2,ep_overlap,zero=3,shard=2",
                "pp=2,dp=2,ep=2,schedule=interleaved,vpp=2,overlap_p2p_comm,ep_overlap,"
                "delay_wgrad_compute,overlap_grad_reduce",
                "pp=2,dp=2,ep=2,schedule=dualpipe_v,vpp=2,ep_overlap",
                "pp=2,dp=2,ep=2,schedule=dualpipe,vpp=2,ep_overlap,delay_wgrad_compute",
                "pp=2,dp=2,ep=2,mbs=2,moe_shared_expert_overlap",
                "tp=2,dp=4,sp,ep=4,ep_overlap,zero=1",
                "tp=2,pp=2,dp=2,ep=2,sp,schedule=interleaved,vpp=2,overlap_p2p_comm,ep_overlap",
                "dp=8,ep=8",
                "tp=2,dp=4,sp,ep=4,etp=1,zero=1",
                "tp=2,dp=4,sp,ep=2,etp=1,zero=1,overlap_grad_reduce,overlap_param_gather",
                "tp=2,pp=2,dp=2,sp,ep=2",
                "tp=4,dp=2,sp,ep=4,etp=2",
                "tp=2,dp=4,sp,ep=4,dispatcher=allgather",
                "pp=2,dp=4,ep=4,mbs=2",
                "tp=2,pp=2,dp=2,ep=2,sp,schedule=dualpipe_v,vpp=2"});
  std::erase_if(chosen, [&](const Layout& l) { return experts % l.expert_parallel_size != 0; });
  return chosen;
}

// Schedules that split the backward pass, and whose chunks turn round at the last stage or whose
// micro-batches come from both ends.
inline std::vector<Layout> split_layouts_of(int ranks) {
  static int turn = 0;
  return of_ranks(
      ranks, turn,
      {"pp=2,schedule=zb_h1", "pp=2,schedule=zb_h1,mbs=2,recompute=full",
       "pp=2,schedule=zb_h2,mbs=2", "pp=2,schedule=zb_v,vpp=2,mbs=2",
       "pp=2,schedule=dualpipe_v,vpp=2", "pp=2,schedule=dualpipe,vpp=2",
       "pp=4,schedule=dualpipe,vpp=2", "pp=2,dp=2,zero=1,schedule=dualpipe,vpp=2",
       "pp=2,schedule=dualpipe_v,vpp=2,mbs=2,recompute=selective", "pp=4,schedule=zb_h1",
       "pp=4,schedule=zb_h2", "tp=2,pp=2,sp,schedule=zb_h1,mbs=2",
       "tp=2,pp=2,sp,schedule=dualpipe_v,vpp=2,mbs=2", "pp=2,dp=2,zero=1,schedule=zb_v,vpp=2",
       "pp=4,dp=2,schedule=zb_h1", "tp=2,pp=4,sp,schedule=zb_h2",
       "tp=2,pp=2,dp=2,sp,zero=1,schedule=dualpipe_v,vpp=2"});
}

// Layouts of models with latent attention.
inline std::vector<Layout> latent_layouts_of(int ranks) {
  static int turn = 0;
  std::vector<Layout> chosen = layouts_of(ranks);
  append(chosen, of_ranks(ranks, turn,
                          {"recompute=selective,recompute_modules=mla_up_proj",
                           "recompute=selective,recompute_modules=core_attn+mla_up_proj+layernorm",
                           "tp=2,sp,recompute=selective,recompute_modules=mla_up_proj",
                           "tp=2,recompute=selective,recompute_modules=mla_up_proj+core_attn"}));
  return chosen;
}

// Context ranks beside all others.
inline std::vector<Layout> context_layouts_of(int ranks) {
  static int turn = 0;
  return of_ranks(ranks, turn,
                  {"cp=2", "cp=2,mbs=2", "cp=2,recompute=full", "cp=2,recompute=selective",
                   "cp=2,cp_comm_type=all_gather", "cp=2,cp_comm_type=a2a",
                   "cp=2,cp_comm_type=a2a,mbs=2,recompute=selective", "cp=2,zero=1", "cp=2,zero=3",
                   "cp=4", "cp=4,cp_comm_type=all_gather", "tp=2,cp=2,sp",
                   "tp=2,cp=2,cp_comm_type=a2a", "pp=2,cp=2,mbs=2", "cp=2,dp=2,zero=1", "cp=4,dp=2",
                   "cp=4,tp=2,sp", "tp=2,cp=2,dp=2,sp,zero=1", "tp=2,pp=2,cp=2,cp_comm_type=a2a"});
}

// Which multi-token prediction is not.
inline bool recomputes_in_groups(const Layout& l) {
  return l.recompute_method == RecomputeMethod::uniform && l.recompute_num_layers > 1;
}

// Layouts of a model with two depths of multi-token prediction that is recomputed layer by layer.
// On 4 ranks the depths are also apart from the loss.
inline std::vector<Layout> prediction_layouts_of(int ranks) {
  static int turn = 0;
  std::vector<Layout> chosen;
  for (const Layout& l : layouts_of(ranks)) {
    if (!l.pipeline_layout && !recomputes_in_groups(l)) chosen.push_back(l);
  }
  append(chosen, of_ranks(ranks, turn,
                          {"pp=2,stages=Et|tttmmL", "pp=2,stages=Etttt|mmL,mbs=2,recompute=full",
                           "pp=2,schedule=interleaved,vpp=2,overlap_p2p_comm,stages=Et|tt|t|mmL",
                           "pp=4,stages=Et|tt|tmm|L", "pp=4,stages=Et|ttt|mm|L,mbs=2",
                           "pp=4,stages=Ett|ttmm||L",
                           "pp=4,schedule=interleaved,vpp=2,stages=Et|t|t|t|||mm|L"}));
  return chosen;
}

// Layouts whose states are gathered and reduced by layer, or cut over some of the data ranks.
inline std::vector<Layout> sharded_layouts_of(int ranks) {
  static int turn = 0;
  return of_ranks(ranks, turn,
                  {"dp=2,zero=2",
                   "dp=2,zero=2,overlap_grad_reduce,overlap_param_gather",
                   "dp=2,zero=2,mbs=2",
                   "dp=2,zero=3",
                   "dp=2,zero=3,mbs=2,recompute=full",
                   "dp=2,zero=3,recompute=full,recompute_num_layers=2",
                   "dp=2,zero=2,fsdp=block",
                   "dp=2,zero=3,fsdp=block",
                   "dp=2,zero=3,fsdp=block,recompute=full",
                   "dp=2,zero=3,fsdp=module",
                   "dp=2,zero=3,fsdp=whole",
                   "dp=2,zero=3,fsdp=block,defer_grad_reduce,mbs=2",
                   "dp=2,zero=2,fsdp=whole,defer_grad_reduce",
                   "tp=2,dp=2,sp,zero=3,fsdp=block,defer_grad_reduce",
                   "dp=4,zero=3,fsdp=block,shard=2,defer_grad_reduce",
                   "dp=4,zero=2",
                   "dp=4,zero=3",
                   "dp=4,zero=1,shard=2",
                   "dp=4,zero=3,shard=2",
                   "dp=4,zero=3,fsdp=block,shard=2",
                   "dp=4,zero=2,fsdp=block,shard=2",
                   "tp=2,dp=2,zero=2",
                   "tp=2,dp=2,sp,zero=2",
                   "tp=2,dp=2,sp,zero=3",
                   "tp=2,dp=2,sp,zero=3,fsdp=block",
                   "pp=2,dp=2,zero=3,fsdp=block",
                   "pp=2,dp=2,zero=2,fsdp=block,mbs=2",
                   "dp=8,zero=3",
                   "dp=8,zero=3,fsdp=block,shard=4",
                   "tp=2,dp=4,sp,zero=2",
                   "tp=2,dp=4,sp,zero=3,fsdp=block,shard=2",
                   "pp=2,dp=4,zero=3,fsdp=block"});
}

// Activations or optimizer states on the host.
inline std::vector<Layout> offloading_layouts_of(int ranks) {
  static int turn = 0;
  return of_ranks(
      ranks, turn,
      {"offload=2,mbs=2", "optimizer_offload,offload=3", "optimizer_offload",
       "offload_modules=qkv_linear+core_attn+attn_proj,mbs=2",
       "offload_modules=qkv_linear+core_attn,recompute=selective",
       "offload_modules=core_attn,recompute=full,recompute_method=block,recompute_num_layers=2",
       "tp=2,offload=1", "tp=2,sp,offload_modules=qkv_linear+core_attn+attn_proj",
       "dp=2,zero=1,optimizer_offload", "dp=2,zero=2,optimizer_offload,offload=2",
       "dp=2,zero=3,fsdp=block,optimizer_offload,offload=3",
       "pp=2,mbs=2,optimizer_offload,offload_modules=core_attn+attn_proj",
       "pp=2,schedule=zb_h1,mbs=2,offload_modules=qkv_linear+core_attn+attn_proj",
       "cp=2,offload=2,optimizer_offload", "tp=2,dp=2,sp,zero=1,optimizer_offload,offload=3",
       "pp=2,dp=2,zero=1,optimizer_offload,offload_modules=qkv_linear+core_attn+attn_proj"});
}

// The same for models with experts.
inline std::vector<Layout> offloading_expert_layouts_of(int ranks) {
  static int turn = 0;
  return of_ranks(
      ranks, turn,
      {"offload=3", "offload_modules=expert_fc1+moe_act+mlp_norm",
       "dp=2,ep=2,offload_modules=expert_fc1+moe_act,recompute=selective,recompute_modules=moe_"
       "act",
       "dp=2,ep=2,dispatcher=allgather,optimizer_offload,offload=2",
       "tp=2,sp,ep=2,etp=1,optimizer_offload,offload_modules=expert_fc1+moe_act+core_attn"});
}

// Recomputes a part that a model without attention does not have.
inline bool needs_attention(const Layout& l) {
  return recomputes_module(l, kRecomputeCoreAttention);
}

}  // namespace meshwright::calibrate
