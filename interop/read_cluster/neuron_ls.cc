// SPDX-License-Identifier: Apache-2.0
// AWS Neuron's `neuron-ls -j`: a list of devices, each with its number of cores, bytes of memory
// and the devices that NeuronLink joins it with (null: none). It names no chip.
#include <fmt/format.h>

#include <cmath>

#include "interop/read_cluster/read_cluster.h"
#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/record/json.h"
#include "sim/record/parse.h"
#include "sim/record/reader.h"

namespace meshwright::interop {
namespace {

// The chips by cores and GiB (AWS Neuron, architecture pages). Trainium 1 and Inferentia 2 look
// alike.
struct NeuronChip {
  long cores, gibibytes;
  const char* name;
};
constexpr NeuronChip kNeuronChips[] = {
    {2, 32, "Trainium 1 or Inferentia 2"}, {8, 96, "Trainium2"}, {8, 144, "Trainium3"}};

std::string chip_of(long cores, double bytes) {
  for (const NeuronChip& chip : kNeuronChips) {
    if (chip.cores == cores && std::lround(in_gibibytes(Bytes(bytes))) == chip.gibibytes)
      return chip.name;
  }
  return "";
}

}  // namespace

ClusterFacts read_neuron_ls(std::string_view text, const std::string& file) {
  const Json devices = parse_json(std::string(text), file);
  if (!devices.is_array() || devices.empty()) {
    throw InputError(file, "", "is no list of devices", "give the output of `neuron-ls -j`");
  }
  ClusterFacts facts;
  facts.gpus_per_host = static_cast<int>(devices.size());
  std::size_t joined = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    ObjectReader device(devices[i], file, fmt::format("/{}", i));
    const std::string chip =
        chip_of(device.required_int("nc_count"), device.required_number("memory_size"));
    if (!chip.empty() && i == 0) facts.devices.push_back(chip);
    if (device.member("connected_to").is_array()) joined += device.member("connected_to").size();
  }
  facts.notes.push_back(
      fmt::format("NeuronLink joins each device with {} others", joined / devices.size()));
  return facts;
}

}  // namespace meshwright::interop
