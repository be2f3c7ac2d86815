// SPDX-License-Identifier: Apache-2.0
// The transformer: what is trained, independent of any layout. Field names are Megatron-LM's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/enum_names.h"

namespace meshwright {

enum class Normalization { none, layer_norm, rms_norm };
inline constexpr std::array kNormalizationNames{EnumName{Normalization::none, "none"},
                                                EnumName{Normalization::layer_norm, "layer_norm"},
                                                EnumName{Normalization::rms_norm, "rms_norm"}};
constexpr std::string_view name_of(Normalization v) { return name_in(kNormalizationNames, v); }

enum class PositionEmbedding { none, learned, rope, alibi };
inline constexpr std::array kPositionEmbeddingNames{
    EnumName{PositionEmbedding::none, "none"}, EnumName{PositionEmbedding::learned, "learned"},
    EnumName{PositionEmbedding::rope, "rope"}, EnumName{PositionEmbedding::alibi, "alibi"}};
constexpr std::string_view name_of(PositionEmbedding v) {
  return name_in(kPositionEmbeddingNames, v);
}

// xIELU (arXiv 2411.13010) has two numbers of its own in each MLP, and is not gated.
enum class Activation { relu, gelu, swiglu, geglu, xielu };
inline constexpr std::array kActivationNames{
    EnumName{Activation::relu, "relu"}, EnumName{Activation::gelu, "gelu"},
    EnumName{Activation::swiglu, "swiglu"}, EnumName{Activation::geglu, "geglu"},
    EnumName{Activation::xielu, "xielu"}};
constexpr std::string_view name_of(Activation v) { return name_in(kActivationNames, v); }

// Gated activations have two input matrices (gate and up).
constexpr bool is_gated(Activation a) { return a == Activation::swiglu || a == Activation::geglu; }

struct MixtureOfExperts {
  int num_moe_experts = 0;                      // routed experts per layer; 0: a dense model
  int moe_router_topk = 0;                      // experts per token
  int moe_ffn_hidden_size = 0;                  // width of one routed expert
  int moe_shared_expert_intermediate_size = 0;  // 0: no shared expert
  int moe_latent_size = 0;                      // width that routed experts work on; 0: the layer's
  int num_first_dense_layers = 0;               // layers before the first expert layer
  int moe_layer_interval = 1;                   // every n-th layer after those is an expert layer
  double moe_expert_capacity_factor = 0.0;      // 0: dropless
  bool moe_expert_bias = false;                 // biases in the experts' linears (gpt-oss)
  bool moe_router_bias = false;                 // one number an expert, trained or balanced
  bool moe_shared_expert_gate = false;          // a product h -> 1 weighs the shared expert
  // A token's experts lie in so many of the groups that experts are dealt into (DeepSeek-V2 and V3,
  // Megatron-LM group_limited_topk); 0: anywhere.
  int moe_router_num_groups = 0;
  int moe_router_group_topk = 0;
  bool operator==(const MixtureOfExperts&) const = default;
};

// Multi-latent attention (DeepSeek-V2, arXiv 2405.04434).
struct LatentAttention {
  int q_lora_rank = 0;          // 0: the query is projected directly
  int kv_lora_rank = 0;         // width of the key-value latent
  int qk_head_dim = 0;          // width of a head's part without rotation
  int qk_pos_emb_head_dim = 0;  // width of a head's rotated part
  int v_head_dim = 0;           // width of a head's values
  // Heads and width of the indexer that chooses positions (DeepSeek-V3.2, arXiv 2512.02556; 0:
  // none), and the positions that attention reads.
  int dsa_indexer_n_heads = 0;
  int dsa_indexer_head_dim = 0;
  int dsa_indexer_topk = 2048;
  bool operator==(const LatentAttention&) const = default;
};

// Attention to compressed keys (DeepSeek-V4): one head of keys, which are the values too. A layer
// sees the window, and entries of so many tokens each: those of the sparse rate that an indexer
// chose, or all of the heavy rate. Its output passes a product by groups of heads.
struct CompressedAttention {
  int q_lora_rank = 0;
  int o_lora_rank = 0;  // columns that each group of heads puts out
  int o_groups = 1;
  int sparse_compress_rate = 4;
  int heavy_compress_rate = 128;
  int indexer_n_heads = 0;
  int indexer_head_dim = 0;
  int indexer_topk = 512;  // entries
  bool operator==(const CompressedAttention&) const = default;
};

// Attention to blocks of positions that an indexer chooses (MiniMax-M3).
struct BlockSparseAttention {
  int indexer_n_heads = 0;
  int indexer_head_dim = 0;
  int block_size = 128;
  int topk_blocks = 16;
  bool operator==(const BlockSparseAttention&) const = default;
};

// Linear attention by the gated delta rule (Gated DeltaNet, arXiv 2412.06464; Qwen3-Next): each
// head keeps a state of key width x value width for a sequence, whatever its length.
struct DeltaNet {
  int linear_attention_freq = 4;  // of n layers, n - 1 are delta nets and one is softmax attention
  int linear_num_key_heads = 0;
  int linear_num_value_heads = 0;
  int linear_key_head_dim = 0;
  int linear_value_head_dim = 0;
  int linear_conv_kernel_dim = 4;  // positions of the causal convolution over q, k and v
  bool operator==(const DeltaNet&) const = default;
};

// State space (Mamba-2, arXiv 2405.21060): each head keeps a state of head width x state size;
// heads of a group share what enters and leaves it.
struct StateSpace {
  int mamba_num_heads = 0;
  int mamba_head_dim = 64;
  int mamba_num_groups = 8;
  int mamba_state_dim = 128;
  int mamba_conv_kernel_dim = 4;  // positions of the causal convolution
  int mamba_chunk_size = 128;     // tokens that a scan works on together
  bool mamba_norm = true;         // over the scan's output, with its gate
  bool operator==(const StateSpace&) const = default;
};

// State space of Mamba-1 (arXiv 2312.00752): each channel keeps a state of its own.
struct SelectiveScan {
  int selective_channels = 0;
  int selective_state_dim = 16;
  int selective_dt_rank = 0;  // width of the vector behind which step widths stand
  int selective_conv_kernel_dim = 4;
  bool selective_norms = false;  // with weights, over step widths and over what enters and reads
  bool operator==(const SelectiveScan&) const = default;
};

// Delta rule with a decay a channel (Kimi Linear, arXiv 2510.26692): queries, keys and values have
// the same heads.
struct KimiDelta {
  int kda_num_heads = 0;
  int kda_head_dim = 128;
  int kda_conv_kernel_dim = 4;
  bool operator==(const KimiDelta&) const = default;
};

// Convolution of a few positions between two gates (LFM2): the hidden state's columns, no heads.
struct ShortConvolution {
  int short_conv_kernel_dim = 3;
  bool operator==(const ShortConvolution&) const = default;
};

// Linear attention with a fixed decay a head (MiniMax-01, arXiv 2501.08313).
struct Lightning {
  int lightning_num_heads = 0;
  int lightning_head_dim = 128;
  int lightning_chunk_size = 256;
  bool operator==(const Lightning&) const = default;
};

struct Model {
  std::string name;
  int num_layers = 0;
  int hidden_size = 0;
  int ffn_hidden_size = 0;
  int num_attention_heads = 0;      // 0: no attention (a plain multi-layer perceptron)
  int num_query_groups = 0;         // key-value heads: heads for MHA, 1 for MQA
  int kv_channels = 0;              // width of one head
  int vocab_size = 0;               // 0: no embedding and no language-model head
  int max_position_embeddings = 0;  // rows of the learned position table

