// SPDX-License-Identifier: Apache-2.0
// Rules of stages: layers, schedules, lists of stages.
#include <gtest/gtest.h>

#include "tests/unit/sim/layout/listed.h"
#include "tests/unit/sim/rules/rules_fixture.h"

namespace meshwright::rules_test {
namespace {

TEST(Rules, LayersDivideByPipelineSize) {
  EXPECT_EQ(broken(dense(), piped(5)), "layers_divide_by_pipeline_size");
  EXPECT_EQ(broken(dense(), piped(96)), "layers_divide_by_pipeline_size");
  Layout layout = piped(5);
  layout.num_layers_in_first_pipeline_stage = 8;  // 40 / 4
  EXPECT_EQ(broken(dense(), layout), kNone);
}

TEST(Rules, LayersDivideByVirtualPipelineSize) {
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::interleaved, 4)),
            "layers_divide_by_virtual_pipeline_size");
}

TEST(Rules, InterleavingNeedsPipeline) {
  EXPECT_EQ(broken(dense(), piped(1, PipelineSchedule::interleaved, 2)),
            "interleaving_needs_pipeline");
  Layout layout = piped(2, PipelineSchedule::interleaved, 2);
  EXPECT_EQ(broken(dense(), layout), "interleaving_needs_pipeline");
  layout.overlap_p2p_comm = true;
  EXPECT_EQ(broken(dense(), layout), kNone);
}

TEST(Rules, InterleavingNeedsMicroBatchesMultipleOfPipeline) {
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::interleaved, 3), 60),
            "interleaving_needs_micro_batches_multiple_of_pipeline");
}

TEST(Rules, ScheduleNeedsPipeline) {
  EXPECT_EQ(broken(dense(), piped(1, PipelineSchedule::zb_h1)), "schedule_needs_pipeline");
}

TEST(Rules, ScheduleFixesVirtualSize) {
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::zb_v, 1)), "schedule_fixes_virtual_size");
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::one_f_one_b, 2)),
            "schedule_fixes_virtual_size");
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::interleaved, 1)),
            "schedule_fixes_virtual_size");
}

// 8 stages: ZB-H2 needs 15 micro-batches, DualPipe 16 and an even number.
TEST(Rules, ScheduleNeedsMicroBatches) {
  const std::string_view rule = "schedule_needs_micro_batches";
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::zb_h2), 14), rule);
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::zb_h2), 15), kNone);
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::dualpipe, 2), 14), rule);
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::dualpipe, 2), 17), rule);
}

// Nanotron's engine asserts p - 1 micro-batches; its stages need not divide, but each needs a
// block, and their number is nobody else's to give.
TEST(Rules, NanotronNeedsFilledStagesAndMicroBatches) {
  Layout layout = piped(8);
  layout.pipeline_engine = PipelineEngine::nanotron;
  EXPECT_EQ(broken(dense(), layout, 7), kNone);
  EXPECT_EQ(broken(dense(), layout, 6), "schedule_needs_micro_batches");
  layout.num_layers_in_first_pipeline_stage = 1;
  EXPECT_EQ(broken(dense(), layout), "one_way_of_uneven_stages");
  layout = piped(4 * dense().num_layers);
  layout.pipeline_engine = PipelineEngine::nanotron;
  EXPECT_EQ(broken(dense(), layout), "layers_divide_by_pipeline_size");
}

TEST(Rules, DualPipeNeedsEvenPipeline) {
  EXPECT_EQ(broken(dense(), piped(3, PipelineSchedule::dualpipe, 2)),
            "dualpipe_needs_even_pipeline");
}

TEST(Rules, UnevenStagesLeaveLayersForTheRest) {
  const std::string_view rule = "uneven_stages_leave_layers_for_the_rest";
  Layout layout = piped(4);
  layout.num_layers_in_first_pipeline_stage = 24;
  layout.num_layers_in_last_pipeline_stage = 24;
  EXPECT_EQ(broken(dense(), layout), rule);
  layout.pipeline_parallel_size = 2;
  EXPECT_EQ(broken(dense(), layout), kNone);
  layout.num_layers_in_last_pipeline_stage = 23;
  EXPECT_EQ(broken(dense(), layout), rule);
  layout.pipeline_parallel_size = 1;
  EXPECT_EQ(broken(dense(), layout), rule);
}

}  // namespace

