// SPDX-License-Identifier: Apache-2.0
#include "sim/step/pairing.h"

#include <gtest/gtest.h>

#include "sim/step/chunk.h"
#include "tests/unit/sim/volume/volume_fixture.h"

namespace meshwright {
namespace {

Seconds of(Interleaving interleaving, int pieces, double communication, double compute) {
  const Pairing pairing{{"mlp.fc1"}, LinearPass::forward, interleaving, pieces};
  return exposed_time(pairing, seconds(communication), seconds(compute), 0.1);
}

// Whole beside whole: 5 - 4 + 0.1 * 4.
TEST(ExposedTime, OfATransferBesideAProductIsWhatSticksOut) {
  EXPECT_DOUBLE_EQ(of(Interleaving::beside, 1, 5, 4).value(), 1.4);
}

// Four pieces: three hops of 5/3 beside three quarters of 4 = 3: 5 - 3 + 0.1 * 3.
TEST(ExposedTime, OfARingHasNoHopBesideOnePiece) {
  EXPECT_DOUBLE_EQ(of(Interleaving::ring, 4, 5, 4).value(), 2.3);
}

// Four pieces of 2: the last beside nothing, 2/4; the others, 1.5, within 3 of compute: 0.15.
TEST(ExposedTime, OfADrainHasItsLastPieceBesideNothing) {
  EXPECT_DOUBLE_EQ(of(Interleaving::drain, 4, 2, 4).value(), 0.65);
}

Transfer named(std::string_view name, Phase phase, int size) {
  Transfer transfer;
  transfer.name = name;
  transfer.phase = phase;
  transfer.group_size = size;
  return transfer;
}

TEST(Pairing, GivesEachTransferTheProductNextToIt) {
  const Pairing gather = pairing_of(named("MLP input all-gather", Phase::forward, 8));
  EXPECT_EQ(gather, (Pairing{{"mlp.fc1"}, LinearPass::forward, Interleaving::ring, 8}));
  const Pairing scatter = pairing_of(named("attention output reduce-scatter", Phase::recompute, 8));
  EXPECT_EQ(
      scatter,
      (Pairing{{"attention.projection"}, LinearPass::forward, Interleaving::drain, kDrainPieces}));
  const Pairing reduce = pairing_of(named("MLP input gradient reduce-scatter", Phase::backward, 8));
  EXPECT_EQ(reduce, (Pairing{{"mlp.fc1"}, LinearPass::weight_gradient}));
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
      EXPECT_NE(pairing_of(t).operators[0], "none") << t.name;
    }
  }
}

}  // namespace
}  // namespace meshwright
