// SPDX-License-Identifier: Apache-2.0
// Models as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/block/indexer.h"
#include "sim/block/parameters.h"
#include "sim/json/input_records.h"
#include "sim/json/records.h"
#include "sim/json/serving_records.h"
#include "sim/model/model.h"

namespace meshwright {
namespace {

constexpr IntRange kSize{1, 1'000'000'000};
constexpr IntRange kSizeOrNone{0, 1'000'000'000};
constexpr IntRange kLayers{1, 100'000};
constexpr IntRange kHeads{1, 1'000'000};

// "configs/models/llama-3-8b.json": llama-3-8b.
std::string stem_of(std::string_view file) {
  const std::size_t slash = file.find_last_of('/');
  if (slash != std::string_view::npos) file.remove_prefix(slash + 1);
  return std::string(file.substr(0, file.find_last_of('.')));
}

void check_at_most(const ObjectReader& reader, const char* key, int value, IntRange range) {
  if (value >= range.low && value <= range.high) return;
  reader.fail(
      key, fmt::format("must be an integer from {} to {} (got {})", range.low, range.high, value));
}

// Groups are equal, and those that a token may choose from hold all of its experts.
void check_experts(const MixtureOfExperts& moe, ObjectReader& reader) {
  const int experts = moe.num_moe_experts;
  const int groups = moe.moe_router_num_groups, chosen = moe.moe_router_group_topk;
  check_at_most(reader, "moe_router_topk", moe.moe_router_topk, {1, experts});
  check_at_most(reader, "moe_router_num_groups", groups, {0, experts});
  check_at_most(reader, "moe_router_group_topk", chosen, {0, groups});
  if (groups == 0) return;
  if (experts % groups != 0) {
    reader.fail("moe_router_num_groups",
                fmt::format("must divide num_moe_experts {} (got {})", experts, groups));
  }
  if (chosen == 0 || chosen * (experts / groups) < moe.moe_router_topk) {
    reader.fail("moe_router_group_topk",
                fmt::format("must leave moe_router_topk {} experts to choose (got {})",
                            moe.moe_router_topk, chosen));
  }
}

const Record<MixtureOfExperts>& experts_record() {
  return described([](Record<MixtureOfExperts>& r) {
    using M = MixtureOfExperts;
    r.about("Mixture of experts.");
    r.row<&M::num_moe_experts>(kSize, "Experts of a layer.");
    r.required();
    r.row<&M::moe_router_topk>(kSize, "Experts to which a token goes.");
    r.required();
    r.row<&M::moe_ffn_hidden_size>(kSize, "Width of an expert; default: ffn_hidden_size.");
    r.row<&M::moe_shared_expert_intermediate_size>(kSizeOrNone,
                                                   "Width of the shared expert; 0: none.");
    r.row<&M::moe_latent_size>(kSizeOrNone,
                               "Width that routed experts work on (Nemotron 3); 0: the layer's.");
    r.omitted_at_default();
    r.row<&M::num_first_dense_layers>(kSizeOrNone,
                                      "Dense layers before the first layer with experts.");
    r.row<&M::moe_layer_interval>(kLayers,
                                  "Every n-th layer after the first dense ones has experts.");
    r.row<&M::moe_expert_capacity_factor>(
        "Tokens that an expert takes at most, over the mean; 0: no token is dropped.");
    r.row<&M::moe_expert_bias>("The experts' linears have biases (gpt-oss).");
    r.row<&M::moe_router_bias>("The router has one bias an expert.");
    r.row<&M::moe_shared_expert_gate>("A product with one column weighs the shared expert.");
    r.omitted_at_default();
    r.row<&M::moe_router_num_groups>(kSizeOrNone,
                                     "Groups of experts for group-limited routing; 0: none.");
    r.row<&M::moe_router_group_topk>(kSizeOrNone, "Groups from which a token chooses its experts.");
    r.check(check_experts);
  });
}

const Record<LatentAttention>& latent_attention_record() {
  return described([](Record<LatentAttention>& r) {
    using A = LatentAttention;
    r.about("Multi-head latent attention (DeepSeek-V2).");
    r.row<&A::q_lora_rank>(kSizeOrNone,
                           "Width of the compressed query; 0: queries are projected directly.");
    r.row<&A::kv_lora_rank>(kSize, "Width of the compressed key and value.");
    r.required();
    r.row<&A::qk_head_dim>(kSize, "Width of a head's query and key without rotated positions.");
    r.required();
    r.row<&A::qk_pos_emb_head_dim>(kSizeOrNone, "Width of a head's rotated positions.");
    r.required();
    r.row<&A::v_head_dim>(kSize, "Width of a head's value.");
    r.required();
    r.row<&A::dsa_indexer_n_heads>(
        kSizeOrNone, "Heads of the indexer that chooses positions (DeepSeek-V3.2); 0: none.");
    r.omitted_at_default();
    r.row<&A::dsa_indexer_head_dim>(kSizeOrNone, "Width of an indexer's head.");
    r.omitted_at_default();
    r.row<&A::dsa_indexer_topk>(kSize, "Positions that attention reads behind the indexer.");
    r.omitted_at_default();
    r.check([](const LatentAttention& mla, ObjectReader& reader) {
      if (mla.dsa_indexer_n_heads == 0 || mla.dsa_indexer_head_dim > 0) return;
      reader.fail("dsa_indexer_head_dim", "is missing: an indexer needs it");
    });
  });
}

const Record<CompressedAttention>& compressed_attention_record() {
  return described([](Record<CompressedAttention>& r) {
    using C = CompressedAttention;
    r.about("Attention to a window and to compressed keys (DeepSeek-V4).");
    r.row<&C::q_lora_rank>(kSize, "Width of the compressed query.");
    r.required();
    r.row<&C::o_lora_rank>(kSize, "Columns that each group of heads puts out.");
    r.required();
    r.row<&C::o_groups>(kHeads, "Groups of heads, each with an output product of its own.");
    r.required();
    r.row<&C::sparse_compress_rate>(kSize, "Tokens of an entry in layers with an indexer.");
    r.row<&C::heavy_compress_rate>(kSize, "Tokens of an entry in layers without one.");
    r.row<&C::indexer_n_heads>(kHeads, "Heads of the indexer that chooses entries.");
    r.required();
    r.row<&C::indexer_head_dim>(kSize, "Width of an indexer's head.");
    r.required();
    r.row<&C::indexer_topk>(kSize, "Entries that attention reads behind the indexer.");
  });
}

const Record<BlockSparseAttention>& block_sparse_record() {
  return described([](Record<BlockSparseAttention>& r) {
    using B = BlockSparseAttention;
    r.about("Attention to blocks of positions that an indexer chooses (MiniMax-M3).");
    r.row<&B::indexer_n_heads>(kHeads, "Heads of the indexer.");
    r.required();
    r.row<&B::indexer_head_dim>(kSize, "Width of an indexer's head.");
    r.required();
    r.row<&B::block_size>(IntRange{1, 100'000}, "Positions of a block.");
    r.row<&B::topk_blocks>(IntRange{1, 100'000}, "Blocks that attention reads.");
  });
}

const Record<DeltaNet>& delta_net_record() {
  return described([](Record<DeltaNet>& r) {
    using D = DeltaNet;
    r.about("Linear attention by the gated delta rule (Qwen3-Next).");
    r.row<&D::linear_attention_freq>(
        IntRange{2, 100'000}, "Of n layers, n - 1 are delta nets and one is softmax attention.");
    r.row<&D::linear_num_key_heads>(kSize, "Heads of queries and keys.");
    r.required();
    r.row<&D::linear_num_value_heads>(kSize, "Heads of values: a multiple of the key heads.");
    r.required();
    r.row<&D::linear_key_head_dim>(IntRange{1, 100'000}, "Width of a query's or key's head.");
    r.required();
    r.row<&D::linear_value_head_dim>(IntRange{1, 100'000}, "Width of a value's head.");
    r.required();
    r.row<&D::linear_conv_kernel_dim>(IntRange{1, 1'000}, "Positions of the causal convolution.");
    r.check([](const DeltaNet& net, ObjectReader& reader) {
      if (net.linear_num_value_heads % net.linear_num_key_heads == 0) return;
      reader.fail("linear_num_value_heads",
                  fmt::format("must be a multiple of linear_num_key_heads {} (got {})",
                              net.linear_num_key_heads, net.linear_num_value_heads));
    });
  });
}

const Record<StateSpace>& state_space_record() {
  return described([](Record<StateSpace>& r) {
    using S = StateSpace;
    r.about("State space of Mamba-2.");
    r.row<&S::mamba_num_heads>(kHeads, "Heads.");
    r.required();
    r.row<&S::mamba_head_dim>(IntRange{1, 100'000}, "Width of a head.");
    r.row<&S::mamba_num_groups>(IntRange{1, 100'000},
                                "Groups of heads that share what enters and leaves a state.");
    r.row<&S::mamba_state_dim>(IntRange{1, 100'000}, "Size of a state, a number of a head.");
    r.row<&S::mamba_conv_kernel_dim>(IntRange{1, 1'000}, "Positions of the causal convolution.");
    r.row<&S::mamba_chunk_size>(IntRange{1, 100'000}, "Tokens that a scan works on together.");
    r.row<&S::mamba_norm>("A gated norm follows the scan; false: the gate alone (Falcon-H1).");
    r.omitted_at_default();
    r.check([](const StateSpace& space, ObjectReader& reader) {
      if (space.mamba_num_heads % space.mamba_num_groups == 0) return;
      reader.fail("mamba_num_heads",
                  fmt::format("must be a multiple of mamba_num_groups {} (got {})",
                              space.mamba_num_groups, space.mamba_num_heads));
    });
  });
}

const Record<SelectiveScan>& selective_scan_record() {
  return described([](Record<SelectiveScan>& r) {
    using S = SelectiveScan;
    r.about("State space of Mamba-1.");
    r.row<&S::selective_channels>(kSize, "Channels, each with a state of its own.");
    r.required();
    r.row<&S::selective_state_dim>(IntRange{1, 100'000}, "Size of a channel's state.");
    r.row<&S::selective_dt_rank>(kSize, "Width of the vector from which step widths are made.");
    r.required();
    r.row<&S::selective_conv_kernel_dim>(IntRange{1, 1'000}, "Positions of the convolution.");
    r.row<&S::selective_norms>(
        "Step widths and what enters and reads the state pass norms (Jamba).");
    r.omitted_at_default();
  });
}

const Record<KimiDelta>& kimi_delta_record() {
  return described([](Record<KimiDelta>& r) {
    using K = KimiDelta;
    r.about("Kimi delta attention: a delta rule with a decay a channel.");
    r.row<&K::kda_num_heads>(kHeads, "Heads of queries, keys and values.");
    r.required();
    r.row<&K::kda_head_dim>(IntRange{1, 100'000}, "Width of a head.");
    r.row<&K::kda_conv_kernel_dim>(IntRange{1, 1'000}, "Positions of the causal convolution.");
  });
}

const Record<ShortConvolution>& short_convolution_record() {
  return described([](Record<ShortConvolution>& r) {
    r.about("A short convolution between two gates (LFM2).");
    r.row<&ShortConvolution::short_conv_kernel_dim>(IntRange{1, 1'000},
                                                    "Positions of the causal convolution.");
  });
}

const Record<Lightning>& lightning_record() {
  return described([](Record<Lightning>& r) {
    using L = Lightning;
    r.about("Lightning attention (MiniMax-01): linear attention with fixed decays.");
    r.row<&L::lightning_num_heads>(kHeads, "Heads of queries, keys and values.");
    r.required();
    r.row<&L::lightning_head_dim>(IntRange{1, 100'000}, "Width of a head.");
    r.row<&L::lightning_chunk_size>(IntRange{1, 100'000}, "Tokens that a scan works on together.");
  });
}

constexpr std::array kRecurrentMixers{"linear_attention",  "state_space",
                                      "selective_scan",    "kimi_delta",
                                      "short_convolution", "lightning_attention"};

// A model has one recurrent mixer at most. The pattern names what the model has; a mixer that comes
// in no regular turn needs one.
void check_layer_pattern(const Model& model, ObjectReader& reader) {
  const std::string& pattern = model.hybrid_layer_pattern;
  constexpr const char* kKey = "hybrid_layer_pattern";
  const char* mixer = nullptr;
  for (const char* key : kRecurrentMixers) {
    if (!reader.has(key)) continue;
    if (mixer != nullptr) reader.fail(key, fmt::format("must not stand beside {}", mixer));
    mixer = key;
  }
  if (pattern.empty()) {
    if (mixer == nullptr || model.linear_attention) return;
    reader.fail(kKey, fmt::format("must say which layers have the {}", mixer));
  }
  if (pattern.size() != static_cast<std::size_t>(model.num_layers)) {
    reader.fail(kKey, fmt::format("must have {} letters, one a layer (got {})", model.num_layers,
                                  pattern.size()));
  }
  const std::size_t other = pattern.find_first_not_of("M*-Emabws");
  if (other != std::string::npos) {
    reader.fail(
        kKey, fmt::format("must be of the letters M, *, -, E, m, a, b, w and s (letter {} is '{}')",
                          other, pattern[other]));
  }
  if (indexed_attention(model).empty() && pattern.find('s') != std::string::npos) {
    reader.fail(kKey, "has s, which needs a model whose other layers have an indexer");
  }
  if (model.sliding_window == 0 && pattern.find('w') != std::string::npos) {
    reader.fail(kKey, "has w, which needs sliding_window");
  }
  if (mixer == nullptr && pattern.find_first_of("Mmb") != std::string::npos) {
    reader.fail(kKey, "has M, m or b, which need a recurrent mixer",
                fmt::format("one of {}", fmt::join(kRecurrentMixers, ", ")));
  }
  if (!model.moe && pattern.find('E') != std::string::npos) {
    reader.fail(kKey, "has E, which needs moe");
  }
}

void check_attention(const Model& model, ObjectReader& reader) {
  const int heads = model.num_attention_heads;
  if (heads == 0) {
    if (reader.has("mla")) reader.fail("mla", "needs num_attention_heads, 1 or more");
    for (const char* key : kRecurrentMixers) {
      if (reader.has(key)) reader.fail(key, "needs num_attention_heads, 1 or more");
    }
    check_at_most(reader, "num_query_groups", model.num_query_groups, {0, 0});
    check_at_most(reader, "kv_channels", model.kv_channels, {0, 0});
    return;
  }
  check_at_most(reader, "num_query_groups", model.num_query_groups, {0, heads});
  if (model.num_query_groups == 0 || heads % model.num_query_groups != 0) {
    reader.fail("num_query_groups", fmt::format("must divide num_attention_heads {} (got {})",
                                                heads, model.num_query_groups));
  }
  check_at_most(reader, "kv_channels", model.kv_channels, kSize);
}

void set_head_width(Model& model, ObjectReader& reader) {
  const int heads = model.num_attention_heads;
  model.kv_channels = heads == 0 ? 0 : model.hidden_size / heads;
  if (heads == 0 || model.hidden_size % heads == 0) return;
  reader.fail(
      "kv_channels",
      fmt::format("is missing, and hidden_size {} does not divide by num_attention_heads {}",
                  model.hidden_size, heads));
}

void check_positions(const Model& model, ObjectReader& reader) {
  const bool learned = model.position_embedding == PositionEmbedding::learned;
  if (!learned || model.vocab_size == 0 || model.max_position_embeddings > 0) return;
  reader.fail("max_position_embeddings",
              "must be the number of learned positions, 1 or more, when position_embedding is "
              "\"learned\" (the default)",
              "models with rotary positions set \"position_embedding\": \"rope\"");
}

// A model has one kind of softmax attention.
void check_attention_kinds(const Model& model, ObjectReader& reader) {
  const char* first = nullptr;
  for (const char* key : {"mla", "compressed_attention", "block_sparse_attention"}) {
    if (!reader.has(key)) continue;
    if (first != nullptr) reader.fail(key, fmt::format("must not stand beside {}", first));
    first = key;
  }
  if (!model.compressed_attention) return;
  if (model.sliding_window == 0) {
    reader.fail("sliding_window", "is missing: compressed attention needs a window");
  }
  check_at_most(reader, "num_query_groups", model.num_query_groups, {1, 1});
  const int groups = model.compressed_attention->o_groups;
  if (model.num_attention_heads % groups != 0) {
    reader.required_object("compressed_attention")
        .fail("o_groups", fmt::format("must divide num_attention_heads {} (got {})",
                                      model.num_attention_heads, groups));
  }
}

// Checks the members that an expert's record leaves to the model's, and those that it may state in
// addition.
void check_layers_of_experts(const Model& model, ObjectReader& reader) {
  if (!model.moe) return;
  check_at_most(reader.required_object("moe"), "num_first_dense_layers",
                model.moe->num_first_dense_layers, {0, model.num_layers});
}

std::optional<WeightFormat> read_checkpoint_weights(ObjectReader& reader) {
  if (!reader.has("checkpoint_weights")) return std::nullopt;
  return reader.optional_enum("checkpoint_weights", WeightFormat::bf16, kWeightFormatNames);
}

Record<Model> make_model_record() {
  Record<Model> r(
      "A transformer, in Megatron-LM's words. What is left out has the default of "
      "sim/model/model.h. A Hugging Face config.json may stand in its place.");
  using M = Model;
  r.file_of({"meshwright.model/1"}, false);
  r.row<&M::name>("Name of the model; default: that of the file.");
  r.default_from([](M& model, ObjectReader& reader) { model.name = stem_of(reader.file()); });
  r.unread("source", kind::text().schema(), "Where the shape was published.");
  r.unread("checkpoint_weights", kind::choice(kWeightFormatNames).schema(),
           "Format of the published checkpoint, which serving uses; default: bf16.");
  r.check([](const Model&, ObjectReader& reader) { read_checkpoint_weights(reader); });
  r.row<&M::num_layers>(kLayers, "Transformer layers.");
  r.required();
  r.row<&M::hidden_size>(kSize, "Width of the hidden state.");
  r.required();
  r.row<&M::ffn_hidden_size>(kSize, "Width of the MLP; default: 4 times hidden_size.");
  r.default_from([](M& model) {
    model.ffn_hidden_size =
        static_cast<int>(std::min(std::int64_t{4} * model.hidden_size, kSize.high));
  });
  r.row<&M::num_attention_heads>(kSizeOrNone, "Query heads; 0: no attention.");
  r.row<&M::num_query_groups>(kSizeOrNone, "Key-value heads; default: as many as query heads.");
  r.default_from([](M& model) { model.num_query_groups = model.num_attention_heads; });
  r.row<&M::kv_channels>(kSizeOrNone,
                         "Width of a head; default: hidden_size / num_attention_heads.");
  r.default_from(set_head_width);
  r.check(check_attention);
  r.row<&M::vocab_size>(kSizeOrNone, "Tokens of the vocabulary; 0: no embedding and no head.");
  r.row<&M::max_position_embeddings>(kSizeOrNone, "Rows of the learned position table.");
  r.row<&M::activation>(kActivationNames, "Activation of the MLP.");
  r.row<&M::normalization>(kNormalizationNames, "Norm of a layer.");
  r.row<&M::position_embedding>(kPositionEmbeddingNames, "How positions enter.");
  r.check(check_positions);
  r.row<&M::add_bias_linear>("Every linear has a bias.");
  r.row<&M::add_qkv_bias>("The linear of queries, keys and values has a bias (Qwen2).");
  r.row<&M::qk_layernorm>("Each head's query and key pass a norm (Qwen3).");
  r.row<&M::qk_layernorm_all_heads>(
      "With qk_layernorm: one norm over all heads, with a weight a column (OLMo 2).");
  r.omitted_at_default();
  r.row<&M::post_layer_norms>("A second norm follows attention and MLP (Gemma 2).");
  r.row<&M::embedding_layer_norm>("A norm follows the embedding (BLOOM).");
  r.row<&M::parallel_attention_mlp>("Attention and MLP read the same input (GPT-NeoX, Falcon).");
  r.row<&M::parallel_shared_layer_norm>(
      "With parallel_attention_mlp: both read it through one norm (Falcon-7B).");
  r.row<&M::attention_sinks>("Each head has one learned logit more (gpt-oss).");
  r.row<&M::attention_output_gate>(
      "A gate as wide as the queries weighs attention's output (Qwen3-Next).");
  r.omitted_at_default();
  r.row<&M::rotary_mscale>(NumberRange{0.0, 1e3, true},
                           "Attention factor of rotated queries and keys (YaRN).");
  r.omitted_at_default();
  r.row<&M::activation_func_clamp_value>(
      NumberRange{0.0, 1e9}, "The gate is clamped to this before its activation; 0: not.");
  r.row<&M::tied_embeddings>("The head uses the embedding's matrix.");
  r.row<&M::sliding_window>(kSizeOrNone, "Tokens that a query sees; 0: all before it.");
  r.row<&M::sliding_window_interval>(
      kLayers, "Of n layers, n - 1 use the window and one sees all; 1: all use it.");
  r.row<&M::sliding_window_in_chunks>(
      "Windows are chunks: a token sees those before it in its own (Llama 4).");
  r.omitted_at_default();
  r.row<&M::mtp_num_layers>(IntRange{0, 100'000},
                            "Layers of multi-token prediction (DeepSeek-V3).");
  r.row<&M::num_residual_streams>(
      IntRange{1, 64},
      "Copies of the residual that hyper-connections mix (DeepSeek-V4); 1: plain.");
  r.omitted_at_default();
  r.row<&M::image_encoder_num_layers>(
      kSizeOrNone, "Layers of the transformer that reads images; 0: not stated.");
  r.omitted_at_default();
  r.row<&M::image_encoder_hidden_size>(kSizeOrNone, "Its width; 0: none.").omitted_at_default();
  r.row<&M::moe>(experts_record);
  r.check(check_layers_of_experts);
  r.row<&M::mla>(latent_attention_record);
  r.row<&M::compressed_attention>(compressed_attention_record);
  r.row<&M::block_sparse_attention>(block_sparse_record);
  r.check(check_attention_kinds);
  r.row<&M::linear_attention>(delta_net_record);
  r.row<&M::state_space>(state_space_record);
  r.row<&M::selective_scan>(selective_scan_record);
  r.row<&M::kimi_delta>(kimi_delta_record);
  r.row<&M::short_convolution>(short_convolution_record);
  r.row<&M::lightning_attention>(lightning_record);
  r.row<&M::hybrid_layer_pattern>(
      "A letter a layer, where layers come in no regular turn. Of one part alone: M a recurrent "
      "mixer, * attention, - an MLP, E experts. With an MLP or experts: m a recurrent mixer, a "
      "attention, b both beside each other, w attention in the window alone, s attention without "
      "the indexer that the model's other layers have.");
  r.omitted_at_default();
  r.check(check_layer_pattern);
  return r;
}

}  // namespace

const Record<Model>& model_record() {
  static const Record<Model> record = make_model_record();
  return record;
}

Model model_from_json(const Json& json, const std::string& file, const std::string& pointer) {
  Model model = model_record().read(json, file, pointer);
  if (model.moe && model.moe->moe_ffn_hidden_size == 0) {
    model.moe->moe_ffn_hidden_size = model.ffn_hidden_size;
  }
  if (!is_countable(model)) {
    throw InputError(file, pointer, "describes more than 10^18 parameters",
                     "compare the sizes with the published ones");
  }
  return model;
}

std::optional<WeightFormat> checkpoint_weights_from_json(const Json& json,
                                                         const std::string& file) {
  ObjectReader reader(json, file);
  return read_checkpoint_weights(reader);
}

Json to_json(const Model& model) { return model_record().write(model); }

}  // namespace meshwright