// 48 layers.
std::vector<Broken> pipeline_layout_cases() {
  return {
      with({"pipeline_layout_stands_alone",
            "pipeline_layout is Et*20|t*28L with num_layers_in_first_pipeline_stage 20, "
            "num_layers_in_last_pipeline_stage 0, account_for_embedding_in_pipeline_split off, "
            "account_for_loss_in_pipeline_split off and pipeline_engine megatron"},
           [](Broken& b) {
             b.layout = piped(2);
             b.layout.pipeline_layout = listed("Et*20|t*28L");
             b.layout.num_layers_in_first_pipeline_stage = 20;
           }),
      with({"pipeline_layout_stands_alone",
            "pipeline_layout is Et*12|(t*12|)*2t*12L with num_layers_in_first_pipeline_stage 0, "
            "num_layers_in_last_pipeline_stage 0, account_for_embedding_in_pipeline_split off, "
            "account_for_loss_in_pipeline_split off and pipeline_engine nanotron"},
           [](Broken& b) {
             b.layout = piped(4);
             b.layout.pipeline_engine = PipelineEngine::nanotron;
             b.layout.pipeline_layout = listed("Et*12|t*12|t*12|t*12L");
           }),
      with({"pipeline_layout_fills_the_stages",
            "pipeline_layout Et*12|(t*12|)*2t*12L lists 4 chunks; pipeline_parallel_size 2 with "
            "virtual_pipeline_parallel_size 2 and schedule dualpipe needs 2"},
           [](Broken& b) {
             b.layout = piped(2, PipelineSchedule::dualpipe, 2);
             b.layout.pipeline_layout = listed("Et*12|t*12|t*12|t*12L");
           }),
      with({"pipeline_layout_fills_the_stages",
            "pipeline_layout Et*20|t*28L lists 2 chunks; pipeline_parallel_size 4 with "
            "virtual_pipeline_parallel_size 1 and schedule 1f1b needs 4"},
           [](Broken& b) {
             b.layout = piped(4);
             b.layout.pipeline_layout = listed("Et*20|t*28L");
           }),
      with({"pipeline_layout_holds_the_model",
            "pipeline_layout Et*20|t*27L lists 47 t and 0 m, num_layers is 48 and mtp_num_layers "
            "0"},
           [](Broken& b) {
             b.layout = piped(2);
             b.layout.pipeline_layout = listed("Et*20|t*27L");
           }),
      with({"pipeline_layout_holds_the_model",
            "pipeline_layout Et*20|t*28L lists 48 t and 0 m, num_layers is 48 and mtp_num_layers "
            "1"},
           [](Broken& b) {
             b.layout = piped(2);
             b.model.mtp_num_layers = 1;
             b.layout.pipeline_layout = listed("Et*20|t*28L");
           }),
      with({"pipeline_layout_places_mtp",
            "pipeline_layout Et*20|t*28m|m|L has m in 2 of its chunks, or in one that is not the "
            "last of a stage from the second on, with pipeline_parallel_size 4"},
           [](Broken& b) {
             b.layout = piped(4);
             b.model.mtp_num_layers = 2;
             b.layout.pipeline_layout = listed("Et*20|t*28m|m|L");
           }),
      with({"pipeline_layout_places_mtp",
            "pipeline_layout Et*20|t*28|m|L has m in 1 of its chunks, or in one that is not the "
            "last of a stage from the second on, with pipeline_parallel_size 2"},
           [](Broken& b) {
             b.layout = piped(2, PipelineSchedule::interleaved, 2);
             b.layout.overlap_p2p_comm = true;
             b.model.mtp_num_layers = 1;
             b.layout.pipeline_layout = listed("Et*20|t*28|m|L");
           }),
  };
}

