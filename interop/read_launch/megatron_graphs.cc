// SPDX-License-Identifier: Apache-2.0
// CUDA graphs of Megatron Core, in all their names: --cuda-graph-impl with modules or a scope, and
// --enable-cuda-graph and --external-cuda-graph of before (transformer_config.py).
#include <algorithm>

#include "interop/read_launch/megatron_fields.h"

namespace meshwright::interop {
namespace {

struct GraphScope {
  bool attention = false, router = false, preprocess = false, iteration = false;
  std::string beside;  // parts that no layout's graphs contain
};

// "CudaGraphScope.attn", "attn".
std::string scope_word(const std::string& word) { return word.substr(word.rfind('.') + 1); }

GraphScope scope_of(const Value* scope) {
  GraphScope found;
  bool whole = scope == nullptr;
  if (scope != nullptr) {
    for (const std::string& typed : scope->words) {
      for (const std::string& part : split(typed, ',')) {
        const std::string word = scope_word(part);
        if (word == "attn") found.attention = true;
        if (word == "moe_router") found.router = true;
        if (word == "moe_preprocess") found.preprocess = true;
        if (word == "full_iteration") found.iteration = true;
        whole = whole || word == "full" || word == "layer" || word == "full_layer";
        if (word == "mlp" || word == "moe" || word == "mamba") {
          append_to_list(found.beside, " and ", word);
          found.router = found.router || word == "moe";
        }
        const bool known = word == "attn" || word == "mlp" || word == "mamba" || word == "full" ||
                           word == "layer" || word == "full_layer" || word == "full_iteration" ||
                           word.starts_with("moe") || word.empty();
        if (!known) fail_at(*scope, fmt::format("\"{}\" is no part that graphs hold", word));
      }
    }
  }
  if (whole) {
    found.attention = true;
    found.beside = "the whole layer";
  }
  return found;
}

CudaGraphModules modules_of(const GraphScope& scope) {
  using enum CudaGraphModules;
  if (!scope.router) return attn;
  if (!scope.attention) return scope.preprocess ? moe_router_preprocess : moe_router;
  return scope.preprocess ? attn_moe_router_preprocess : attn_moe_router;
}

void read_scope(LaunchReading& r, Layout& l, const Value& said, const Value* words) {
  const GraphScope scope = scope_of(words);
  if (scope.iteration) {
    l.cuda_graph_impl = CudaGraphImpl::full_iteration;
    return;
  }
  const bool none = !scope.attention && !scope.router;
  if (!scope.beside.empty()) {
    const std::string rest =
        none ? "they are predicted as no graphs"
             : "they are predicted as graphs of " + std::string(name_of(modules_of(scope)));
    r.not_understood(words != nullptr ? *words : said,
                     fmt::format("graphs that hold {} are not modelled: {}", scope.beside, rest),
                     OptionEffect::schedule);
  }
  if (none) {
    l.cuda_graph_impl = CudaGraphImpl::none;
    return;
  }
  l.cuda_graph_modules = modules_of(scope);
  if (words != nullptr) {
    r.note("cuda_graph_modules", std::string(name_of(l.cuda_graph_modules)), *words);
  }
}

}  // namespace

void read_cuda_graphs(LaunchReading& r, const std::string& section) {
  Layout& l = r.record().layout;
  const Value* said = nullptr;
  const auto old_switch = [&](const char* key, CudaGraphImpl impl) {
    if (!r.is_on(section + key)) return;
    said = r.find(section + key);
    l.cuda_graph_impl = impl;
    r.note("cuda_graph_impl", std::string(name_of(impl)), *said);
  };
  old_switch("enable_cuda_graph", CudaGraphImpl::local);
  old_switch("external_cuda_graph", CudaGraphImpl::transformer_engine);
  if (r.choice(l.cuda_graph_impl, "cuda_graph_impl", section + "cuda_graph_impl",
               kCudaGraphImplNames)) {
    said = r.find(section + "cuda_graph_impl");
  }
  const Value* words = r.find(section + "cuda_graph_scope");
  if (const Value* modules = r.find(section + "cuda_graph_modules")) words = modules;
  for (const char* key : {"cuda_graph_warmup_steps", "use_te_rng_tracker", "te_rng_tracker"}) {
    r.values().pass_over(section + key);
  }
  // Megatron Core takes the scope full_iteration for the implementation where that says none.
  if (words != nullptr && scope_of(words).iteration) {
    l.cuda_graph_impl = CudaGraphImpl::full_iteration;
    r.note("cuda_graph_impl", "full_iteration", *words);
  }
  const bool of_layers = l.cuda_graph_impl == CudaGraphImpl::local ||
                         l.cuda_graph_impl == CudaGraphImpl::transformer_engine;
  if (of_layers && (words != nullptr || said != nullptr)) {
    read_scope(r, l, words != nullptr ? *words : *said, words);
  }
  if (said == nullptr && words == nullptr) return;
  r.settle_layout("cuda_graph_impl");
  r.settle_layout("cuda_graph_modules");
}

}  // namespace meshwright::interop
