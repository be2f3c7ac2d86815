// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/stated_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_launch/document.h"
#include "interop/read_launch/read_launch.h"
#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

using testing::ElementsAre;

Values stated(const std::string& yaml, const std::map<std::string, std::string>& variables) {
  LaunchHints hints;
  hints.variables = variables;
  return with_stated(values_of_yaml(yaml, "f.yaml"), hints);
}

TEST(StatedValues, StandInThePlaceOfTheDocuments) {
  Values whole = stated("model: { a: 1, b: 2 }\n", {{"model.a", "3"}});
  EXPECT_EQ(integer_of(*whole.find("model.a"), {}), 3);
  EXPECT_EQ(integer_of(*whole.find("model.b"), {}), 2);
  Values ending = stated("model: { a-b: 1 }\n", {{"a_b", "3"}});
  EXPECT_EQ(integer_of(*ending.find("model.a-b"), {}), 3);
  Values added = stated("model: { a: 1 }\n", {{"model.c", "[x,y]"}, {"d", "5"}});
  EXPECT_THAT(added.find("model.c")->words, ElementsAre("x", "y"));
  EXPECT_EQ(integer_of(*added.find("model.d"), {}), 5);
  Values gone = stated("model: { a: 1 }\n", {{"model.a", "null"}});
  EXPECT_FALSE(gone.has("model.a"));
}

TEST(StatedValues, VariablesOfTheEnvironmentAreNoKeys) {
  Values named = stated("a: ${tp:4}\n", {{"tp", "8"}});
  EXPECT_FALSE(named.has("tp"));
  Values script = stated("a: 1\n", {{"GPUS", "8"}});
  EXPECT_FALSE(script.has("GPUS"));
}

TEST(StatedValues, OneNameOfSeveralKeysIsRefused) {
  EXPECT_THROW(stated("a: { x: 1 }\nb: { x: 2 }\n", {{"x", "3"}}), InputError);
}

TEST(StatedValues, AreTakenByFormatsThatReadTheTextThemselves) {
  LaunchHints hints;
  hints.variables = {{"parallelism.tensor_parallel_degree", "4"}, {"local_batch_size", "2"}};
  hints.seq_length = 4096;
  const LaunchRecord titan = read_launch(
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 8\nseq_len = "
      "8192\n"
      "[parallelism]\ntensor_parallel_degree = 1\n",
      "t.toml", hints);
  EXPECT_EQ(titan.layout.tensor_parallel_size, 4);
  EXPECT_EQ(titan.layout.micro_batch_size, 2);
}

}  // namespace
}  // namespace meshwright::interop