std::vector<Broken> pipeline_cases() {
  return {
      with({"one_way_of_uneven_stages",
            "num_layers_in_first_pipeline_stage 8 and num_layers_in_last_pipeline_stage 0 are set "
            "beside account_for_embedding_in_pipeline_split off and "
            "account_for_loss_in_pipeline_split on"},
           [](Broken& b) {
             b.layout = piped(5);
             b.layout.num_layers_in_first_pipeline_stage = 8;
             b.layout.account_for_loss_in_pipeline_split = true;
           }),
      with({"one_way_of_uneven_stages",
            "num_layers_in_first_pipeline_stage 1 and num_layers_in_last_pipeline_stage 0 are set, "
            "account_for_embedding_in_pipeline_split off and account_for_loss_in_pipeline_split "
            "off, but pipeline_engine is nanotron"},
           [](Broken& b) {
             b.layout = piped(8);
             b.layout.pipeline_engine = PipelineEngine::nanotron;
             b.layout.num_layers_in_first_pipeline_stage = 1;
           }),
      with({"layers_divide_by_pipeline_size",
            "num_layers 48 is not divisible by pipeline_parallel_size 5"},
           [](Broken& b) { b.layout = piped(5); }),
      with({"layers_divide_by_pipeline_size",
            "num_layers 48 + 1 for embedding and loss is not divisible by pipeline_parallel_size "
            "5"},
           [](Broken& b) {
             b.layout = piped(5), b.layout.account_for_loss_in_pipeline_split = true;
           }),
      with({"layers_divide_by_pipeline_size",
            "num_layers_in_first_pipeline_stage 7 and num_layers_in_last_pipeline_stage 0 of "
            "num_layers 48 leave 41 layers, not divisible by the 4 other stages of "
            "pipeline_parallel_size 5"},
           [](Broken& b) { b.layout = piped(5), b.layout.num_layers_in_first_pipeline_stage = 7; }),
      with({"layers_divide_by_virtual_pipeline_size",
            "a stage has 6 of num_layers 48, not divisible by virtual_pipeline_parallel_size 4"},
           [](Broken& b) { b.layout = piped(8, PipelineSchedule::interleaved, 4); }),
      with({"interleaving_needs_pipeline",
            "schedule interleaved with overlap_p2p_comm off needs pipeline_parallel_size 3 or "
            "more, it is 2"},
           [](Broken& b) { b.layout = piped(2, PipelineSchedule::interleaved, 2); }),
      with({"interleaving_needs_micro_batches_multiple_of_pipeline",
            "the number of micro-batches, 60, is not divisible by pipeline_parallel_size 8"},
           [](Broken& b) {
             b.layout = piped(8, PipelineSchedule::interleaved, 3), b.sequences = 60;
           }),
      with({"schedule_needs_pipeline",
            "schedule zb_h1 needs pipeline_parallel_size 2 or more, it is 1"},
           [](Broken& b) { b.layout = piped(1, PipelineSchedule::zb_h1); }),
      with({"schedule_fixes_virtual_size",
            "schedule zb_v needs virtual_pipeline_parallel_size 2, it is 1"},
           [](Broken& b) { b.layout = piped(8, PipelineSchedule::zb_v); }),
      with({"schedule_fixes_virtual_size",
            "schedule interleaved needs virtual_pipeline_parallel_size 2 or more, it is 1"},
           [](Broken& b) { b.layout = piped(8, PipelineSchedule::interleaved); }),
      with({"schedule_needs_micro_batches",
            "schedule zb_h2 with pipeline_parallel_size 8 needs at least 15 micro-batches, there "
            "are 14"},
           [](Broken& b) { b.layout = piped(8, PipelineSchedule::zb_h2), b.sequences = 14; }),
      with({"schedule_needs_micro_batches",
            "schedule dualpipe with pipeline_parallel_size 8 needs a multiple of 2 micro-batches, "
            "there are 17"},
           [](Broken& b) { b.layout = piped(8, PipelineSchedule::dualpipe, 2), b.sequences = 17; }),
      with({"dualpipe_needs_even_pipeline",
            "schedule dualpipe needs a pipeline_parallel_size that is a multiple of 2, it is 3"},
           [](Broken& b) { b.layout = piped(3, PipelineSchedule::dualpipe, 2); }),
      with({"uneven_stages_leave_layers_for_the_rest",
            "num_layers_in_first_pipeline_stage 24 and num_layers_in_last_pipeline_stage 24 of "
            "num_layers 48 leave 0 layers for 2 other stages of pipeline_parallel_size 4"},
           [](Broken& b) {
             b.layout = piped(4);
             b.layout.num_layers_in_first_pipeline_stage = 24;
             b.layout.num_layers_in_last_pipeline_stage = 24;
           }),
  };
}

}  // namespace meshwright::rules_test
