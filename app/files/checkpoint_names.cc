// SPDX-License-Identifier: Apache-2.0
#include "app/files/checkpoint_names.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "app/files/config_synonym.h"
#include "app/files/files.h"
#include "interop/shell/base_name.h"
#include "sim/base/text.h"

namespace meshwright::app {
namespace {

// Month of a release, YYMM or MMDD: "2507", "0528".
bool is_release_date(std::string_view word) {
  const bool digits = word.size() == 4 && std::all_of(word.begin(), word.end(), [](char letter) {
                        return letter >= '0' && letter <= '9';
                      });
  if (!digits) return false;
  const int first = (word[0] - '0') * 10 + (word[1] - '0');
  const int second = (word[2] - '0') * 10 + (word[3] - '0');
  const bool month_of_year = first >= 23 && first <= 39 && second >= 1 && second <= 12;
  const bool day_of_month = first >= 1 && first <= 12 && second >= 1 && second <= 31;
  return month_of_year || day_of_month;
}

// Words that a publisher adds to a checkpoint's name and that leave its shape as it is.
bool is_variant(std::string_view word) {
  static const std::vector<std::string> words = split_words(
      "instruct chat base it pt hf fp8 fp4 nvfp4 mxfp4 mxfp8 awq gptq int4 int8 w4a16 w4a16kv8 "
      "w8a8 w4afp8 nvfp4a16 dynamic static pertensor block 4bit 8bit bnb marlin gguf qat ct kv "
      "thinking v2 v0.1 v0.2 v0.3 bf16 fp16 original unsloth mcore "
      "quantized.w4a16 quantized.w8a8 autoround unquantized q4_0 mtp moefp4");
  return is_release_date(word) || std::find(words.begin(), words.end(), word) != words.end();
}

// Tells whether an fp8 checkpoint scales a tensor or a row, not blocks: by its publisher or name.
bool scales_whole_rows(const std::string& checkpoint) {
  const std::string name = lower_case(checkpoint);
  constexpr std::array kSays{"nvidia/", "redhatai/", "neuralmagic/", "meta-llama/",
                             "amd/",    "dynamic",   "static"};
  return std::any_of(kSays.begin(), kSays.end(),
                     [&](const char* word) { return contains(name, word); });
}

// Names of checkpoints, ORGANISATION/NAME, in the source of a shipped model.
std::vector<std::string> published_checkpoints(const std::string& model) {
  const Json json = read_json_file(find_config(model, "models"));
  const Json source = json.value("source", Json(""));
  const std::string text = source.is_string() ? source.get<std::string>() : "";
  std::vector<std::string> names;
  if (!contains(text, "Hugging Face")) return names;
  for (std::string word : split_words(text)) {
    while (word.ends_with(',') || word.ends_with(';')) word.pop_back();
    if (contains(word, "/")) names.push_back(word);
  }
  return names;
}

}  // namespace

std::string checkpoint_name(std::string name) {
  while (name.ends_with('/')) name.pop_back();
  return lower_case(base_name(name));
}

std::string without_variants(std::string name) {
  for (std::size_t dash = name.rfind('-'); dash != std::string::npos; dash = name.rfind('-')) {
    if (!is_variant(std::string_view(name).substr(dash + 1))) break;
    name.resize(dash);
  }
  return name;
}

std::string model_of_checkpoint(const std::string& named) {
  std::string wanted = checkpoint_name(named);
  if (wanted.starts_with("meta-")) wanted.erase(0, 5);
  for (const std::string& name : config_names("models")) {
    if (name == wanted) return name;
  }
  const std::string shape = without_variants(wanted);
  std::string found;
  std::ptrdiff_t longest = 0;  // beginning that both names have
  for (const std::string& name : config_names("models")) {
    for (const std::string& word : published_checkpoints(name)) {
      const std::string published = checkpoint_name(word);
      if (published == wanted) return name;
      if (without_variants(published) != shape) continue;
      const auto alike =
          std::mismatch(wanted.begin(), wanted.end(), published.begin(), published.end()).first -
          wanted.begin();
      if (alike <= longest) continue;
      found = name;
      longest = alike;
    }
  }
  return found;
}

std::string checkpoint_of_model(const std::string& typed) {
  const std::filesystem::path path(typed);
  std::error_code none;
  if (std::filesystem::is_regular_file(path, none)) {
    if (path.filename() != "config.json") return "";
    return std::filesystem::absolute(path).parent_path().string();
  }
  if (contains(typed, "/")) return typed;
  const std::vector<std::string> names = config_names("models");
  const bool shipped = std::find(names.begin(), names.end(), typed) != names.end();
  const std::string model = shipped ? typed : config_synonym(typed, "models");
  if (model.empty()) return "";
  const std::vector<std::string> published = published_checkpoints(model);
  return published.empty() ? "" : published.front();
}

std::optional<WeightFormat> format_in_name(const std::string& checkpoint, bool experts) {
  const std::string name = checkpoint_name(checkpoint);
  if (contains(name, "bf16")) return WeightFormat::bf16;
  if (contains(name, "mxfp4")) return WeightFormat::mxfp4;
  if (contains(name, "mxfp8")) return WeightFormat::mxfp8;
  if (contains(name, "w4a") || contains(name, "int4")) return WeightFormat::int4;
  if (contains(name, "fp4")) return WeightFormat::nvfp4;
  if (contains(name, "fp8")) {
    const bool blocks = experts || lower_case(checkpoint).starts_with("qwen/");
    return blocks && !scales_whole_rows(checkpoint) ? WeightFormat::fp8_block : WeightFormat::fp8;
  }
  const bool wider = contains(name, "int8") || contains(name, "8bit") || contains(name, "8-bit");
  const bool four = contains(name, "awq") || contains(name, "gptq");
  return four && !wider ? std::optional(WeightFormat::int4) : std::nullopt;
}

bool says_unknown_format(const std::string& checkpoint) {
  const std::string name = checkpoint_name(checkpoint);
  constexpr std::array kParts{"bit", "int8", "w8", "gguf", "quant"};
  return std::any_of(kParts.begin(), kParts.end(),
                     [&](const char* part) { return contains(name, part); });
}

int positions_in_name(const std::string& checkpoint) {
  const std::string name = checkpoint_name(checkpoint);
  struct Positions {
    std::string_view begins, holds;
    int count;
  };
  constexpr std::array kPositions{
      Positions{"", "-2507", 262'144},           Positions{"", "-0905", 262'144},
      Positions{"qwen3-coder-30b", "", 262'144}, Positions{"qwen2.5-", "instruct", 32'768},
      Positions{"qwq-32b", "", 40'960},          Positions{"glm-4.6", "", 202'752},
      Positions{"glm-4.7", "", 202'752},         Positions{"minimax-m2.7", "", 204'800}};
  const auto* const found =
      std::find_if(kPositions.begin(), kPositions.end(), [&](const Positions& one) {
        return name.starts_with(one.begins) && contains(name, one.holds);
      });
  return found == kPositions.end() ? 0 : found->count;
}

}  // namespace meshwright::app
