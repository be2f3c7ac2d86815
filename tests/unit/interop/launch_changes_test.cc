// SPDX-License-Identifier: Apache-2.0
// Changes of single words in scripts and configurations: what is not named keeps every byte.
#include "interop/write_launch/launch_changes.h"

#include <gtest/gtest.h>

#include "interop/shell/command_edit.h"
#include "interop/shell/shell_script.h"
#include "interop/write_launch/document_edit.h"

namespace meshwright::interop {
namespace {

class CommandEditTest : public testing::Test {
 protected:
  // The last command of a script.
  static CommandEdit edit_of(const std::string& script) {
    return {script, read_shell_script(script, "a.sh").commands.back()};
  }
  static const TypedOption& option(const CommandEdit& edit, const std::string& name) {
    for (const TypedOption& each : edit.options()) {
      if (each.name == name && each.is_there()) return each;
    }
    ADD_FAILURE() << name << " is not in the text";
    return edit.options().front();
  }
};

TEST_F(CommandEditTest, AValueIsReplacedWhereItsOptionStands) {
  const std::string script =
      "TP=8  # don't\nA=(--tp $TP --pp=2)\nB=\"--mbs ${MBS:-1}\"\n"
      "run \"${A[@]}\" $B --out \"$(date '+%F')\"\n";
  CommandEdit edit = edit_of(script);
  edit.set(option(edit, "--tp"), "4");
  edit.set(option(edit, "--pp"), "1");
  edit.set(option(edit, "--mbs"), "2");
  EXPECT_EQ(edit.text(),
            "TP=8  # don't\nA=(--tp 4 --pp=1)\nB=\"--mbs 2\"\n"
            "run \"${A[@]}\" $B --out \"$(date '+%F')\"\n");
}

TEST_F(CommandEditTest, AListIsReplacedAsAWhole) {
  CommandEdit edit = edit_of("run --modules core_attn mlp --x $Y\n");
  edit.set(option(edit, "--modules"), "moe_act");
  EXPECT_EQ(edit.text(), "run --modules moe_act --x $Y\n");
}

TEST_F(CommandEditTest, AnOptionGoesWithItsLineAndTheBackslashBeforeIt) {
  const std::string script = "run --tp 8 \\\n  --recompute \\\n  --sp\necho done\n";
  CommandEdit first = edit_of(script.substr(0, script.find("echo")));
  first.remove(option(first, "--recompute"));
  EXPECT_EQ(first.text(), "run --tp 8 \\\n  --sp\n");
  CommandEdit last = edit_of(script.substr(0, script.find("echo")));
  last.remove(option(last, "--sp"));
  EXPECT_EQ(last.text(), "run --tp 8 \\\n  --recompute\n");
  CommandEdit inside = edit_of("run --tp 8 --sp --pp 2\n");
  inside.remove(option(inside, "--sp"));
  EXPECT_EQ(inside.text(), "run --tp 8 --pp 2\n");
  CommandEdit array = edit_of("A=(\n  --bf16  # half\n  --sp\n)\nrun ${A[@]}\n");
  array.remove(option(array, "--sp"));
  EXPECT_EQ(array.text(), "A=(\n  --bf16  # half\n)\nrun ${A[@]}\n");
}

TEST_F(CommandEditTest, AnOptionIsAddedAsTheScriptBreaksItsLines) {
  CommandEdit lines = edit_of("run \\\n    --tp 8 \\\n    --sp\n");
  lines.add_behind(option(lines, "--tp"), "--pp 2");
  EXPECT_EQ(lines.text(), "run \\\n    --tp 8 \\\n    --pp 2 \\\n    --sp\n");
  CommandEdit array = edit_of("A=(\n  --tp 8\n)\nrun ${A[@]}\n");
  array.add_behind(option(array, "--tp"), "--pp 2");
  EXPECT_EQ(array.text(), "A=(\n  --tp 8\n  --pp 2\n)\nrun ${A[@]}\n");
  CommandEdit line = edit_of("run --tp 8 --sp\n");
  line.add_behind(option(line, "--sp"), "--pp 2");
  EXPECT_EQ(line.text(), "run --tp 8 --sp --pp 2\n");
}

TEST_F(CommandEditTest, ANameThatTheTextDoesNotHoldIsNotThere) {
  const CommandEdit edit = edit_of("N=tp\nrun --$N 8 --pp 2\n");
  ASSERT_EQ(edit.options().size(), 2U);
  EXPECT_FALSE(edit.options()[0].is_there());
  EXPECT_TRUE(edit.options()[1].is_there());
}

TEST(DocumentEdit, Yaml) {
  const std::string text = "a: 1  # one\nmodel:\n  tp: 8\n  x: {stage: 3, on: true}\n";
  const auto kind = LaunchTextKind::yaml;
  EXPECT_EQ(with_value(text, kind, "model.tp", "4"),
            "a: 1  # one\nmodel:\n  tp: 4\n  x: {stage: 3, on: true}\n");
  EXPECT_EQ(with_value(text, kind, "model.x.stage", "2"),
            "a: 1  # one\nmodel:\n  tp: 8\n  x: {stage: 2, on: true}\n");
  EXPECT_EQ(without_key(text, kind, "model.tp"),
            "a: 1  # one\nmodel:\n  x: {stage: 3, on: true}\n");
  EXPECT_EQ(without_key(text, kind, "model.x.on"),
            "a: 1  # one\nmodel:\n  tp: 8\n  x: {stage: 3}\n");
  EXPECT_EQ(with_new_key(text, kind, "model.pp", "2"),
            "a: 1  # one\nmodel:\n  tp: 8\n  pp: 2\n  x: {stage: 3, on: true}\n");
  EXPECT_EQ(with_new_key(text, kind, "model.optim.name", "adam"),
            "a: 1  # one\nmodel:\n  tp: 8\n  optim:\n    name: adam\n  x: {stage: 3, on: true}\n");
  EXPECT_EQ(with_value(text, kind, "model.none", "4"), std::nullopt);
}

TEST(DocumentEdit, Toml) {
  const std::string text = "[a]\nx = 1 # one\n\n[b]\nname = \"q\"\n";
  const auto kind = LaunchTextKind::toml;
  EXPECT_EQ(with_value(text, kind, "b.name", "full"), "[a]\nx = 1 # one\n\n[b]\nname = \"full\"\n");
  EXPECT_EQ(with_value(text, kind, "a.x", "2"), "[a]\nx = 2 # one\n\n[b]\nname = \"q\"\n");
  EXPECT_EQ(with_new_key(text, kind, "a.y", "2"), "[a]\nx = 1 # one\ny = 2\n\n[b]\nname = \"q\"\n");
  EXPECT_EQ(with_new_key(text, kind, "c.z", "true"), text + "\n[c]\nz = true\n");
}

TEST(DocumentEdit, Json) {
  const std::string text = "{\n  \"zero\": { \"stage\": 3, \"comm\": true },\n  \"n\": 2\n}\n";
  const auto kind = LaunchTextKind::json;
  EXPECT_EQ(with_value(text, kind, "zero.stage", "2"),
            "{\n  \"zero\": { \"stage\": 2, \"comm\": true },\n  \"n\": 2\n}\n");
  EXPECT_EQ(without_key(text, kind, "zero.comm"),
            "{\n  \"zero\": { \"stage\": 3 },\n  \"n\": 2\n}\n");
  EXPECT_EQ(with_new_key(text, kind, "tensor.size", "4"),
            "{\n  \"zero\": { \"stage\": 3, \"comm\": true },\n  \"n\": 2, \"tensor\": {\"size\": "
            "4}\n}\n");
}

TEST(LaunchChanges, AreWhatDiffers) {
  const auto changes = launch_changes({{"--tp", "8"}, {"--sp", ""}, {"--mbs", "1"}},
                                      {{"--tp", "4"}, {"--mbs", "1"}, {"--vpp", "2"}});
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[0].value_after, "4");
  EXPECT_FALSE(changes[1].before);
  EXPECT_EQ(changes[2].name, "--sp");
  EXPECT_FALSE(changes[2].after);
}

}  // namespace
}  // namespace meshwright::interop
