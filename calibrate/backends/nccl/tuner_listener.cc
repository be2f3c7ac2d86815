// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/nccl/tuner_listener.h"

#include <dlfcn.h>
#include <nccl.h>

#include <cstdlib>
#include <mutex>

#include "calibrate/backends/nccl/cheapest_algorithm.h"

namespace meshwright::calibrate {
namespace {

struct Choice {
  std::mutex mutex;  // NCCL may ask from a thread of its own
  std::string text;
};

Choice& choice() {
  static Choice one;
  return one;
}

bool can_be_opened(const char* library) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

// Tells whether NCCL would find another tuner by itself.
bool has_other_tuner() {
  return std::getenv("NCCL_TUNER_PLUGIN") != nullptr || std::getenv("NCCL_NET_PLUGIN") != nullptr ||
         can_be_opened("libnccl-tuner.so") || can_be_opened("libnccl-net.so");
}

// The plugin's functions, as NCCL's plugins/tuner documents version 4 of them.
ncclResult_t plugin_init(std::size_t /*ranks*/, std::size_t /*nodes*/, void* /*log_function*/,
                         void** context) {
  *context = nullptr;
  return ncclSuccess;
}

ncclResult_t plugin_get_coll_info(void* /*context*/, int /*collective*/, std::size_t /*bytes*/,
                                  int /*pipelined*/, float** table, int algorithms, int protocols,
                                  int /*registered*/, int* /*channels*/) {
  // Declared as float**, it is a plain array of rows.
  const auto* times = reinterpret_cast<const float*>(table);
  const std::string cheapest = cheapest_algorithm(
      {times, static_cast<std::size_t>(algorithms) * static_cast<std::size_t>(protocols)},
      protocols);
  Choice& last = choice();
  const std::lock_guard lock(last.mutex);
  last.text = cheapest;
  return ncclSuccess;
}

ncclResult_t plugin_destroy(void* /*context*/) { return ncclSuccess; }

}  // namespace

// Plugin in the form that NCCL reads: a name, then its functions.
struct TunerPlugin {
  const char* name;
  ncclResult_t (*init)(std::size_t, std::size_t, void*, void**);
  ncclResult_t (*get_coll_info)(void*, int, std::size_t, int, float**, int, int, int, int*);
  ncclResult_t (*destroy)(void*);
};

}  // namespace meshwright::calibrate

extern "C" {
__attribute__((
    visibility("default"))) extern const meshwright::calibrate::TunerPlugin ncclTunerPlugin_v4;
const meshwright::calibrate::TunerPlugin ncclTunerPlugin_v4 = {
    "meshwright", meshwright::calibrate::plugin_init, meshwright::calibrate::plugin_get_coll_info,
    meshwright::calibrate::plugin_destroy};
}

namespace meshwright::calibrate {

void listen_to_choices() {
  Dl_info here{};
  if (has_other_tuner() || dladdr(&ncclTunerPlugin_v4, &here) == 0) return;
  setenv("NCCL_TUNER_PLUGIN", here.dli_fname, 0);
}

std::string last_choice() {
  Choice& last = choice();
  const std::lock_guard lock(last.mutex);
  return last.text;
}

void forget_choice() {
  Choice& last = choice();
  const std::lock_guard lock(last.mutex);
  last.text.clear();
}

}  // namespace meshwright::calibrate
