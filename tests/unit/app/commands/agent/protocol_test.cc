// SPDX-License-Identifier: Apache-2.0
// The Model Context Protocol, message by message: what an agent's client sends and gets.
#include "app/commands/agent/protocol.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "app/commands/commands.h"
#include "app/console/build.h"
#include "app/console/exit_code.h"
#include "app/options/command.h"
#include "app/options/value_names.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class McpTest : public testing::Test {
 protected:
  McpTest() : app_("", "meshwright"), commands_(app_) {
    for (const auto add : kAddEach) add(commands_);
    name_values(app_);
    program_ = command_text(app_);
  }

  // The answer's result or error, of a program that says `said` and keeps what it was asked.
  Json answer(const std::string& method, const Json& params = Json::object()) {
    const Json message{{"jsonrpc", "2.0"}, {"id", 7}, {"method", method}, {"params", params}};
    const auto line = protocol_answer(program_, message.dump(), [this](const auto& words) {
      asked_ = words;
      return said_;
    });
    const Json parsed = Json::parse(line.value());
    EXPECT_EQ(parsed.at("id"), 7);
    return parsed.contains("result") ? parsed.at("result") : parsed.at("error");
  }
  Json call(const std::string& tool, const Json& arguments) {
    return answer("tools/call", {{"name", tool}, {"arguments", arguments}});
  }
  static std::string text_of(const Json& result) {
    return result.at("content").at(0).at("text").get<std::string>();
  }

  CLI::App app_;
  Commands commands_;
  CommandText program_;
  Answered said_{kDone, "an answer\n", ""};
  std::vector<std::string> asked_;
};

TEST_F(McpTest, BeginsWithTheClientsRevisionOrTheNewest) {
  const Json known = answer("initialize", {{"protocolVersion", "2025-03-26"}});
  EXPECT_EQ(known.at("protocolVersion"), "2025-03-26");
  EXPECT_EQ(known.at("serverInfo").at("version"), kVersion);
  EXPECT_TRUE(known.at("capabilities").contains("tools"));
  EXPECT_EQ(answer("initialize", {{"protocolVersion", "1999"}}).at("protocolVersion"),
            "2025-11-25");
  EXPECT_EQ(answer("ping"), Json::object());
}

TEST_F(McpTest, ToolsHaveTheOptionsOfTheirCommands) {
  std::vector<std::string> names;
  const Json listed = answer("tools/list");
  for (const Json& tool : listed.at("tools")) {
    names.push_back(tool.at("name"));
    EXPECT_FALSE(tool.at("description").get<std::string>().empty());
    EXPECT_EQ(tool.at("inputSchema").at("type"), "object");
    for (const auto& [key, property] : tool.at("inputSchema").at("properties").items()) {
      EXPECT_TRUE(property.contains("description")) << names.back() << "/" << key;
    }
  }
  EXPECT_THAT(names, ElementsAre("plan", "estimate", "review", "serve", "capacity", "explain",
                                 "models", "clusters"));
  const Json& plan = listed.at("tools").at(0).at("inputSchema");
  EXPECT_EQ(plan.at("required"), Json::array({"model", "cluster"}));
  EXPECT_EQ(plan.at("properties").at("find_gpus").at("type"), "boolean");
  // Every key that a tool names is an option. Three more are options, json_pointer and whole.
  EXPECT_EQ(plan.at("properties").size(), 14 + 3);
}

TEST_F(McpTest, ArgumentsAreWordsOfTheCommandLine) {
  call("plan", {{"model", "llama-3-8b"},
                {"cluster", "h100-8"},
                {"gpus", {8, 16}},
                {"global_batch_size", 64},
                {"find_gpus", false},
                {"options", {"--tp", "2,4"}}});
  EXPECT_THAT(asked_, ElementsAre("plan", "--model=llama-3-8b", "--cluster=h100-8", "--gpus=8,16",
                                  "--global-batch-size=64", "--tp", "2,4"));
  call("explain", {{"subject", "memory_capacity"}});
  EXPECT_THAT(asked_, ElementsAre("explain", "memory_capacity"));
  call("clusters", Json::object());
  EXPECT_THAT(asked_, ElementsAre("cluster", "list"));
}

