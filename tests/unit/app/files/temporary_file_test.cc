// SPDX-License-Identifier: Apache-2.0
#include "app/files/temporary_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/app/run_program.h"

namespace meshwright::app {
namespace {

using testing::ElementsAre;

constexpr char kLeft[] = ".plan.json.1.meshwright-tmp";

TEST(TemporaryFile, BecomesItsTargetAndNothingElseIsLeft) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(TemporaryFile(folder.path("plan.json")).become_target("whole"), 0);
  EXPECT_EQ(test::content_of(folder.path("plan.json")), "whole");
  EXPECT_THAT(folder.names(), ElementsAre("plan.json"));
}

TEST(TemporaryFile, WhatAKilledRunLeftIsRemovedByTheNextWrite) {
  const test::TemporaryFolder folder;
  folder.write(kLeft, "hal");
  EXPECT_EQ(TemporaryFile(folder.path("plan.json")).become_target("whole"), 0);
  EXPECT_THAT(folder.names(), ElementsAre("plan.json"));
}

TEST(TemporaryFile, WhatAnotherProcessWritesIsLeftAlone) {
  const test::TemporaryFolder folder;
  const Descriptor other(::open(folder.path(kLeft).c_str(), O_WRONLY | O_CREAT, 0600));
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  EXPECT_EQ(TemporaryFile(folder.path("plan.json")).become_target("whole"), 0);
  EXPECT_THAT(folder.names(), ElementsAre(kLeft, "plan.json"));
}

TEST(TemporaryFile, AFailedWriteLeavesTheTargetAsItWas) {
  const test::TemporaryFolder folder;
  folder.write("plan.json", "old");
  const std::string name(250, 'n');
  EXPECT_EQ(TemporaryFile(folder.path("no/plan.json")).become_target("whole"), ENOENT);
  EXPECT_EQ(TemporaryFile(folder.path(name)).become_target("whole"), 0);  // 255 bytes are allowed
  EXPECT_EQ(test::content_of(folder.path("plan.json")), "old");
  EXPECT_THAT(folder.names(), ElementsAre(name, "plan.json"));
}

TEST(TemporaryFile, ATargetKeepsItsOwnerAndWhoMayReadIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may write for somebody else";
  const test::TemporaryFolder folder;
  const std::string file = folder.write("plan.json", "old");
  ASSERT_EQ(::chown(file.c_str(), 12345, 23456), 0);
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  ASSERT_EQ(TemporaryFile(file).become_target("new"), 0);
  struct stat found {};
  ASSERT_EQ(::stat(file.c_str(), &found), 0);
  EXPECT_EQ(found.st_uid, 12345U);
  EXPECT_EQ(found.st_gid, 23456U);
  EXPECT_EQ(found.st_mode & 0777U, 0640U);
}

}  // namespace
}  // namespace meshwright::app
