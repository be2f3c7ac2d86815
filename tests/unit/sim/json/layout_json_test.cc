// SPDX-License-Identifier: Apache-2.0
// Layouts under software and drawn ones. Words and JSON of others: cases/layout.txt.
#include <gtest/gtest.h>

#include "sim/hardware/framework.h"
#include "sim/json/records.h"
#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"
#include "tests/unit/sim/layout/layout_draws.h"

namespace meshwright {
namespace {

TEST(LayoutText, WhatIsNotSaidIsAsTheFrameworkHasIt) {
  Framework framework;
  framework.defaults.layout.pipeline_engine = PipelineEngine::nanotron;
  const Layout defaults = framework.defaults.layout;
  EXPECT_EQ(layout_from_text(""), Layout{});
  EXPECT_EQ(layout_from_text("", defaults).pipeline_engine, PipelineEngine::nanotron);
  EXPECT_EQ(layout_from_text("pp=4", defaults).pipeline_engine, PipelineEngine::nanotron);
  EXPECT_EQ(layout_from_text("pp=4,pipeline_engine=megatron", defaults).pipeline_engine,
            PipelineEngine::megatron);
}

// A layout that tables print can be pasted.
TEST(LayoutText, ReadsWhatShortNameWrites) {
  LayoutDraws draws;
  for (int i = 0; i < 5000; ++i) {
    const Layout layout = draws.next();
    EXPECT_EQ(layout_from_text(short_name(layout)), layout) << short_name(layout);
    EXPECT_NO_THROW(layout_from_text(brief_name(layout))) << brief_name(layout);
  }
  Layout plain;
  EXPECT_EQ(layout_from_text(short_name(plain)), plain);
  plain.recompute_modules = {0};
  EXPECT_EQ(layout_from_text(short_name(plain)), plain);
}

TEST(ShortName, SaysWhatSoftwareSetsAndTheLayoutLacks) {
  Layout software;
  software.zero_stage = 3;
  software.fsdp_unit = FsdpUnit::block;
  software.moe_token_dispatcher_type = MoeTokenDispatcherType::flex;
  software.moe_flex_dispatcher_backend = MoeFlexDispatcherBackend::hybridep;
  for (const char* text : {"dp2,zero0,fsdp=block", "dp2,ep2,fsdp=block,dispatcher=alltoall",
                           "dp2,ep2,fsdp=block,zero2,dispatcher=flex,backend=deepep"}) {
    const Layout layout = layout_from_text(text);
    EXPECT_EQ(layout_from_text(short_name(layout), software), layout) << short_name(layout);
  }
}

}  // namespace
}  // namespace meshwright