  Activation activation = Activation::gelu;
  Normalization normalization = Normalization::layer_norm;
  PositionEmbedding position_embedding = PositionEmbedding::learned;
  bool add_bias_linear = true;          // biases in every linear
  bool add_qkv_bias = false;            // biases in the qkv linear only (Qwen2)
  bool qk_layernorm = false;            // a norm over each head's query and key (Qwen3)
  bool qk_layernorm_all_heads = false;  // ... over all heads' columns, its own weight each (OLMo 2)
  bool post_layer_norms = false;        // a second norm after attention and after MLP (Gemma 2)
  bool embedding_layer_norm = false;    // BLOOM
  bool parallel_attention_mlp = false;  // both read the layer's input (NeoX, Falcon)
  bool parallel_shared_layer_norm = false;  // ... through one norm (Falcon-7B; not NeoX)
  bool attention_sinks = false;             // one learned logit a head (gpt-oss)
  bool attention_output_gate = false;       // a sigmoid of h -> q columns weighs it (Qwen3-Next)
  double rotary_mscale = 1.0;  // factor on rotated queries and keys (YaRN's attention factor)
  double activation_func_clamp_value = 0.0;  // the gate is clamped before it is activated; 0: not
  bool tied_embeddings = true;               // the head uses the embedding's matrix
  int sliding_window = 0;                    // 0: every layer attends to all positions
  // Number n: of n layers, n - 1 use the window and one is full; 1: all use it.
  int sliding_window_interval = 1;
  // A window is the chunk of so many positions that a token lies in: it sees none before (Llama 4).
  bool sliding_window_in_chunks = false;
  int mtp_num_layers = 0;        // multi-token-prediction layers (DeepSeek-V3)
  int num_residual_streams = 1;  // copies that hyper-connections mix (DeepSeek-V4)
  // Transformer that reads images before this one; only engines' memory defaults look at it.
  int image_encoder_num_layers = 0, image_encoder_hidden_size = 0;  // 0: not stated; no encoder