TEST_F(McpTest, ARefusalIsAResultThatSaysWhatToDo) {
  EXPECT_THAT(text_of(call("plan", {{"modell", "x"}})),
              HasSubstr("arguments: /modell: is no argument of plan\n  hint: use model"));
  EXPECT_THAT(text_of(call("plan", {{"find_gpus", 3}})), HasSubstr("is true or false (got 3)"));
  EXPECT_THAT(text_of(call("plann", Json::object())), HasSubstr("no tool \"plann\""));
  EXPECT_EQ(call("plann", Json::object()).at("isError"), true);
  EXPECT_EQ(answer("tools/call", {{"name", 3}}).at("isError"), true);
  said_ = {kWrongInput, "", "meshwright: error: no\n"};
  const Json refused = call("plan", {{"model", "x"}});
  EXPECT_EQ(refused.at("isError"), true);
  EXPECT_EQ(refused.at("_meta").at("exit_code"), 2);
  EXPECT_EQ(text_of(refused), "meshwright: error: no\n");
  // A gate that failed is an answer.
  said_.exit_code = kGateFailed;
  EXPECT_EQ(call("plan", {{"model", "x"}}).at("isError"), false);
}

TEST_F(McpTest, NoAnswerIsLongerThanEightKilobytesUnlessAsked) {
  for (int line = 0; line < 1000; ++line) said_.out += "twenty characters..\n";
  const std::string cut = text_of(call("models", Json::object()));
  EXPECT_LE(cut.size(), 8000);
  EXPECT_THAT(cut, HasSubstr("..\n(cut at 8 kB"));
  EXPECT_GT(text_of(call("models", {{"whole", true}})).size(), 20'000);
  // No line ends, and each byte begins a character that does not follow: shown, not thrown.
  said_.out.assign(9001, '\xC3');
  EXPECT_LE(text_of(call("models", Json::object())).size(), 24'000);
}

TEST_F(McpTest, APointerLeadsIntoTheJson) {
  said_.out =
      Json{{"ranked", {{{"step_time_seconds", 2.5}}}}, {"notes", std::string(9000, 'n')}}.dump();
  EXPECT_EQ(text_of(call("plan", {{"json_pointer", "/ranked/0/step_time_seconds"}})), "2.5");
  EXPECT_EQ(asked_.back(), "--format=json");
  EXPECT_THAT(text_of(call("plan", {{"json_pointer", ""}})), HasSubstr("/ranked: 27 bytes\n"));
  EXPECT_THAT(text_of(call("plan", {{"json_pointer", "/notes"}})), HasSubstr("9002 bytes; ask"));
  EXPECT_THAT(text_of(call("plan", {{"json_pointer", "/rank"}})), HasSubstr("leads to nothing"));
  EXPECT_THAT(text_of(call("plan", {{"json_pointer", "ranked"}})), HasSubstr("begins with /"));
  EXPECT_THAT(text_of(call("plan", {{"json_pointer", "/ranked/01"}})), HasSubstr("to nothing"));
  EXPECT_THAT(text_of(call("plan", {{"json_pointer", "/~3"}})), HasSubstr("leads to nothing"));
}

TEST_F(McpTest, FaultsOfAMessageAreJsonRpcErrors) {
  const auto code = [this](const std::string& line) {
    const auto answered = protocol_answer(program_, line, [](const auto&) { return Answered{}; });
    return answered ? Json::parse(*answered).at("error").at("code").get<int>() : 0;
  };
  EXPECT_EQ(code("{"), -32700);
  EXPECT_EQ(code("[]"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc": "2.0", "id": 1, "method": "resources/list"})"), -32601);
  EXPECT_EQ(code(R"({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []})"), -32602);
  EXPECT_EQ(code(R"({"jsonrpc": "2.0", "method": "notifications/initialized"})"), 0);
  EXPECT_EQ(code(R"({"jsonrpc": "2.0", "id": 1, "result": {}})"), 0);
}

// The server itself, in a process: a plan with its confidence, then a name that is none.
TEST_F(McpTest, AnswersOnStandardInputAndOutput) {
  const test::TemporaryFolder folder;
  const Json plan{{"name", "plan"},
                  {"arguments", {{"model", "llama-3-8b"}, {"cluster", "h100-8"}}}};
  const Json wrong{{"name", "plan"}, {"arguments", {{"model", "no-such"}, {"cluster", "h100-8"}}}};
  std::string text;
  for (const Json& parameters : {plan, wrong}) {
    text += Json{{"jsonrpc", "2.0"}, {"id", 1}, {"method", "tools/call"}, {"params", parameters}}
                .dump() +
            "\n";
  }
  const std::string command = fmt::format("{} mcp < {} > {}", test::program(),
                                          folder.write("in", text), folder.path("out"));
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::istringstream lines(test::content_of(folder.path("out")));
  std::string first, second;
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_THAT(text_of(Json::parse(first).at("result")), HasSubstr("How sure:"));
  EXPECT_THAT(text_of(Json::parse(second).at("result")), HasSubstr("no-such: not found"));
}

}  // namespace
}  // namespace meshwright::app
