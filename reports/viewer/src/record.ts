// SPDX-License-Identifier: Apache-2.0
// Made by record_types.mjs from reports/schema/report.schema.json.

export type Provenance = "measured" | "interpolated" | "fitted" | "extrapolated" | "datasheet" | "assumed";

export type Input = {
  name: string;
  file: string;
  sha256: string;
};

export type Term = {
  name: string;
  seconds: number;
  relative_spread: number;
  provenance: Provenance;
};

export type Layout = {
  tensor_parallel_size: number;
  pipeline_parallel_size: number;
  data_parallel_size: number;
  zero_stage: number;
  recompute_granularity: string;
};

export interface ReportRecord {
  schema: "meshwright.report/1";
  tool_version: string;
  command: string;
  inputs: Input[];
  plan: {
    schema: "meshwright.plan/1";
    tool_version: string;
    command: string;
    inputs: Input[];
  };
  title: string;
  verdict: string;
  summary: null | {
    gpus: number;
    tokens_per_step: number;
    step_time_seconds: number;
    memory_headroom: number;
    interval_regime: "profiled_machine" | "profiled_cores" | "known_chip" | "unknown_software" | "unknown_chip";
    interval_narrowed_by: string;
    provenance: Provenance;
    provenance_shares: Record<string, unknown>;
    train_tokens?: number;
    train_seconds?: number;
    gpu_hours?: number;
    cost?: number;
    short_name: string;
    layout: Layout;
    step_time_low_seconds: number;
    step_time_high_seconds: number;
    tokens_per_second_per_gpu: number;
    model_flops_utilization: number;
    peak_memory_bytes: number;
    memory_capacity_bytes: number;
  };
  model: Record<string, unknown>;
  job: Record<string, unknown>;
  cluster: {
    device_kind?: "cpu" | "gpu";
    gpus: number;
  };
  ranked: {
    rank: number;
    short_name: string;
    layout: Layout;
    step_time_seconds: number;
    step_time_low_seconds: number;
    step_time_high_seconds: number;
    relative_to_best: number;
    tokens_per_second_per_gpu: number;
    model_flops_utilization: number;
    peak_memory_bytes: number;
    provenance: Provenance;
    pareto: boolean;
    terms: Term[];
    compared_with_next: null | {
      sentence: string;
      seconds: number;
      terms: {
        name: string;
        next_minus_this_seconds: number;
      }[];
    };
    brief_name: string;
    provenance_share: number;
  }[];
  answers: null | {
    objective: {
      name: string;
      unit: string;
      meaning: string;
      lower_is_better: boolean;
      value: number | null;
    };
    limits: {
      max_memory_bytes: number | null;
      headroom: number;
      max_step_seconds: number | null;
      max_cost: number | null;
    };
    confidence: null | {
      probability_best: number;
      expected_regret: number;
      relative_deviation: number;
      against: {
        rank: number;
        short_name: string;
        brief_name: string;
        probability_winner_is_faster: number;
        difference_seconds: number;
        deviation_seconds: number;
        correlation: number;
        expected_gain_seconds: number;
        runs_to_settle: number;
      }[];
      proposed_runs: {
        rank: number;
        short_name: string;
        brief_name: string;
        runs: number;
        reason: string;
      }[];
    };
    sensitivity: {
      parameter: string;
      label: string;
      unit: string;
      value: number;
      relative_spread: number;
      provenance: Provenance;
      low: {
        factor: number;
        value: number;
        step_time_seconds: number;
        best: {
          short_name: string;
          brief_name: string;
          layout: Layout;
        };
        best_step_time_seconds: number;
      };
      high: {
        factor: number;
        value: number;
        step_time_seconds: number;
        best: {
          short_name: string;
          brief_name: string;
          layout: Layout;
        };
        best_step_time_seconds: number;
      };
      winner_changes: boolean;
      capped: boolean;
    }[];
    crossovers: {
      parameter: string;
      label: string;
      unit: string;
      direction: "below" | "above";
      at: number;
      today: number;
      factor: number;
      best: {
        short_name: string;
        brief_name: string;
        layout: Layout;
      };
      end_value: number;
      end_best: {
        short_name: string;
        brief_name: string;
        layout: Layout;
      };
      gain_at_end: number;
      winner_fits: boolean;
      exact: boolean;
      sentence: string;
    }[];
    what_ifs: {
      text: string;
      changes: {
        parameter: string;
        label: string;
        unit: string;
        factor: number;
        before: number;
        after: number;
      }[];
      winner: null | {
        short_name: string;
        brief_name: string;
        layout: Layout;
        step_time_seconds: number;
        peak_memory_bytes: number;
      };
      base_winner: null | {
        short_name: string;
        brief_name: string;
        layout: Layout;
        step_time_seconds: number;
        peak_memory_bytes: number;
      };
      winner_changes: boolean;
      step_time_change: number;
      sentence: string;
      needs: null | {
        train_seconds: number;
        gpu_hours: number;
        cost: number | null;
        device_energy_kwh: number | null;
      };
      needs_today: null | {
        train_seconds: number;
        gpu_hours: number;
        cost: number | null;
        device_energy_kwh: number | null;
      };
    }[];
    robust_pick?: null | {
      pick: null | {
        short_name: string;
        brief_name: string;
        layout: Layout;
        step_time_seconds: number;
        peak_memory_bytes: number;
      };
      is_best: boolean;
      loss: number;
      sentence: string;
    };
    red_flags: {
      id: "tensor_beyond_domain" | "expert_beyond_domain" | "few_micro_batches" | "memory_half_empty" | "low_utilization" | "small_batch" | "one_layer_chunks" | "assumed_input" | "tensor_on_slow_link" | "tensor_beyond_rule" | "context_for_memory" | "memory_nearly_full" | "recompute_without_offload";
      sentence: string;
      effect_seconds: number | null;
      effect_bytes: number | null;
    }[];
    rule_of_thumb: null | {
      row: string;
      sizes: string;
      source: string;
      reason: string;
      sentence: string;
      best: null | {
        short_name: string;
        brief_name: string;
        layout: Layout;
        step_time_seconds: number;
        peak_memory_bytes: number;
        relative_to_best: number;
      };
    };
  };
  volume: null | {
    stage: number;
    sent_bytes: number;
    groups: {
      group: string;
      tier: "self" | "intra_node" | "inter_node";
      group_size: number;
      sent_bytes: number;
      payload_bytes: number;
    }[];
    transfers: {
      name: string;
      group: string;
      group_size: number;
      tier: "self" | "intra_node" | "inter_node";
      collective: string;
      phase: string;
      times_per_step: number;
      payload_bytes: number;
      sent_per_step_bytes: number;
      overlappable: boolean;
      formula: string;
    }[];
    published_orders: {
      axes: {
        axis: string;
        order: string;
        order_elements: number;
        exact_bytes: number;
      }[];
      sentence: string;
    };
    links: {
      tier: "self" | "intra_node" | "inter_node";
      name: string;
      bandwidth_bytes_per_second: number;
      latency_seconds: number;
      provenance: Provenance;
    }[];
  };
  memory: null | {
    capacity_bytes: number;
    stages: {
      stage: number;
      num_layers?: number;
      weights_bytes: number;
      gradients_bytes: number;
      optimizer_bytes: number;
      activations_bytes: number;
      recompute_workspace_bytes: number;
      operator_workspace_bytes: number;
      logits_bytes: number;
      communication_buffers_bytes: number;
      reserve_bytes: number;
      total_bytes: number;
    }[];
  };
  heat_map: null | {
    tensor_parallel_sizes: number[];
    pipeline_parallel_sizes: number[];
    cells: {
      tensor_parallel_size: number;
      pipeline_parallel_size: number;
      step_time_seconds: number | null;
      peak_memory_bytes?: number;
      short_name?: string;
      rule?: string;
      reason?: string;
    }[];
  };
  too_large: {
    short_name: string;
    step_time_seconds: number;
    peak_memory_bytes: number;
    reason: string;
    smallest_change: string;
  }[];
  timeline: null | {
    schedule: string;
    stages: number;
    micro_batches: number;
    step_seconds: number;
    left_out_seconds: number[];
    stage_shares: {
      compute: number;
      communication: number;
      idle: number;
    }[];
    sentence: string;
    works: string[];
    event_columns: string[];
    events: unknown[][];
  };
  validation: null | {
    median_absolute_error: number;
    worst_absolute_error: number;
    kendall_tau: number;
    interval_coverage: number;
    regret: number;
    median_absolute_error_at_host_speed: number | null;
    interval_coverage_at_host_speed: number | null;
    median_absolute_memory_error: number;
    skipped: string[];
    layouts: {
      name: string;
      run_name: string;
      predicted_seconds: number;
      measured_seconds: number;
      error: number;
      inside_interval: boolean;
      at_host_speed: null | {
        error: number;
        inside_interval: boolean;
      };
      same_bytes: boolean;
      transfers: Record<string, unknown>[];
      terms: {
        name: string;
        predicted_seconds: number;
        measured_seconds: number;
      }[];
      predicted_low_seconds: number;
      predicted_high_seconds: number;
      memory_error: number;
    }[];
  };
  rejections: {
    rule: string;
    count: number;
    requirement: string;
    reason: string;
    sentence: string;
    smallest_change: string;
    example: string;
    needed: number;
    available: number;
  }[];
  statistics: {
    enumerated: number;
    legal: number;
    fitting: number;
  };
  calibration: {
    device: string;
    source: string;
    facts: {
      what: string;
      value: string;
      provenance: Provenance;
      measured_points: number;
    }[];
    extrapolations: string[];
    measured: {
      name: string;
      typical_residual: number;
      points: {
        what: string;
        measured_seconds: number;
        fitted_seconds: number;
        residual: number;
        relative_spread: number;
        noisy: boolean;
      }[];
    }[];
    profile: null | Record<string, unknown>;
    flagged: string[];
    noise: null | {
      sentence: string;
      kinds: {
        kind: string;
        num_points: number;
        median_relative_spread: number;
        worst_relative_spread: number;
        noisy: number;
        point_columns: string[];
        points: number[][];
      }[];
    };
    devices: null | {
      sentence: string;
      ranks: {
        rank: number;
        local_rank: number;
        host: string;
        gemm: number;
        memory: number;
        network: number;
      }[];
      stragglers: {
        what: string;
        rank: number;
        other_rank?: number;
        relative_time?: number;
        score?: number;
        sentence: string;
      }[];
    };
  };
  launch: {
    target: string;
    names_of: string;
    file_name: string;
    text: string;
    notes: string[];
    refusal: string;
  }[];
  scaling: null | {
    sentence: string;
    planned_gpus: number;
    points: {
      gpus: number;
      reason?: string;
      short_name?: string;
      brief_name?: string;
      layout?: Layout;
      step_time_seconds?: number;
      step_time_low_seconds?: number;
      step_time_high_seconds?: number;
      peak_memory_bytes?: number;
      memory_headroom?: number;
      tokens_per_second_per_gpu?: number;
      model_flops_utilization?: number;
      efficiency?: number;
      cost?: number | null;
      device_energy_kwh?: number | null;
      objective?: number;
    }[];
    best: number | null;
  };
  assumptions: string[];
  glossary: {
    word: string;
    meaning: string;
  }[];
  top: number;
  placement: null | {
    sentence: string;
    rank_order: string[];
    gpus_per_node: number;
    num_nodes: number;
    links: {
      link: string;
      tier: "self" | "intra_node" | "inter_node";
      share_of_step: number;
      groups: string[];
    }[];
    wiring: string;
    axes: {
      group: string;
      group_size: number;
      ranks_per_node: number;
      num_nodes: number;
      tier: "self" | "intra_node" | "inter_node";
      link: string;
      sent_per_step_bytes: number;
      share_of_step: number;
    }[];
    nodes: {
      node: number;
      ranks: {
        rank: number;
        tp: number;
        cp: number;
        dp: number;
        pp: number;
      }[];
    }[];
  };
  decision: {
    subject: string;
    verdict: string;
    recommendation: string;
    train_tokens: number;
    tokens_are_the_jobs: boolean;
    price_per_gpu_hour: number | null;
    currency: string;
    range: string;
  };
  certainty: {
    id: "trial" | "layout" | "time" | "regime" | "calibration_noise" | "host_noise" | "memory" | "next";
    label: string;
    text: string;
  }[];
  rests_on: {
    parameter: string;
    label: string;
    unit: string;
    value: number;
    provenance: Provenance;
    relative_spread: number;
    source: string;
  }[];
  left_out: string[];
  capacity: Record<string, unknown>;
}