  std::optional<MixtureOfExperts> moe;
  std::optional<LatentAttention> mla;
  std::optional<CompressedAttention> compressed_attention;
  std::optional<BlockSparseAttention> block_sparse_attention;
  // One recurrent mixer at most (sim/block/recurrent.h).
  std::optional<DeltaNet> linear_attention;
  std::optional<StateSpace> state_space;
  std::optional<SelectiveScan> selective_scan;
  std::optional<KimiDelta> kimi_delta;
  std::optional<ShortConvolution> short_convolution;
  std::optional<Lightning> lightning_attention;
  // A letter a layer, where layers come in no regular turn. Of one part alone, as Megatron-LM
  // writes them: M a recurrent mixer, * attention, - an MLP, E experts. With an MLP or experts
  // behind: m a recurrent mixer, a attention, b both beside each other, w attention in the window
  // alone, s attention without the indexer that the model's other layers have.
  std::string hybrid_layer_pattern;

  bool operator==(const Model&) const = default;
};

// Properties in which one layer of a model differs from another.
struct LayerKind {
  bool mixture_of_experts = false;
  bool sliding_window = false;
  bool linear_attention = false;  // a recurrent mixer, of whatever kind
  bool mixer = true;              // false: an MLP or experts alone
  bool mlp = true;                // false: a mixer alone
  // Attention to the positions that an earlier layer chose (GLM-5.2), to all entries of the heavy
  // rate (DeepSeek-V4), to all positions (MiniMax-M3).
  bool without_indexer = false;
  bool attention_beside = false;  // with linear_attention: both read one norm (Falcon-H1)
  bool operator==(const LayerKind&) const = default;
};

// Tells whether the layer attends with softmax.
constexpr bool attends(LayerKind kind) {
  return kind.mixer && (!kind.linear_attention || kind.attention_beside);
}

// By the MLP (dense, experts, none), and in each by the token mixer: whole attention, a window, a
// recurrent one, none, attention without an indexer, a recurrent one beside attention.
inline constexpr int kTokenMixers = 6;
inline constexpr int kLayerKinds = 3 * kTokenMixers;
constexpr std::size_t kind_index(LayerKind kind) {
  const std::size_t mixer = !kind.mixer             ? 3U
                            : kind.attention_beside ? 5U
                            : kind.linear_attention ? 2U
                            : kind.sliding_window   ? 1U
                            : kind.without_indexer  ? 4U
                                                    : 0U;
  const std::size_t mlp = !kind.mlp ? 2U : kind.mixture_of_experts ? 1U : 0U;
  return mlp * kTokenMixers + mixer;
}
constexpr LayerKind layer_kind_of(std::size_t index) {
  const std::size_t mixer = index % kTokenMixers, mlp = index / kTokenMixers;
  return {mlp == 1,   mixer == 1, mixer == 2 || mixer == 5, mixer != 3, mlp != 2,
          mixer == 4, mixer == 5};
}

// Layers by their kind; fractions where recomputed layers are spread over chunks.
class LayerCounts {
 public:
  double& of(LayerKind kind) { return counts_[kind_index(kind)]; }
  [[nodiscard]] double of(LayerKind kind) const { return counts_[kind_index(kind)]; }
  template <typename Chosen>
  [[nodiscard]] double sum(Chosen chosen) const {
    double sum = 0;
    for (std::size_t k = 0; k < counts_.size(); ++k) {
      if (counts_[k] > 0 && chosen(layer_kind_of(k))) sum += counts_[k];
    }
    return sum;
  }
  [[nodiscard]] double total() const {
    return sum([](LayerKind) { return true; });
  }
  [[nodiscard]] double dense() const {
    return sum([](LayerKind kind) { return kind.mlp && !kind.mixture_of_experts; });
  }
  [[nodiscard]] double experts() const {
    return sum([](LayerKind kind) { return kind.mixture_of_experts; });
  }
  [[nodiscard]] double mixers() const {
    return sum([](LayerKind kind) { return kind.mixer; });
  }
  [[nodiscard]] double recurrent() const {
    return sum([](LayerKind kind) { return kind.linear_attention; });
  }
  [[nodiscard]] double softmax() const { return sum(attends); }

 private:
  std::array<double, kLayerKinds> counts_{};
};

// The kind of layer `index`, 0 <= index < num_layers.
LayerKind layer_kind(const Model& model, int index);

// Tells whether some layer has a dense MLP.
bool has_dense_mlp(const Model& model);
// Width of what routed experts take and give: the latent's, or the hidden state's.
std::int64_t expert_hidden_size(const Model& model);
// Width of the query projection's output: heads x head width (MLA: heads x (qk + rope)).
std::int64_t query_size(const Model& model);
// Width of the key projection's output, all groups.
std::int64_t key_size(const Model& model);
// Width of the attention output before its projection: heads x value head width.
std::int64_t attention_output_size(const Model& model);

}  // namespace meshwright
