// SPDX-License-Identifier: Apache-2.0
// YAML and JSON of axolotl, LLaMA-Factory, TRL and other programs round Hugging Face's Trainer.
#include "interop/read_launch/fine_tuning.h"
#include "interop/read_launch/launch_format.h"

namespace meshwright::interop {
namespace {

bool is_axolotl(const LaunchText& text) {
  return has_key(text, "base_model") &&
         has_any(text, {"sequence_len", "datasets.", "datasets", "micro_batch_size", "adapter",
                        "pretraining_dataset", "sample_packing"});
}

bool is_llama_factory(const LaunchText& text) {
  const bool second = has_any(text, {"dist_config.", "peft_config.", "init_config."}) &&
                      has_any(text, {"model", "train_dataset"});
  const bool named = has_any(text, {"model_name_or_path", "template", "dataset"});
  return second || has_any(text, {"finetuning_type", "cutoff_len"}) ||
         (named && has_key(text, "stage"));
}

bool is_of_trainer(const LaunchText& text) {
  return has_key(text, "per_device_train_batch_size") ||
         (has_any(text, {"model_name_or_path", "model_name"}) &&
          has_any(text, {"gradient_accumulation_steps", "num_train_epochs", "learning_rate",
                         "dataset_name", "dataset_mixture.", "dataset_mixer.", "use_peft",
                         "max_seq_length", "output_dir"}));
}

bool is_trl(const LaunchText& text) {
  return has_any(text,
                 {"use_peft", "dataset_mixture.", "dataset_mixer.", "max_seq_length", "max_length",
                  "packing", "assistant_only_loss", "dataset_text_field", "dataset_name"});
}

LaunchRecord read_fine_tuning_document(const LaunchText& text, const LaunchHints& hints,
                                       const ReadNamedFile& read) {
  const FineTuner tuner = fine_tuner_of(text).value_or(FineTuner::trainer);
  Values values = in_trainer_words(text.document, tuner);
  LaunchRecord record;
  LaunchReading reading(values, record);
  read_fine_tuning(reading, fine_tuner_defaults(tuner), {&hints, &read, text.file});
  return record;
}

}  // namespace

std::optional<FineTuner> fine_tuner_of(const LaunchText& text) {
  if (is_script(text)) return std::nullopt;
  if (is_axolotl(text)) return FineTuner::axolotl;
  if (is_llama_factory(text)) return FineTuner::llama_factory;
  if (!is_of_trainer(text)) return std::nullopt;
  return is_trl(text) ? FineTuner::trl : FineTuner::trainer;
}

extern const LaunchFormat kFineTuningYamlFormat;
constexpr LaunchFormat kFineTuningYamlFormat{
    [](const LaunchText& t) { return fine_tuner_of(t).has_value(); },
    [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile& read) {
      return read_fine_tuning_document(t, hints, read);
    }};

}  // namespace meshwright::interop
