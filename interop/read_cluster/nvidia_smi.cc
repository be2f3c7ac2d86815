// SPDX-License-Identifier: Apache-2.0
// Names of GPUs, as tools print them:
//   nvidia-smi -L                  GPU 0: NVIDIA H100 80GB HBM3 (UUID: ...)
//   nvidia-smi -q, -q -x           Product Name : ..., <product_name>...</product_name>
//   nvidia-smi                     |   0  NVIDIA H100 80GB HBM3 On |
//   nvidia-smi --query-gpu         a cell with the name
//   PyTorch's collect_env          GPU 0,1: NVIDIA GB200
//   rocm-smi --showproductname     GPU[0] : Card Series: AMD Instinct MI300X
//   amd-smi static                 MARKET_NAME: AMD Instinct MI300X
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "interop/read_cluster/read_cluster.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/hardware/named_device.h"

namespace meshwright::interop {
namespace {

constexpr std::size_t kMostDevices = 1024;

struct NamedGpus {
  std::set<std::string> names, numbers;
  int unnumbered = 0;
};

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? "" : trimmed_right(text.substr(first));
}

// Letters first, and a chip's word: "NVIDIA A40", not "12345 MiB" or "NVIDIA-SMI 535.104".
bool is_gpu_name(const std::string& name) {
  constexpr std::size_t kLongest = 80;
  for (const char* vendor :
       {"NVIDIA ", "Tesla ", "GeForce ", "Quadro ", "AMD ", "A100", "Graphics"}) {
    if (name.starts_with(vendor)) return name.size() < kLongest && names_a_chip(name);
  }
  return false;
}

// "GPU 0: NAME (UUID: ...)", "GPU 0,1,2,3: NAME".
bool add_listed(const std::string& line, NamedGpus& gpus) {
  const std::size_t at = line.find("GPU ");
  const std::size_t colon = at == std::string::npos ? at : line.find(':', at);
  if (colon == std::string::npos) return false;
  const std::string numbers = line.substr(at + 4, colon - at - 4);
  if (numbers.empty() || numbers.find_first_not_of("0123456789,") != std::string::npos)
    return false;
  const std::string name =
      trimmed(line.substr(colon + 1, std::min(line.find(" (", colon), line.size()) - colon - 1));
  if (!is_gpu_name(name)) return false;
  gpus.names.insert(name);
  for (const std::string& number : split(numbers, ',')) gpus.numbers.insert(number);
  return true;
}

// "|   0  NVIDIA H100 80GB HBM3          On  |   00000000:18:00.0 Off |": also older tables without
// the vendor, and with names cut short by "...".
bool add_row(const std::string& line, NamedGpus& gpus) {
  const std::size_t bar = line.find('|');
  if (bar == std::string::npos || !contains(line, ":00.0")) return false;
  const std::size_t number = line.find_first_not_of(' ', bar + 1);
  if (number == std::string::npos) return false;
  const std::size_t behind = line.find_first_not_of("0123456789", number);
  if (behind == number || behind == std::string::npos || line[behind] != ' ') return false;
  const std::size_t first = line.find_first_not_of(' ', behind);
  if (first == std::string::npos) return false;
  const std::size_t end = std::min(
      {line.find("  ", first), line.find('|', first), line.find("...", first), line.size()});
  const std::string name = trimmed(line.substr(first, end - first));
  if (!is_gpu_name(name)) return false;
  gpus.names.insert(name);
  gpus.numbers.insert(line.substr(number, behind - number));
  return true;
}

// A product's name: one line a device, which the line before may number.
bool add_product(const std::string& line, NamedGpus& gpus) {
  for (const char* key :
       {"Product Name", "Card Series", "Card series", "MARKET_NAME", "<product_name>"}) {
    const std::size_t at = line.find(key);
    const std::size_t mark = at == std::string::npos ? at : line.find_first_of(":>", at);
    if (mark == std::string::npos) continue;
    const std::size_t end = std::min(line.find("</", mark), line.size());
    const std::string name = trimmed(line.substr(mark + 1, end - mark - 1));
    if (!names_a_chip(name)) return false;
    gpus.names.insert(name);
    ++gpus.unnumbered;
    return true;
  }
  return false;
}

// A row of `nvidia-smi --query-gpu=index,name,... --format=csv`: a cell is the name.
void add_cells(const std::string& line, NamedGpus& gpus) {
  for (const std::string& cell : split(line, ',')) {
    const std::string name = trimmed(cell);
    constexpr std::ptrdiff_t kMostWords = 9;
    if (!is_gpu_name(name) || std::count(name.begin(), name.end(), ' ') > kMostWords) continue;
    if (name.find_first_of("|:=\"()[]") != std::string::npos) continue;
    gpus.names.insert(name);
    ++gpus.unnumbered;
    return;
  }
}

NamedGpus named_gpus_in(std::string_view text) {
  NamedGpus gpus;
  for (const std::string& line : split_lines(text)) {
    if (add_listed(line, gpus) || add_row(line, gpus) || add_product(line, gpus)) continue;
    add_cells(line, gpus);
    if (gpus.names.size() > kMostDevices) break;
  }
  // The table cuts long names short, which -L has in full.
  for (auto name = gpus.names.begin(); name != gpus.names.end();) {
    const auto next = std::next(name);
    const bool cut = next != gpus.names.end() && next->starts_with(*name);
    name = cut ? gpus.names.erase(name) : next;
  }
  return gpus;
}

}  // namespace

std::vector<std::string> gpu_names_in(std::string_view text) {
  const NamedGpus gpus = named_gpus_in(text);
  return {gpus.names.begin(), gpus.names.end()};
}

ClusterFacts read_nvidia_smi(std::string_view text, const std::string& file) {
  if (names_a_slice(std::string(text)) || contains(text, "| MIG devices:")) {
    throw InputError(file, "", "lists MIG slices of GPUs; a cluster's devices are whole GPUs",
                     "turn MIG off (nvidia-smi -mig 0), and list the GPUs again");
  }
  const NamedGpus gpus = named_gpus_in(text);
  if (gpus.names.empty()) throw InputError(file, "", "names no GPU");
  if (gpus.names.size() > 1) {
    std::string all;
    for (const std::string& name : gpus.names) append_to_list(all, ", ", name);
    throw InputError(file, "", "names several kinds of devices: " + all,
                     "a cluster's devices are of one kind");
  }
  ClusterFacts facts;
  facts.devices = {*gpus.names.begin()};
  const int count = gpus.numbers.empty() ? gpus.unnumbered : static_cast<int>(gpus.numbers.size());
  if (count <= static_cast<int>(kMostDevices)) facts.gpus_per_host = count;
  return facts;
}

}  // namespace meshwright::interop
