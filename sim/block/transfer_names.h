// SPDX-License-Identifier: Apache-2.0
// Names of transfers that the ledger lists and a trial makes: an observation is laid beside the
// ledger by them.
#pragma once

#include <string_view>

namespace meshwright::transfer_names {

inline constexpr std::string_view kHiddenFormula = "b*s*h*w/c";

// A column-parallel linear followed by a row-parallel one.
struct BlockNames {
  // Without sequence parallelism.
  std::string_view output_all_reduce;
  std::string_view input_gradient_all_reduce;
  // With it.
  std::string_view input_all_gather;
  std::string_view output_reduce_scatter;
  std::string_view output_gradient_all_gather;
  std::string_view input_gradient_reduce_scatter;
  std::string_view input_all_gather_again;
};

// Tokens on their way to experts and back.
struct ExpertNames {
  std::string_view dispatch, combine, dispatch_gradient, combine_gradient;
};
inline constexpr ExpertNames kExperts{"expert dispatch all-to-all", "expert combine all-to-all",
                                      "expert dispatch gradient all-to-all",
                                      "expert combine gradient all-to-all"};
inline constexpr std::string_view kRouterProbability = "router probability all-to-all";
inline constexpr std::string_view kRouterProbabilityGradient =
    "router probability gradient all-to-all";
inline constexpr std::string_view kTokenCounts = "token count exchange";
// Between ranks that hold pieces of the same experts.
inline constexpr std::string_view kExpertInputGather = "expert input all-gather";
inline constexpr std::string_view kExpertInputGradientScatter =
    "expert input gradient reduce-scatter";
inline constexpr std::string_view kExpertOutputScatter = "expert output reduce-scatter";
inline constexpr std::string_view kExpertOutputGradientGather = "expert output gradient all-gather";
inline constexpr std::string_view kExpertProbabilityGather = "router probability all-gather";
inline constexpr std::string_view kExpertProbabilityGradientScatter =
    "router probability gradient reduce-scatter";

// The allgather dispatcher's: all tokens to all ranks with experts, with what the router says.
inline constexpr ExpertNames kGatheredExperts{
    "expert dispatch all-gather", "expert combine reduce-scatter",
    "expert dispatch gradient reduce-scatter", "expert combine gradient all-gather"};
inline constexpr std::string_view kRoutingMapGather = "routing map all-gather";

// LoRA's adapters under tensor parallelism.
struct AdapterNames {
  std::string_view low_rank_gather, low_rank_reduce, low_rank_gradient_reduce;
  std::string_view output_gather, output_gradient_gather, output_exchange, output_gradient_exchange;
};
inline constexpr AdapterNames kAdapters{
    "adapter low-rank all-gather",          "adapter low-rank all-reduce",
    "adapter low-rank gradient all-reduce", "adapter output all-gather",
    "adapter output gradient all-gather",   "adapter output all-to-all",
    "adapter output gradient all-to-all"};

// Between pipeline stages of an inference engine.
inline constexpr std::string_view kStageSend = "stage send";

inline constexpr BlockNames kAttention{"attention output all-reduce",
                                       "attention input gradient all-reduce",
                                       "attention input all-gather",
                                       "attention output reduce-scatter",
                                       "attention output gradient all-gather",
                                       "attention input gradient reduce-scatter",
                                       "attention input all-gather for the weight gradient"};
inline constexpr BlockNames kMlp{"MLP output all-reduce",
                                 "MLP input gradient all-reduce",
                                 "MLP input all-gather",
                                 "MLP output reduce-scatter",
                                 "MLP output gradient all-gather",
                                 "MLP input gradient reduce-scatter",
                                 "MLP input all-gather for the weight gradient"};

inline constexpr BlockNames kParallel{"attention and MLP output all-reduce",
                                      "attention and MLP input gradient all-reduce",
                                      "attention and MLP input all-gather",
                                      "attention and MLP output reduce-scatter",
                                      "attention and MLP output gradient all-gather",
                                      "attention and MLP input gradient reduce-scatter",
                                      "attention and MLP input all-gather for the weight gradient"};
inline constexpr BlockNames kSharedExpert{"shared expert output all-reduce",
                                          "shared expert input gradient all-reduce",
                                          "shared expert input all-gather",
                                          "shared expert output reduce-scatter",
                                          "shared expert output gradient all-gather",
                                          "shared expert input gradient reduce-scatter",
                                          "shared expert input all-gather for the weight gradient"};
inline constexpr BlockNames kLatentQuery{"",
                                         "latent query gradient all-reduce",
                                         "latent query all-gather",
                                         "",
                                         "",
                                         "latent query gradient reduce-scatter",
                                         "latent query all-gather for the weight gradient"};
inline constexpr BlockNames kLatentKeyValue{"",
                                            "latent key-value gradient all-reduce",
                                            "latent key-value all-gather",
                                            "",
                                            "",
                                            "latent key-value gradient reduce-scatter",
                                            "latent key-value all-gather for the weight gradient"};

// Narrow vectors behind which a mixer's gates stand (Kimi delta attention).
inline constexpr BlockNames kGates{"",
                                   "gate gradient all-reduce",
                                   "gate all-gather",
                                   "",
                                   "",
                                   "gate gradient reduce-scatter",
                                   "gate all-gather for the weight gradient"};

inline constexpr std::string_view kRotaryKeyGather = "rotary key all-gather";
inline constexpr std::string_view kRotaryKeyGradientScatter = "rotary key gradient reduce-scatter";
inline constexpr std::string_view kRotaryKeyGradientAllReduce = "rotary key gradient all-reduce";
inline constexpr BlockNames kRotaryKey{
    "", kRotaryKeyGradientAllReduce, kRotaryKeyGather, "", "", kRotaryKeyGradientScatter, ""};

// Keys and values between context ranks, or heads.
inline constexpr std::string_view kKeyRing = "key-value ring send";
inline constexpr std::string_view kKeyRingAgain = "key-value ring send again";
inline constexpr std::string_view kKeyGradientRing = "key-value gradient ring send";
inline constexpr std::string_view kKeyGather = "key-value all-gather";
inline constexpr std::string_view kKeyGatherAgain = "key-value all-gather again";
inline constexpr std::string_view kKeyGradientScatter = "key-value gradient reduce-scatter";
inline constexpr std::string_view kHeadsExchange = "query-key-value-output all-to-all";
inline constexpr std::string_view kHeadsExchangeGradient =
    "query-key-value-output gradient all-to-all";

inline constexpr std::string_view kScanExchange = "scan all-to-all";
inline constexpr std::string_view kScanExchangeGradient = "scan gradient all-to-all";

inline constexpr std::string_view kSharedGroupsAllGather =
    "query-key-value all-gather of shared groups";
inline constexpr std::string_view kSharedGroupsReduceScatter =
    "query-key-value gradient reduce-scatter of shared groups";

// Of inference, where every tensor rank has all tokens.
inline constexpr std::string_view kTokenDispatch = "token dispatch";
inline constexpr std::string_view kTokenCombine = "token combine";
inline constexpr std::string_view kExpertOutputAllReduce = "expert output all-reduce";
inline constexpr std::string_view kLogitsAllGather = "logits all-gather";
inline constexpr std::string_view kEmbeddingReduceScatter = "embedding reduce-scatter";
inline constexpr std::string_view kEmbeddingAllReduce = "embedding all-reduce";
inline constexpr std::string_view kEmbeddingGradientAllGather = "embedding gradient all-gather";
inline constexpr std::string_view kLogitsInputAllGather = "logits input all-gather";
inline constexpr std::string_view kLogitsInputAllGatherAgain =
    "logits input all-gather for the weight gradient";
inline constexpr std::string_view kLogitsGradientReduceScatter =
    "logits input gradient reduce-scatter";
inline constexpr std::string_view kLogitsGradientAllReduce = "logits input gradient all-reduce";
// Linears whose columns alone are cut.
inline constexpr BlockNames kLogits{"", kLogitsGradientAllReduce,     kLogitsInputAllGather,     "",
                                    "", kLogitsGradientReduceScatter, kLogitsInputAllGatherAgain};
inline constexpr BlockNames kMtpProjection{
    "",
    "MTP projection input gradient all-reduce",
    "MTP projection input all-gather",
    "",
    "",
    "MTP projection input gradient reduce-scatter",
    "MTP projection input all-gather for the weight gradient"};
inline constexpr std::string_view kMtpProjectionOutputGather = "MTP projection output all-gather";
inline constexpr std::string_view kMtpProjectionOutputGradientGather =
    "MTP projection output gradient all-gather";
inline constexpr std::string_view kCrossEntropyAllReduce = "cross-entropy all-reduce";

inline constexpr std::string_view kActivationSend = "activation send";
inline constexpr std::string_view kActivationGradientSend = "activation gradient send";
// Where stages send pieces.
inline constexpr std::string_view kReceivedActivationGather = "received activation all-gather";
inline constexpr std::string_view kReceivedGradientGather = "received gradient all-gather";
// Where a stage holds a copy of another's layers.
inline constexpr std::string_view kMirroredGradientAllReduce = "mirrored stage gradient all-reduce";

inline constexpr std::string_view kGradientAllReduce = "gradient all-reduce";
inline constexpr std::string_view kGradientReduceScatter = "gradient reduce-scatter";
inline constexpr std::string_view kUpdatedWeightAllGather = "updated weight all-gather";
// ZeRO-3's, and between copies of shards.
inline constexpr std::string_view kWeightGather = "weight all-gather";
inline constexpr std::string_view kWeightGatherAgain = "weight all-gather again";
inline constexpr std::string_view kShardAllReduce = "gradient shard all-reduce";
// FSDP's units, and its root.
inline constexpr std::string_view kFirstUnitGather = "first unit's weight all-gather";
inline constexpr std::string_view kUnitGather = "unit weight all-gather";
inline constexpr std::string_view kUnitGatherAgain = "unit weight all-gather again";
inline constexpr std::string_view kFirstUnitReduceScatter = "first unit's gradient reduce-scatter";
inline constexpr std::string_view kUnitReduceScatter = "unit gradient reduce-scatter";
inline constexpr std::string_view kRootGather = "root weight all-gather";
inline constexpr std::string_view kRootReduceScatter = "root gradient reduce-scatter";
// Embedding and head where they are units.
inline constexpr std::string_view kVocabularyGather = "embedding or head unit weight all-gather";
inline constexpr std::string_view kVocabularyGatherAgain =
    "embedding or head unit weight all-gather again";
inline constexpr std::string_view kVocabularyReduceScatter =
    "embedding or head unit gradient reduce-scatter";
inline constexpr std::string_view kReplicatedGradientAllReduce =
    "replicated parameter gradient all-reduce";
inline constexpr std::string_view kSharedEmbeddingAllReduce =
    "shared embedding gradient all-reduce";
inline constexpr std::string_view kExpertTokensAllReduce = "expert token count all-reduce";
inline constexpr std::string_view kTokenCountAllReduce = "token count all-reduce";
inline constexpr std::string_view kLossAllReduce = "loss and token count all-reduce";

}  // namespace meshwright::transfer_names
