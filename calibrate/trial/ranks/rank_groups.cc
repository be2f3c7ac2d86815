// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/rank_groups.h"

namespace meshwright::calibrate {

RankGroups::RankGroups(const Layout& layout, int rank, const GroupCommunicators& made,
                       Recorder& recorder, const MessageEdge& edge)
    : at(coordinates(layout, rank)),
      tensor(made.tensor, Group::tensor, recorder, edge),
      context(made.context, Group::context, recorder, edge),
      data(made.data, Group::data, recorder, edge),
      pipeline(made.pipeline, Group::pipeline, recorder, edge),
      embedding(made.embedding, Group::embedding, recorder, edge),
      mirrored(made.mirrored, Group::pipeline, recorder, edge),
      expert(made.expert, Group::expert, recorder, edge),
      expert_tensor(made.expert_tensor, Group::expert_tensor, recorder, edge),
      expert_data(made.expert_data, Group::expert_data, recorder, edge),
      data_shard(made.data_shard, Group::data, recorder, edge),
      data_copies(made.data_copies, Group::data, recorder, edge),
      expert_data_shard(made.expert_data_shard, Group::expert_data, recorder, edge),
      expert_data_copies(made.expert_data_copies, Group::expert_data, recorder, edge) {
  if (made.pipeline_backward == nullptr) return;
  gradients_.emplace(made.pipeline_backward, Group::pipeline, recorder, edge);
}

RankGroups::RankGroups(const Layout& layout, Communicator& ranks, Recorder& recorder,
                       const MessageEdge& edge)
    : RankGroups(layout, ranks.rank(), GroupCommunicators(layout, ranks), recorder, edge) {}

}  // namespace meshwright::calibrate
