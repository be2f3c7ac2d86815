// SPDX-License-Identifier: Apache-2.0
#include "sim/step/pairing.h"

#include <gtest/gtest.h>

#include <utility>

#include "sim/step/unit_cost.h"
#include "tests/unit/sim/volume/volume_fixture.h"

namespace meshwright {
namespace {

Seconds exposed_of(Interleaving interleaving, int pieces, double communication, double compute) {
  const Pairing pairing{{"mlp.fc1"}, LinearPass::forward, interleaving, pieces};
  return exposed_time(pairing, seconds(communication), seconds(compute), 0.1);
}

// Whole beside whole: 5 - 4 + 0.1 * 4.
TEST(ExposedTime, OfATransferBesideAProductIsWhatSticksOut) {
  EXPECT_DOUBLE_EQ(exposed_of(Interleaving::beside, 1, 5, 4).value(), 1.4);
}

// Four pieces: three hops of 5/3 beside three quarters of 4 = 3: 5 - 3 + 0.1 * 3.
TEST(ExposedTime, OfARingHasNoHopBesideOnePiece) {
  EXPECT_DOUBLE_EQ(exposed_of(Interleaving::ring, 4, 5, 4).value(), 2.3);
}

// Four pieces of 2: the last beside nothing, 2/4; the others, 1.5, within 3 of compute: 0.15.
TEST(ExposedTime, OfADrainHasItsLastPieceBesideNothing) {
  EXPECT_DOUBLE_EQ(exposed_of(Interleaving::drain, 4, 2, 4).value(), 0.65);
}

Transfer named(std::string_view name, Phase phase, int size) {
  Transfer transfer;
  transfer.name = name;
  transfer.phase = phase;
  transfer.group_size = size;
  return transfer;
}

TEST(Pairing, GivesEachTransferTheProductNextToIt) {
  const Pairing gather = pairing_of(named("MLP input all-gather", Phase::forward, 8), {});
  EXPECT_EQ(gather, (Pairing{{"mlp.fc1"}, LinearPass::forward, Interleaving::ring, 8}));
  const Pairing scatter =
      pairing_of(named("attention output reduce-scatter", Phase::recompute, 8), {});
  EXPECT_EQ(scatter, (Pairing{{"attention.projection", "recurrent.projection"},
                              LinearPass::forward,
                              Interleaving::drain,
                              kDrainPieces}));
  const Pairing reduce =
      pairing_of(named("MLP input gradient reduce-scatter", Phase::backward, 8), {});
  EXPECT_EQ(reduce, (Pairing{{"mlp.fc1"}, LinearPass::weight_gradient}));
}

Pairing of_tokens(std::string_view name, Phase phase, const Layout& layout) {
  Transfer transfer = named(name, phase, 8);
  transfer.group = Group::expert;
  return pairing_of(transfer, layout);
}

// Forward of one micro-batch beside backward of another.
TEST(Pairing, TokensTravelBesideTheOtherMicroBatch) {
  Layout layout;
  layout.overlap_moe_expert_parallel_comm = true;
  const auto pair = [&](std::string_view name, Phase phase) {
    const Pairing pairing = of_tokens(name, phase, layout);
    return std::pair{pairing.partner, pairing.pass};
  };
  EXPECT_EQ(pair("expert dispatch all-to-all", Phase::forward),
            std::pair(Partner::experts, LinearPass::backward));
  EXPECT_EQ(pair("expert combine all-to-all", Phase::forward),
            std::pair(Partner::attention, LinearPass::backward));
  EXPECT_EQ(pair("expert dispatch gradient all-to-all", Phase::backward),
            std::pair(Partner::experts, LinearPass::forward));
  EXPECT_EQ(pair("expert combine gradient all-to-all", Phase::backward),
            std::pair(Partner::attention, LinearPass::forward));
  layout.delay_wgrad_compute = true;
  EXPECT_EQ(pair("expert dispatch all-to-all", Phase::forward),
            std::pair(Partner::experts, LinearPass::input_gradient));
}

TEST(Pairing, ASharedExpertRunsWhileTokensTravel) {
  Layout layout;
  layout.moe_shared_expert_overlap = true;
  EXPECT_EQ(of_tokens("expert dispatch all-to-all", Phase::forward, layout),
            (Pairing{{"shared_expert.fc1"}, LinearPass::forward}));
  EXPECT_EQ(of_tokens("expert combine gradient all-to-all", Phase::backward, layout),
            (Pairing{{"shared_expert.fc2"}, LinearPass::backward}));
}

// Every transfer that overlaps has operators to run beside: cut to nothing, its product's time is
// not among the layer's.
TEST(Pairing, KnowsEveryTransferOfALayerThatOverlaps) {
  Layout layout;
  layout.tensor_parallel_size = 2;
  layout.context_parallel_size = 2;
  layout.tp_comm_overlap = true;
  for (const bool sequence : {false, true}) {
    layout.sequence_parallel = sequence;
    Chunk chunk;
    chunk.num_layers = 1;
    chunk.head = true;
    for (const Transfer& t :
         chunk_transfers(volume_test::small_model(), volume_test::small_job(), layout, chunk, 1)) {
      if (!t.overlappable) continue;
      EXPECT_NE(pairing_of(t, layout).operators[0], "none") << t.name;
    }
  }
}

}  // namespace
}  // namespace meshwright
