// SPDX-License-Identifier: Apache-2.0
#include "calibrate/serving_bench.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "calibrate/cache_copy_bench.h"
#include "calibrate/latent_attention_bench.h"
#include "calibrate/paged_bench.h"
#include "calibrate/serving_bench_parts.h"
#include "calibrate/trial/serving/paged_attention.h"
#include "calibrate/trial/serving/serving_engine.h"

namespace meshwright::calibrate {
namespace {

class PagedAttentionBench final : public PagedBench {
 public:
  PagedAttentionBench(Compute& compute, Communicator& world, const PagedAttentionShape& shape)
      : PagedBench(compute, world, shape, cached_numbers(shape),
                   {shape.query_groups, shape.head_dim, shape.head_dim, kServedBlock}) {
    heads_ = sample_heads(context_.positions, shape.heads + 2 * shape.query_groups, 1);
    begin_sequences();
    if (shape_.cached == 0) return;
    keys_ = sample_heads(shape_.cached, shape_.query_groups, 2);
    values_ = sample_heads(shape_.cached, shape_.query_groups, 3);
    fill_cache(keys_, values_, shape_.cached * shape_.head_dim);
  }

 private:
  static std::int64_t cached_numbers(const PagedAttentionShape& shape) {
    return 2 * shape.sequences * served_blocks(shape) * kServedBlock * shape.query_groups *
           shape.head_dim;
  }
  [[nodiscard]] const char* name() const override { return "paged attention"; }
  [[nodiscard]] std::int64_t value_width() const override { return shape_.head_dim; }
  [[nodiscard]] std::int64_t seen() const { return shape_.cached + shape_.rows; }
  // As query_key_value.h has heads: (groups, queries + key + value, rows, width).
  [[nodiscard]] Tensor sample_heads(std::int64_t rows, std::int64_t heads, unsigned stream) const {
    return sample(rows * heads * shape_.head_dim, stream);
  }
  [[nodiscard]] Tensor attend(std::size_t layer) const override {
    const PagedHeads heads{shape_.query_groups, shape_.heads / shape_.query_groups,
                           shape_.head_dim};
    return attend_pages(context_, heads, heads_, rows_, cache_, layer);
  }

  [[nodiscard]] double reference(std::int64_t column) const override {
    const std::int64_t width = shape_.head_dim, rows = context_.positions, all = seen();
    const std::int64_t queries = shape_.heads / shape_.query_groups;
    const std::int64_t group = shape_.query_groups - 1;
    const std::vector<float> own = downloaded(context_, heads_);
    std::vector<float> cached_keys, cached_values;
    if (shape_.cached > 0) {
      cached_keys = downloaded(context_, keys_);
      cached_values = downloaded(context_, values_);
    }
    const auto of_own = [&](std::int64_t head, std::int64_t row, std::int64_t i) {
      const std::int64_t at = ((group * (queries + 2) + head) * rows + row) * width + i;
      return static_cast<double>(own[static_cast<std::size_t>(at)]);
    };
    const auto number = [&](std::int64_t position, bool value, std::int64_t i) {
      if (position >= shape_.cached) {
        const std::int64_t row = rows - shape_.rows + position - shape_.cached;
        return of_own(queries + (value ? 1 : 0), row, i);
      }
      const std::int64_t at = (group * shape_.cached + position) * width + i;
      return static_cast<double>(
          (value ? cached_values : cached_keys)[static_cast<std::size_t>(at)]);
    };
    double sum = 0, result = 0;
    for (std::int64_t p = 0; p < all; ++p) {
      double score = 0;
      for (std::int64_t i = 0; i < width; ++i) {
        score += of_own(queries - 1, rows - 1, i) * number(p, false, i);
      }
      const double weight = std::exp(score / std::sqrt(static_cast<double>(width)));
      sum += weight;
      result += weight * number(p, true, column);
    }
    return result / sum;
  }

  Tensor heads_, keys_, values_;
};

constexpr int kSteps = 32;  // of a repetition, beside the one with the prompts

ServingScenario scenario_of(const EngineStepShape& shape) {
  ServingScenario scenario;
  Model& model = scenario.model;
  model.num_layers = 0;
  model.hidden_size = 16;
  model.ffn_hidden_size = 16;
  model.num_attention_heads = model.num_query_groups = 1;
  model.kv_channels = 16;
  model.vocab_size = static_cast<int>(shape.vocab);
  model.max_position_embeddings = 2 * kSteps;
  scenario.options.max_num_seqs = scenario.options.max_num_batched_tokens =
      static_cast<int>(shape.sequences);
  scenario.options.block_size = kServedBlock;
  scenario.engine.prefix_caching = false;
  scenario.engine.host = {};
  return scenario;
}

// All sequences begin at once with one token each, and give kSteps more: the engine runs from its
// first request to its last as in a trial.
class EngineStepBench final : public Bench {
 public:
  EngineStepBench(Compute& compute, Communicator& world, const EngineStepShape& shape)
      : Bench(compute),
        alone_(world.split(world.rank(), 0)),
        scenario_(scenario_of(shape)),
        engine_(scenario_, compute, *alone_, options_of(compute, shape)) {
    load_.kind = LoadKind::all_at_once;
    load_.num_requests = static_cast<int>(shape.sequences);
    load_.lengths.input = 1;
    load_.lengths.output = kSteps + 1;
  }
  std::string check() override {
    engine_.run(load_);
    const auto steps = static_cast<int>(engine_.steps().size());
    if (steps == kSteps + 1) return "";
    return fmt::format("engine step: {} steps where {} were expected", steps, kSteps + 1);
  }
  void start(int repetitions) override {
    for (int i = 0; i < repetitions; ++i) engine_.run(load_);
  }
  [[nodiscard]] double units() const override { return kSteps + 1; }

 private:
  static ServingModelOptions options_of(const Compute& compute, const EngineStepShape& shape) {
    const std::int64_t each = (kSteps + 2 + kServedBlock - 1) / kServedBlock;
    return {.blocks = shape.sequences * each,
            .block_size = kServedBlock,
            .longest = kSteps + 2,
            .precision = served_job(compute).precision};
  }

  std::unique_ptr<Communicator> alone_;
  ServingScenario scenario_;
  ServingEngine engine_;
  ServingLoad load_;
};

}  // namespace

std::unique_ptr<Bench> make_serving_bench(Compute& compute, Communicator& world,
                                          const MeasuredPoint& point) {
  if (const auto* attention = point.as<timed::PagedAttention>()) {
    if (attention->shape.is_latent()) {
      return make_latent_attention_bench(compute, world, attention->shape);
    }
    return std::make_unique<PagedAttentionBench>(compute, world, attention->shape);
  }
  if (const auto* copy = point.as<timed::CacheCopy>()) {
    return make_cache_copy_bench(compute, world, copy->shape);
  }
  if (const auto* step = point.as<timed::EngineStep>()) {
    return std::make_unique<EngineStepBench>(compute, world, step->shape);
  }
  return nullptr;
}

}  // namespace meshwright::calibrate
