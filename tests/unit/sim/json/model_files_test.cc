// SPDX-License-Identifier: Apache-2.0
// Every file in configs/models is read and has the parameters of the model that it names.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "sim/block/parameters.h"
#include "sim/json/records.h"
#include "tests/paths.h"

namespace meshwright {
namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(MESHWRIGHT_SOURCE_DIR) / "configs/models";

// Published counts as in tests/unit/interop/huggingface_published_test.cc. The GPT shapes by
// 12 l h^2 + 13 l h + (V + s) h + 2 h (Narayanan 2021, eq. 2, and the final norm); for
// quickstart-gpt 12*4*65536 + 13*4*256 + 1280*256 + 512 = 3,487,232. small-wide
// 12*2*262144 + 13*2*512 + 1280*512 + 1024. small-llama, a layer: 256*(256+128) + 256*256 +
// 3*256*704 + 512 = 705,024; four of them, 2*2048*256, and 256. small-moe, three layers with
// 256*8 + 9*3*256*352 in place of 3*256*704: 705,024 + 3*2,599,424 + 2*2048*256 + 256. small-mla,
// a layer: 256*96 + 96 + 96*384 + 256*80 + 64 + 64*512 + 256*256 + 3*256*704 + 512 = 721,568. The
// toy: 2 * 32,000,000 + 13,200.
const std::map<std::string, std::int64_t> kParameters = {
    {"bloom-176b", 176'247'271'424},
    {"codellama-13b", 13'016'028'160},
    {"codellama-34b", 33'743'970'304},
    {"codellama-7b", 6'738'546'688},
    {"codestral-22b", 22'247'282'688},
    {"deepseek-coder-1.3b", 1'346'471'936},
    {"deepseek-coder-33b", 33'342'991'360},
    {"deepseek-coder-6.7b", 6'740'512'768},
    {"deepseek-llm-67b", 67'425'001'472},
    {"deepseek-llm-7b", 6'910'365'696},
    {"deepseek-r1-distill-qwen-1.5b", 1'777'088'000},
    {"deepseek-v2", 235'741'434'880},
    {"deepseek-v2-lite", 15'706'484'224},
    {"deepseek-v3", 671'026'419'200},
    {"deepseek-v3.2", 671'877'944'064},
    {"deepseek-v4-flash", 284'332'241'239},
    {"dots.llm1", 142'774'381'696},
    {"ernie-4.5-21b-a3b", 21'825'437'888},
    {"falcon-180b", 178'557'088'768},
    {"falcon-40b", 41'303'293'952},
    {"falcon-7b", 6'921'720'704},
    {"falcon3-10b", 10'305'653'760},
    {"falcon3-7b", 7'455'550'464},
    {"gemma-2-27b", 27'227'128'320},
    {"gemma-2-2b", 2'614'341'888},
    {"gemma-2-9b", 9'241'705'984},
    {"gemma-2b", 2'506'172'416},
    {"gemma-3-12b", 11'766'034'176},
    {"gemma-3-1b", 999'885'952},
    {"gemma-3-270m", 268'098'176},
    {"gemma-3-27b", 27'009'346'304},
    {"gemma-3-4b", 3'880'263'168},
    {"gemma-7b", 8'537'680'896},
    {"glm-4-32b", 32'566'081'536},
    {"glm-4-9b", 9'400'279'040},
    {"glm-4-9b-chat", 9'399'951'360},
    {"glm-4.5", 352'797'829'024},
    {"glm-4.5-air", 106'852'251'264},
    {"glm-5", 743'911'218'432},
    {"glm-5.2", 743'377'019'904},
    {"gpt-1t", 1'008'038'758'400},
    {"gpt-22b", 22'074'273'792},
    {"gpt-530b", 529'600'819'200},
    {"gpt-neox-20b", 20'554'567'680},
    {"gpt-oss-120b", 116'829'156'672},
    {"gpt-oss-20b", 20'914'757'184},
    {"gpt2", 124'439'808},
    {"gpt2-large", 774'030'080},
    {"gpt2-medium", 354'823'168},
    {"gpt2-xl", 1'557'611'200},
    {"gpt3-175b", 174'615'846'912},
    {"granite-3.1-8b", 8'170'848'256},
    {"granite-3.3-2b", 2'533'539'840},
    {"granite-3.3-8b", 8'170'864'640},
    {"granite-4.0-h-small", 32'207'337'984},
    {"hunyuan-a13b", 80'393'183'232},
    {"kimi-k2", 1'026'408'232'448},
    {"kimi-k2.5", 1'026'408'232'448},
    {"kimi-linear-48b-a3b", 49'122'681'728},
    {"lfm2-1.2b", 1'170'340'608},
    {"llama-2-13b", 13'015'864'320},
    {"llama-2-70b", 68'976'648'192},
    {"llama-2-7b", 6'738'415'616},
    {"llama-3-405b", 405'853'388'800},
    {"llama-3-70b", 70'553'706'496},
    {"llama-3-8b", 8'030'261'248},
    {"llama-3.1-8b", 8'030'261'248},
    {"llama-3.2-1b", 1'235'814'400},
    {"llama-3.2-3b", 3'212'749'824},
    {"llama-4-maverick", 400'711'848'960},
    {"llama-4-scout", 107'769'861'120},
    {"minimax-m2.5", 228'689'336'320},
    {"ministral-8b", 8'019'808'256},
    {"mistral-7b", 7'241'732'096},
    {"mistral-7b-v0.3", 7'248'023'552},
    {"mistral-large-123b", 122'610'069'504},
    {"mistral-nemo-12b", 12'247'782'400},
    {"mistral-small-24b", 23'572'403'200},
    {"mistral-small-3.1-24b", 23'572'403'200},
    {"mistral-small-4-119b", 118'972'826'624},
    {"mixtral-8x22b", 140'620'634'112},
    {"mixtral-8x7b", 46'702'792'704},
    {"moonlight-16b-a3b", 15'960'110'208},
    {"nemotron-3-nano-30b-a3b", 31'577'940'288},
    {"nemotron-3-super-120b-a12b", 120'668'707'840},
    {"nemotron-3-ultra-550b-a55b", 549'308'993'536},
    {"nemotron-h-56b", 56'324'350'464},
    {"olmo-2-13b", 13'716'198'400},
    {"olmo-2-1b", 1'484'916'736},
    {"olmo-2-32b", 32'234'279'936},
    {"olmo-2-7b", 7'298'617'344},
    {"olmo-3-32b", 32'233'522'176},
    {"olmo-3-7b", 7'298'011'136},
    {"olmoe-1b-7b", 6'919'161'856},
    {"opt-1.3b", 1'315'758'080},
    {"opt-125m", 125'239'296},
    {"opt-13b", 12'853'473'280},
    {"opt-30b", 29'974'540'288},
    {"opt-6.7b", 6'658'473'984},
    {"opt-66b", 65'719'701'504},
    {"phi-3-medium", 13'960'238'080},
    {"phi-3-mini", 3'821'079'552},
    {"phi-4", 14'659'507'200},
    {"phi-4-mini", 3'836'021'760},
    {"pythia-1.4b", 1'414'647'808},
    {"pythia-12b", 11'846'072'320},
    {"pythia-160m", 162'322'944},
    {"pythia-1b", 1'011'781'632},
    {"pythia-2.8b", 2'775'208'960},
    {"pythia-410m", 405'334'016},
    {"pythia-6.9b", 6'857'302'016},
    {"quickstart-gpt", 3'487'232},
    {"qwen2.5-0.5b", 494'032'768},
    {"qwen2.5-1.5b", 1'543'714'304},
    {"qwen2.5-14b", 14'770'033'664},
    {"qwen2.5-32b", 32'763'876'352},
    {"qwen2.5-3b", 3'085'938'688},
    {"qwen2.5-72b", 72'706'203'648},
    {"qwen2.5-7b", 7'615'616'512},
    {"qwen2.5vl-32b", 32'763'876'352},
    {"qwen2.5vl-3b", 3'085'938'688},
    {"qwen2.5vl-72b", 72'706'203'648},
    {"qwen2.5vl-7b", 7'615'616'512},
    {"qwen3-0.6b", 596'049'920},
    {"qwen3-1.7b", 1'720'574'976},
    {"qwen3-14b", 14'768'307'200},
    {"qwen3-235b-a22b", 235'093'634'560},
    {"qwen3-30b-a3b", 30'532'122'624},
    {"qwen3-32b", 32'762'123'264},
    {"qwen3-4b", 4'022'468'096},
    {"qwen3-8b", 8'190'735'360},
    {"qwen3-coder-480b-a35b", 480'154'875'392},
    {"qwen3-next-80b-a3b", 79'674'391'296},
    {"qwen3.5-122b-a10b", 122'111'526'912},
    {"qwen3.5-27b", 26'895'998'464},
    {"qwen3.5-35b-a3b", 34'660'610'688},
    {"qwen3.5-397b-a17b", 396'346'350'336},
    {"qwen3vl-235b-a22b", 235'093'634'560},
    {"qwen3vl-2b", 1'720'574'976},
    {"qwen3vl-30b-a3b", 30'532'122'624},
    {"qwen3vl-32b", 32'762'123'264},
    {"qwen3vl-4b", 4'022'468'096},
    {"qwen3vl-8b", 8'190'735'360},
    {"seed-coder-8b", 8'250'462'208},
    {"seed-oss-36b", 36'151'104'512},
    {"small-llama", 3'868'928},
    {"small-mla", 3'935'104},
    {"small-moe", 9'552'128},
    {"small-wide", 6'961'152},
    {"smollm2-1.7b", 1'711'376'384},
    {"smollm2-135m", 134'515'008},
    {"smollm2-360m", 361'821'120},
    {"smollm3-3b", 3'075'098'624},
    {"starcoder2-15b", 15'957'889'024},
    {"starcoder2-3b", 3'030'371'328},
    {"starcoder2-7b", 7'173'923'840},
    {"tinyllama-1.1b", 1'100'048'384},
    {"toy-mlp", 64'013'200},
    {"yi-1.5-9b", 8'829'407'232},
    {"yi-34b", 34'388'917'248},
    {"yi-6b", 6'061'035'520},
};

Json load(const std::filesystem::path& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

TEST(ModelFiles, EachIsReadAndHasItsPublishedParameters) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string stem = entry.path().stem().string();
    SCOPED_TRACE(stem);
    ASSERT_TRUE(kParameters.contains(stem)) << "add its parameters here";
    const Model model = model_from_json(load(entry.path()), entry.path().filename().string());
    EXPECT_EQ(model.name, stem);
    EXPECT_EQ(total_parameters(model), kParameters.at(stem));
    ++files;
  }
  EXPECT_EQ(files, static_cast<int>(kParameters.size()));
}

TEST(ModelFiles, EachSaysItsSchemaAndSource) {
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const Json json = load(entry.path());
    EXPECT_EQ(json.value("schema", ""), "meshwright.model/1") << entry.path();
    EXPECT_GT(json.value("source", "").size(), 10U) << entry.path();
  }
}

}  // namespace
}  // namespace meshwright
