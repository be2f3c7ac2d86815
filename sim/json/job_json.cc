// SPDX-License-Identifier: Apache-2.0
#include "sim/base/job.h"
#include "sim/json/reader.h"
#include "sim/json/records.h"

namespace meshwright {
namespace {

// What tokens travel in.
Precision read_sent(ObjectReader& reader, const char* key, Precision usual) {
  constexpr std::array kSent{EnumName{Precision::bf16, "bf16"}, EnumName{Precision::fp8, "fp8"}};
  return reader.optional_enum(key, usual, kSent);
}

}  // namespace

Job job_from_json(const Json& json, const std::string& file, const std::string& pointer,
                  const Job& defaults) {
  ObjectReader reader(json, file, pointer);
  const std::string schema = reader.optional_string("schema", "meshwright.job/1");
  if (schema != "meshwright.job/1") {
    reader.fail("schema", "must be \"meshwright.job/1\", is \"" + schema + "\"");
  }
  Job job = defaults;
  job.name = reader.optional_string("name", job.name);
  job.seq_length = reader.optional_int("seq_length", job.seq_length, {1, 100'000'000});
  job.global_batch_size =
      reader.optional_int("global_batch_size", job.global_batch_size, {1, 100'000'000});
  job.precision = reader.optional_enum("precision", job.precision, kPrecisionNames);
  job.gradient_precision =
      reader.optional_enum("gradient_precision", job.gradient_precision, kPrecisionNames);
  job.exp_avg_precision =
      reader.optional_enum("exp_avg_precision", job.exp_avg_precision, kPrecisionNames);
  job.exp_avg_sq_precision =
      reader.optional_enum("exp_avg_sq_precision", job.exp_avg_sq_precision, kPrecisionNames);
  job.optimizer = reader.optional_enum("optimizer", job.optimizer, kOptimizerNames);
  job.attention_kernel =
      reader.optional_enum("attention_kernel", job.attention_kernel, kAttentionKernelNames);
  job.kernel_fusion = reader.optional_enum("kernel_fusion", job.kernel_fusion, kKernelFusionNames);
  job.dropout = reader.optional_bool("dropout", job.dropout);
  job.cross_entropy_loss_fusion =
      reader.optional_bool("cross_entropy_loss_fusion", job.cross_entropy_loss_fusion);
  job.fp8_param_gather = reader.optional_bool("fp8_param_gather", job.fp8_param_gather);
  if (job.fp8_param_gather && job.precision != Precision::fp8) {
    reader.fail("fp8_param_gather", "may be true only where precision is \"fp8\"");
  }
  if (reader.has("fp8_recipe")) {
    job.fp8_recipe = reader.optional_enum("fp8_recipe", Fp8Recipe::delayed, kFp8RecipeNames);
  }
  job.activation_func_fp8_input_store =
      reader.optional_bool("activation_func_fp8_input_store", job.activation_func_fp8_input_store);
  job.moe_dispatch_fwd_dtype =
      read_sent(reader, "moe_dispatch_fwd_dtype", job.moe_dispatch_fwd_dtype);
  job.moe_combine_bwd_dtype = read_sent(reader, "moe_combine_bwd_dtype", job.moe_combine_bwd_dtype);
  job.causal = reader.optional_bool("causal", job.causal);
  job.make_vocab_size_divisible_by = reader.optional_int(
      "make_vocab_size_divisible_by", job.make_vocab_size_divisible_by, {1, 1'000'000});
  job.moe_load_imbalance =
      reader.optional_number("moe_load_imbalance", job.moe_load_imbalance, {1.0, 1000.0});
  job.train_tokens = reader.stated_number("train_tokens");
  reader.finish({"source", "capacity"});
  return job;
}

Json to_json(const Job& job) {
  Json json;
  json["schema"] = "meshwright.job/1";
  json["name"] = job.name;
  json["seq_length"] = job.seq_length;
  json["global_batch_size"] = job.global_batch_size;
  json["precision"] = name_of(job.precision);
  json["gradient_precision"] = name_of(job.gradient_precision);
  json["exp_avg_precision"] = name_of(job.exp_avg_precision);
  json["exp_avg_sq_precision"] = name_of(job.exp_avg_sq_precision);
  json["optimizer"] = name_of(job.optimizer);
  json["attention_kernel"] = name_of(job.attention_kernel);
  json["kernel_fusion"] = name_of(job.kernel_fusion);
  json["dropout"] = job.dropout;
  json["cross_entropy_loss_fusion"] = job.cross_entropy_loss_fusion;
  json["fp8_param_gather"] = job.fp8_param_gather;
  if (job.fp8_recipe) json["fp8_recipe"] = name_of(*job.fp8_recipe);
  if (job.activation_func_fp8_input_store) json["activation_func_fp8_input_store"] = true;
  if (job.moe_dispatch_fwd_dtype != Precision::bf16) {
    json["moe_dispatch_fwd_dtype"] = name_of(job.moe_dispatch_fwd_dtype);
  }
  if (job.moe_combine_bwd_dtype != Precision::bf16) {
    json["moe_combine_bwd_dtype"] = name_of(job.moe_combine_bwd_dtype);
  }
  json["causal"] = job.causal;
  json["moe_load_imbalance"] = job.moe_load_imbalance;
  json["make_vocab_size_divisible_by"] = job.make_vocab_size_divisible_by;
  json["train_tokens"] = job.train_tokens.value_or(0.0);
  return json;
}

}  // namespace meshwright
