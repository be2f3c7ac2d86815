// SPDX-License-Identifier: Apache-2.0
#include "app/files/config_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <regex>
#include <string_view>

#include "app/files/config_names.h"
#include "app/files/files.h"
#include "sim/base/text.h"

namespace meshwright::app {
namespace {

using Words = std::vector<std::string>;

// Instances of clouds whose name is not in the title of their shipped cluster. Some are a part of
// one node.
struct Instance {
  std::string_view name, cluster;
  int devices;  // 0: whole nodes
};
constexpr std::array kInstances{Instance{"p5.4xlarge", "aws-p5", 1},
                                Instance{"a3-highgpu-1g", "gcp-a3-high", 1},
                                Instance{"a3-highgpu-2g", "gcp-a3-high", 2},
                                Instance{"a3-highgpu-4g", "gcp-a3-high", 4},
                                Instance{"standard_nd96isr_h100_v5", "azure-nd-h100-v5", 0},
                                Instance{"standard_nd96isr_mi300x_v5", "mi300x-512", 0},
                                Instance{"standard_nc40ads_h100_v5", "azure-nc-h100-v5", 1},
                                Instance{"bm.gpu.mi300x.8", "mi300x-512", 0},
                                Instance{"bm.gpu.gb200.4", "gcp-a4x", 0},
                                Instance{"gd-8xh100ib-i128", "h100-512", 0},
                                Instance{"gd-8xh200ib-i128", "h200-512", 0},
                                Instance{"b200-8x", "b200-512", 0},
                                Instance{"gb200-4x", "gb200-nvl72-64", 0}};

constexpr std::array<std::string_view, 9> kSayNothing{
    "nvidia", "geforce", "amd", "instinct", "gpu", "gpus", "cluster", "node", "nodes"};

// Letters, digits and dots between other signs, in lower case; "80 GB" is one word.
Words words_in(std::string_view text) {
  std::string plain = replaced(lower_case(text), " gb", "gb");
  for (const char* form : {"sxm4", "sxm5", "sxm6"}) plain = replaced(plain, form, "sxm");
  std::replace_if(
      plain.begin(), plain.end(), [](unsigned char c) { return c != '.' && std::isalnum(c) == 0; },
      ' ');
  Words words = split_words(plain);
  std::erase_if(words, [](const std::string& word) {
    return std::find(kSayNothing.begin(), kSayNothing.end(), word) != kSayNothing.end();
  });
  return words;
}

bool is_all_digits(const std::string& word) {
  return std::all_of(word.begin(), word.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "llama3" is in {llama, 3, 70b}: one word, or several in a row.
bool has_word(const Words& words, const std::string& wanted) {
  for (std::size_t first = 0; first < words.size(); ++first) {
    std::string joined;
    for (std::size_t i = first; i < words.size() && joined.size() < wanted.size(); ++i) {
      joined += words[i];
    }
    if (joined == wanted) return true;
  }
  return false;
}

bool has_words(const Words& words, const Words& wanted) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const std::string& word) { return has_word(words, word); });
}

Words names_with(const Words& wanted, const std::string& folder) {
  Words names;
  for (const std::string& name : config_names(folder)) {
    if (has_words(words_in(name), wanted)) names.push_back(name);
  }
  return names;
}

// Words of a cluster's name, title and device.
Words words_of_cluster(const std::string& name, const Json& cluster) {
  Words words = words_in(name);
  const std::string device = cluster.value("device", "");
  for (const std::string& text :
       {cluster.value("name", ""), std::filesystem::path(device).stem().string()}) {
    words.emplace_back("|");
    for (std::string& word : words_in(text)) words.push_back(std::move(word));
  }
  return words;
}

std::string cluster_with(const Words& wanted) {
  std::string best;
  std::ptrdiff_t fewest = 0;
  int most = 0;
  for (const std::string& name : config_names("clusters")) {
    const Json cluster = read_json_file(find_config(name, "clusters"));
    if (!has_words(words_of_cluster(name, cluster), wanted)) continue;
    const Words own = words_in(name);
    const auto others = std::count_if(own.begin(), own.end(), [&](const std::string& word) {
      return !is_all_digits(word) && std::find(wanted.begin(), wanted.end(), word) == wanted.end();
    });
    const int devices = cluster.value("gpus_per_node", 1) * cluster.value("num_nodes", 1);
    if (!best.empty() && (others > fewest || (others == fewest && devices <= most))) continue;
    best = name;
    fewest = others;
    most = devices;
  }
  return best;
}

}  // namespace

CountedName counted_name(const std::string& typed) {
  static const std::regex before(R"(\s*(?:gpu_)?(\d{1,6})\s*(?:x[\s_]*|\s)(.*[a-z].*))");
  static const std::regex after(R"((.*[a-z].*)\s+x\s*(\d{1,6})\s*|(.*\d)x(\d{1,6})\s*)");
  CountedName counted{0, replaced(lower_case(typed), "×", "x")};
  for (const Instance& instance : kInstances) {
    if (counted.name == instance.name) return {instance.devices, std::string(instance.cluster)};
  }
  constexpr std::size_t kLongest = 80;
  if (counted.name.size() > kLongest) return counted;
  std::smatch found;
  std::string rest = counted.name;
  while (counted.devices < 1'000 && std::regex_match(counted.name, found, before)) {
    counted.devices = std::max(1, counted.devices) * std::stoi(found[1]);
    rest = found[2];
    counted.name = rest;
  }
  if (counted.devices == 0 && std::regex_match(rest, found, after)) {
    const std::size_t group = found[1].matched ? 1 : 3;
    counted = {std::stoi(found[group + 1]), found[group]};
  }
  return counted;
}

ConfigsWithWords configs_with_words(const std::string& typed, const std::string& folder) {
  const bool clusters = folder == "clusters";
  Words wanted = words_in(clusters ? counted_name(typed).name : typed);
  const bool names_something = std::any_of(wanted.begin(), wanted.end(), [](const auto& word) {
    return word.size() > 3 || !is_all_digits(word);
  });
  if (!names_something) return {};
  if (!clusters) return {names_with(wanted, folder)};
  if (const std::string found = cluster_with(wanted); !found.empty()) return {{found}};
  if (std::erase_if(wanted, is_all_digits) == 0 || wanted.empty()) return {};
  const std::string found = cluster_with(wanted);
  return {found.empty() ? Words{} : Words{found}, false};
}

}  // namespace meshwright::app
