// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/environment.h"

#include <algorithm>

#include "interop/read_launch/command_values.h"
#include "interop/shell/shell_cursor.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

enum class When : std::uint8_t { on, off, set, above_one, has };

// Sources: NCCL's and PyTorch's pages of environment variables, Transformer Engine's
// dot_product_attention, Megatron-LM's arguments.py.
struct KnownVariable {
  std::string_view name;
  When when;
  std::string_view part;  // of the value, for `has`
  bool slows;
  std::string_view effect;
};
constexpr KnownVariable kVariables[] = {
    {"CUDA_LAUNCH_BLOCKING", When::on, "", true,
     "the host waits for every kernel and collective, so that nothing overlaps"},
    {"HIP_LAUNCH_BLOCKING", When::on, "", true,
     "the host waits for every kernel: nothing overlaps"},
    {"AMD_SERIALIZE_KERNEL", When::on, "", true, "kernels run one after the other"},
    {"PYTORCH_NO_CUDA_MEMORY_CACHING", When::on, "", true, "every tensor is allocated anew"},
    {"TORCH_DISTRIBUTED_DEBUG", When::has, "DETAIL", true, "every collective is checked first"},
    {"TORCHDYNAMO_DISABLE", When::on, "", true, "torch.compile does nothing: kernels are eager"},
    {"TORCH_COMPILE_DISABLE", When::on, "", true, "torch.compile does nothing: kernels are eager"},
    {"NVIDIA_TF32_OVERRIDE", When::off, "", true, "fp32 products do not use TF32"},
    {"NCCL_P2P_DISABLE", When::on, "", true,
     "GPUs of a node do not use NVLink or PCIe peer access: their data goes through host memory"},
    {"NCCL_SHM_DISABLE", When::on, "", true,
     "GPUs of a node without peer access talk over the network"},
    {"NCCL_IB_DISABLE", When::on, "", true, "nodes talk over TCP sockets in place of InfiniBand"},
    {"NCCL_NET", When::has, "Socket", true, "nodes talk over TCP sockets in place of InfiniBand"},
    {"NCCL_NET_GDR_LEVEL", When::has, "LOC", true, "the network does not read GPU memory directly"},
    {"NCCL_NET_GDR_DISABLE", When::on, "", true, "the network does not read GPU memory directly"},
    {"NCCL_CUMEM_ENABLE", When::off, "", false, "NVLink SHARP and user buffers are off"},
    {"NCCL_NVLS_ENABLE", When::off, "", true,
     "all-reduces inside a node do without NVLink SHARP: less bandwidth on Hopper and later"},
    {"NCCL_ALGO", When::set, "", true, "it forces NCCL's algorithms, whatever the message size"},
    {"NCCL_PROTO", When::set, "", true, "it forces NCCL's protocol, whatever the message size"},
    {"NCCL_MAX_NCHANNELS", When::set, "", true, "it bounds the channels, and with them bandwidth"},
    {"NCCL_MAX_CTAS", When::set, "", true, "it bounds the channels, and with them bandwidth"},
    {"NCCL_MIN_NCHANNELS", When::set, "", false, "collectives take more SMs from computing"},
    {"NCCL_MIN_CTAS", When::set, "", false, "collectives take more SMs from computing"},
    {"NCCL_BUFFSIZE", When::set, "", false, "it changes NCCL's buffers: memory and bandwidth"},
    {"NCCL_CROSS_NIC", When::set, "", false, "it says whether rings may change rails"},
    {"NCCL_IB_HCA", When::set, "", false, "it chooses NICs; others of the node are not used"},
    {"NCCL_DEBUG", When::has, "TRACE", true, "every call is logged"},
    {"NCCL_BLOCKING_WAIT", When::on, "", true, "the host waits for every collective"},
    {"TORCH_NCCL_BLOCKING_WAIT", When::on, "", true, "the host waits for every collective"},
    {"TORCH_NCCL_AVOID_RECORD_STREAMS", When::on, "", false,
     "memory of collectives is freed earlier"},
    {"TORCH_NCCL_USE_COMM_NONBLOCKING", When::on, "", false, "communicators start without waiting"},
    {"TORCH_NCCL_HIGH_PRIORITY", When::on, "", false, "collectives go before computing"},
    {"NVTE_FLASH_ATTN", When::off, "", true, "Transformer Engine does not use FlashAttention"},
    {"NVTE_FUSED_ATTN", When::off, "", true, "Transformer Engine does not use cuDNN's attention"},
    {"NVTE_ALLOW_NONDETERMINISTIC_ALGO", When::off, "", true,
     "attention's backward is deterministic, and slower"},
    {"NVTE_BATCH_MHA_P2P_COMM", When::on, "", false, "context-parallel sends are batched"},
    {"NVTE_FWD_LAYERNORM_SM_MARGIN", When::set, "", false, "norms leave SMs to communication"},
    {"NVTE_BWD_LAYERNORM_SM_MARGIN", When::set, "", false, "norms leave SMs to communication"},
    {"UB_SKIPMC", When::on, "", false, "tensor-parallel overlap does without multicast"},
    {"CUDA_DEVICE_MAX_CONNECTIONS", When::above_one, "", false,
     "kernels of tensor- and context-parallel overlap may start in another order before Blackwell; "
     "1 keeps it"},
    {"PYTORCH_CUDA_ALLOC_CONF", When::has, "expandable_segments:True", false,
     "the allocator loses less memory to fragments"},
    {"CUBLAS_WORKSPACE_CONFIG", When::set, "", false, "GEMMs may be deterministic, and slower"},
    {"FLASH_ATTENTION_DETERMINISTIC", When::on, "", true, "attention's backward is slower"},
};

// Names that tune communication and are not in the list.
constexpr std::string_view kHarmlessNccl[] = {
    "NCCL_DEBUG",        "NCCL_DEBUG_SUBSYS",  "NCCL_DEBUG_FILE",    "NCCL_SOCKET_IFNAME",
    "NCCL_TIMEOUT",      "NCCL_IB_TIMEOUT",    "NCCL_IB_RETRY_CNT",  "NCCL_ASYNC_ERROR_HANDLING",
    "NCCL_TOPO_FILE",    "NCCL_IB_GID_INDEX",  "NCCL_COMM_ID",       "NCCL_TOPO_DUMP_FILE",
    "NCCL_CONF_FILE",    "NCCL_SOCKET_FAMILY", "NCCL_TESTS_DEVICE",  "NCCL_IB_TC",
    "NCCL_IB_SL",        "NCCL_DIR",           "NCCL_HOME",          "NCCL_LIB",
    "NCCL_GRAPH_FILE",   "NCCL_VERSION",       "NCCL_LAUNCH_MODE",   "NCCL_IGNORE_CPU_AFFINITY",
    "NCCL_TUNER_PLUGIN", "NCCL_NET_PLUGIN",    "NCCL_IB_ADDR_FAMILY"};

bool is_true(const std::string& value) {
  return value == "1" || same_letters(value, "true") || same_letters(value, "yes") ||
         same_letters(value, "on") || value == "2" || value == "3";
}

bool holds(const KnownVariable& known, const std::string& value) {
  switch (known.when) {
    case When::on:
      return is_true(value);
    case When::off:
      return value == "0" || same_letters(value, "false");
    case When::set:
      return !value.empty();
    case When::above_one:
      return !value.empty() && value != "1" && value != "0";
    case When::has:
      return contains_any_case(value, known.part);
  }
  return false;
}

void add(LaunchRecord& record, const std::string& name, const std::string& value,
         const Place& place) {
  for (const EnvironmentNote& note : record.environment) {
    if (note.name == name) return;
  }
  auto note = environment_note(name, value, place);
  if (note) record.environment.push_back(std::move(*note));
}

// "NAME=VALUE", as it stands before a command, behind -x or --env, or in `env`.
bool is_assignment(const std::string& word, std::size_t& equals) {
  equals = word.find('=');
  return equals != std::string::npos && equals > 0 &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), is_name);
}

}  // namespace

std::optional<EnvironmentNote> environment_note(const std::string& name, const std::string& value,
                                                const Place& place) {
  for (const KnownVariable& known : kVariables) {
    if (known.name != name || !holds(known, value)) continue;
    return EnvironmentNote{name, value, std::string(known.effect), place, known.slows};
  }
  const bool listed = std::any_of(std::begin(kVariables), std::end(kVariables),
                                  [&](const KnownVariable& known) { return known.name == name; });
  const bool harmless = std::find(std::begin(kHarmlessNccl), std::end(kHarmlessNccl), name) !=
                        std::end(kHarmlessNccl);
  if (!name.starts_with("NCCL_") || listed || harmless || value.empty()) return std::nullopt;
  return EnvironmentNote{name, value, "it tunes NCCL in a way that is not modelled", place, false};
}

void read_environment(const ShellScript& script, const ShellCommand& command,
                      const std::string& file, LaunchRecord& record) {
  for (const auto& [name, value] : script.exported) {
    if (!value.unknown()) add(record, name, value.text(), {file, value.line()});
  }
  for (const MarkedText& word : command.words) {
    std::size_t equals = 0;
    if (word.unknown() || !is_assignment(word.text(), equals)) continue;
    add(record, word.text().substr(0, equals), word.text().substr(equals + 1), {file, word.line()});
  }
  std::stable_sort(record.environment.begin(), record.environment.end(),
                   [](const auto& a, const auto& b) { return a.slows && !b.slows; });
}

void read_start(const ShellCommand& command, const ShellScript& script, const std::string& file,
                LaunchRecord& record) {
  record.command = command;
  read_launcher(command, script, file, record);
  read_environment(script, command, file, record);
}

void read_environment(Values& values, std::string_view prefix, LaunchRecord& record) {
  for (const Value& value : values.all()) {
    if (!value.key.starts_with(prefix) || value.words.size() != 1) continue;
    add(record, value.key.substr(prefix.size()), value.words.front(), value.place);
  }
  values.pass_over_below(prefix);
  std::stable_sort(record.environment.begin(), record.environment.end(),
                   [](const auto& a, const auto& b) { return a.slows && !b.slows; });
}

}  // namespace meshwright::interop
