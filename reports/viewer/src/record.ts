// SPDX-License-Identifier: Apache-2.0
// Made by record_types.mjs from what "meshwright schema report" prints.

export type Input = {
  name: string;
  file: string;
  sha256: string;
};

export type Decision = {
  subject: string;
  train_tokens: number;
  tokens_are_the_jobs: boolean;
  price_per_gpu_hour: number | null;
  currency: string;
  range: string;
  verdict: string;
  recommendation: string;
};

export type CertaintyItem = {
  id: string;
  label: string;
  text: string;
};

export type RestsOn = {
  parameter: string;
  label: string;
  unit: string;
  value: number;
  provenance: "measured" | "interpolated" | "fitted" | "extrapolated" | "datasheet" | "assumed";
  relative_spread: number;
  source: string;
};

export type Layout = {
  tensor_parallel_size?: number;
  pipeline_parallel_size?: number;
  pipeline_layout?: string;
  virtual_pipeline_parallel_size?: number;
  data_parallel_size?: number;
  context_parallel_size?: number;
  expert_parallel_size?: number;
  expert_tensor_parallel_size?: number;
  micro_batch_size?: number;
  sequence_parallel?: boolean;
  tensor_engine?: "megatron" | "dtensor" | "spmd_types";
  schedule?: "gpipe" | "1f1b" | "interleaved" | "zb_h1" | "zb_h2" | "zb_v" | "dualpipe" | "dualpipe_v";
  pipeline_engine?: "megatron" | "nanotron" | "deepspeed";
  num_layers_in_first_pipeline_stage?: number;
  num_layers_in_last_pipeline_stage?: number;
  account_for_embedding_in_pipeline_split?: boolean;
  account_for_loss_in_pipeline_split?: boolean;
  cp_comm_type?: "p2p" | "all_gather" | "a2a" | "a2a+p2p";
  hierarchical_context_parallel_size?: number;
  zero_stage?: number;
  zero_shard_size?: number;
  all_reduce_gradients?: boolean;
  fsdp_unit?: "none" | "block" | "module" | "whole";
  fsdp_vocabulary?: "root" | "units" | "freed_units";
  defer_grad_reduce?: boolean;
  recompute_granularity?: "none" | "selective" | "full";
  recompute_num_layers?: number;
  recompute_method?: "uniform" | "block";
  recompute_modules?: ("core_attn" | "layernorm" | "moe_act" | "mla_up_proj" | "mlp" | "moe" | "shared_experts" | "op" | "mlp_act")[];
  scatter_gather_p2p?: boolean;
  overlap_grad_reduce?: boolean;
  overlap_param_gather?: boolean;
  tp_comm_overlap?: boolean;
  overlap_p2p_comm?: boolean;
  moe_token_dispatcher_type?: "allgather" | "alltoall" | "flex";
  moe_flex_dispatcher_backend?: "deepep" | "hybridep" | "ncclep";
  overlap_moe_expert_parallel_comm?: boolean;
  delay_wgrad_compute?: boolean;
  moe_shared_expert_overlap?: boolean;
  cuda_graph_impl?: "none" | "local" | "transformer_engine" | "full_iteration";
  cuda_graph_modules?: "attn" | "moe_router" | "moe_router+moe_preprocess" | "attn+moe_router" | "attn+moe_router+moe_preprocess";
  optimizer_offload?: boolean;
  cpu_offloading_num_layers?: number;
  offload_modules?: ("attn_norm" | "qkv_linear" | "core_attn" | "attn_proj" | "mlp_norm" | "expert_fc1" | "moe_act" | "mlp_act")[];
  rank_order?: string;
};

export type Summary = {
  layout: Layout;
  short_name: string;
  gpus: number;
  tokens_per_step: number;
  step_time_seconds: number;
  step_time_low_seconds: number;
  step_time_high_seconds: number;
  interval_regime: "profiled_machine" | "profiled_cores" | "known_chip" | "unknown_software" | "unknown_chip";
  interval_narrowed_by: string;
  tokens_per_second_per_gpu: number;
  model_flops_utilization: number;
  peak_memory_bytes: number;
  memory_capacity_bytes: number;
  memory_headroom: number;
  memory_fit: "yes" | "uncertain" | "no";
  provenance: "measured" | "interpolated" | "fitted" | "extrapolated" | "datasheet" | "assumed";
  provenance_shares: Record<string, number>;
  train_tokens?: number;
  train_seconds?: number;
  gpu_hours?: number;
  cost?: number;
};

export type ClusterFacts = {
  name: string;
  source: string;
  device: string;
  device_kind: "cpu" | "gpu";
  device_source: string;
  gpus: number;
  gpus_per_node: number;
  num_nodes: number;
};

export type RooflineOperator = {
  name: string;
  flops: number;
  bytes: number;
  seconds: number;
};

export type Roofline = {
  peak_flops_per_second: number;
  bandwidth_bytes_per_second: number;
  operators: RooflineOperator[];
};

export type Term = {
  name: "forward_compute" | "backward_compute" | "recompute" | "tensor_parallel_communication" | "context_parallel_communication" | "expert_parallel_communication" | "pipeline_communication" | "pipeline_bubble" | "data_parallel_communication" | "optimizer" | "host" | "offload";
  seconds: number;
  relative_spread: number;
  provenance: "measured" | "interpolated" | "fitted" | "extrapolated" | "datasheet" | "assumed";
};

export type TermDifference = {
  name: "forward_compute" | "backward_compute" | "recompute" | "tensor_parallel_communication" | "context_parallel_communication" | "expert_parallel_communication" | "pipeline_communication" | "pipeline_bubble" | "data_parallel_communication" | "optimizer" | "host" | "offload";
  next_minus_this_seconds: number;
};

export type ComparedWithNext = {
  sentence: string;
  seconds: number;
  terms: TermDifference[];
};

export type RankedLayout = {
  rank: number;
  short_name: string;
  brief_name: string;
  layout: Layout;
  step_time_seconds: number;
  step_time_low_seconds: number;
  step_time_high_seconds: number;
  relative_to_best: number;
  tokens_per_second_per_gpu: number;
  model_flops_utilization: number;
  peak_memory_bytes: number;
  memory_fit: "yes" | "uncertain" | "no";
  provenance: "measured" | "interpolated" | "fitted" | "extrapolated" | "datasheet" | "assumed";
  provenance_share: number;
  pareto: boolean;
  terms: Term[];
  compared_with_next: null | ComparedWithNext;
};

export type CapacityLimits = {
  deadline_days: number | null;
  deadline: string | null;
  budget: number | null;
  max_megawatts: number | null;
  max_gpus: number | null;
};

export type PriceList = {
  name: string;
  date: string;
  currency: string;
  example: boolean;
  source: string;
};

export type StepRange = {
  low: number;
  mid: number;
  high: number;
};

export type Quantiles = {
  p10: number;
  p50: number;
  p90: number;
};

export type DateQuantiles = {
  p10: string;
  p50: string;
  p90: string;
};

export type CostParts = {
  gpus: number;
  spare_nodes: number;
  spare_gpus: number;
  hours: number;
  price_per_gpu_hour: number;
  range_factor: number;
};

export type CapacityCost = {
  p10: number;
  p50: number;
  p90: number;
  currency: string;
  parts: CostParts;
};

export type CheckpointPlan = {
  bytes: number;
  interval_s: number;
  young_interval_s: number;
  pause_s: number;
  persist_s: number;
  load_s: number;
};

export type Interruptions = {
  expected: Quantiles;
  mean_time_between_h: number;
  spare_nodes: number;
};

export type RangedNumber = {
  value: number;
  low: number;
  high: number;
  basis: string;
  source: string;
};

export type TimeParts = {
  elapsed_s: number;
  productive_s: number;
  lost_s: {
    tpu_initialization: number;
    training_prep: number;
    program_startup: number;
    data_loading_sync: number;
    unproductive_checkpoint_save_time: number;
    unproductive_checkpoint_restore_time: number;
    wasted_progress_from_disruption: number;
    infrastructure_recovery_from_disruption: number;
    custom_badput_events: number;
    step_time_deviation: number;
    other: number;
  };
};

export type CapacityPhase = {
  tokens: number;
  steps: number;
  global_batch: number;
  seq_length: number;
  layout: string;
  step_s: StepRange;
};

export type CapacityRow = {
  id: string;
  cluster: string;
  cluster_name: string;
  device: string;
  seq_length: number;
  recommended: boolean;
  gpus: number;
  global_batch: number;
  schedule: boolean;
  fits: boolean;
  limits: string[];
  layout?: string;
  step_s?: StepRange;
  mfu?: number;
  memory_share?: number;
  memory_fit?: "yes" | "uncertain" | "no";
  goodput?: number;
  effective_tokens_per_second?: Quantiles;
  days?: Quantiles;
  done?: null | DateQuantiles;
  gpu_hours?: Quantiles;
  cost?: null | CapacityCost;
  energy_mwh?: number | null;
  layout_name?: string;
  layout_record?: Layout;
  tokens_per_second?: number;
  memory_gib?: number;
  provenance?: "measured" | "interpolated" | "fitted" | "extrapolated" | "datasheet" | "assumed";
  terms_s?: Record<string, number>;
  cost_explanation?: string;
  energy_mwh_range?: null | Quantiles;
  power_mw?: number | null;
  power_mw_high?: number | null;
  power_mw_waiting?: number | null;
  load?: number;
  co2_t?: null | Quantiles;
  scaling_efficiency?: number;
  goodput_meta?: number | null;
  checkpoint?: CheckpointPlan;
  interruptions?: Interruptions;
  added_share?: number;
  price_per_gpu_hour?: null | RangedNumber;
  kilowatts_per_gpu?: null | RangedNumber;
  time?: TimeParts;
  phases?: CapacityPhase[];
};

export type ScalingStep = {
  from_gpus: number;
  to_gpus: number;
  gain: number;
  term: string;
  share_of_growth: number;
};

export type ScalingSeries = {
  cluster: string;
  global_batch: number;
  schedule: boolean;
  steps: ScalingStep[];
  bends_at_gpus: number | null;
  sentence: string;
};

export type ReferencePart = {
  name: string;
  gpu_hours: number;
  sentence: string;
};

export type ReferenceRun = {
  name: string;
  source: string;
  row: string;
  gpus: number;
  stated_gpu_hours: number;
  stated_step_s: number | null;
  stated_mfu: number | null;
  stated_goodput: number | null;
  stated_mean_time_between_h: number | null;
  gpu_hours: number;
  schedule_gpu_hours: number | null;
  parts: ReferencePart[];
};

export type LeverEnd = {
  value: number;
  options: string;
  gpus: number;
  global_batch: number;
  schedule: boolean;
  fits: boolean;
  limits: string[];
  layout?: string;
  step_s?: StepRange;
  mfu?: number;
  memory_share?: number;
  memory_fit?: "yes" | "uncertain" | "no";
  goodput?: number;
  effective_tokens_per_second?: Quantiles;
  days?: Quantiles;
  done?: null | DateQuantiles;
  gpu_hours?: Quantiles;
  cost?: null | CapacityCost;
  energy_mwh?: number | null;
};

export type Lever = {
  name: string;
  label: string;
  unit: string;
  choice: boolean;
  basis: string;
  relative_spread: number;
  value: number;
  swing_days: number;
  swing_cost: number;
  low: null | LeverEnd;
  high: null | LeverEnd;
};

export type WhatIfAxes = {
  batch_factor: number[];
  gpus: number[];
  network_factor: number[];
  failure_rate: number[];
};

export type WhatIfCell = {
  gpus: number;
  global_batch: number;
  schedule: boolean;
  fits: boolean;
  limits: string[];
  layout?: string;
  step_s?: StepRange;
  mfu?: number;
  memory_share?: number;
  memory_fit?: "yes" | "uncertain" | "no";
  goodput?: number;
  effective_tokens_per_second?: Quantiles;
  days?: Quantiles;
  done?: null | DateQuantiles;
  gpu_hours?: Quantiles;
  cost?: null | CapacityCost;
  energy_mwh?: number | null;
  options: string;
};

export type WhatIfGrid = {
  axes: WhatIfAxes;
  order: string[];
  cells: WhatIfCell[];
};

export type FrontierPoint = {
  row: string;
  days: number;
  cost: number;
  dominated_by: string | null;
  reason: string;
  slower: string | null;
  cost_per_day_saved: number | null;
};

export type Risk = {
  name: string;
  what: string;
  how_likely: string;
  days: number | null;
  cost: number | null;
  settled_by: string;
};

export type CalendarDay = {
  name: string;
  label: string;
  day: number;
  date: string | null;
};

export type ElapsedPart = {
  name: string;
  days: number;
  range_days: Quantiles;
};

export type GoodputCurve = {
  restart_s: number;
  goodput: number[];
};

export type GoodputCurves = {
  gpus: number[];
  curves: GoodputCurve[];
};

export type RunInputs = {
  failure_rate: RangedNumber;
  detection_s: RangedNumber;
  restart_s: RangedNumber;
  pause_s: RangedNumber;
  storage_gb_per_s_per_node: RangedNumber;
  pue: RangedNumber;
  asynchronous: boolean;
  persist_s: number | null;
  load_s: number | null;
  interval_s: number | null;
  replicas: number;
  catch_up_s: number;
  repair_days: number;
  spares_target: number;
  spare_nodes: number | null;
  waiting_over_busy: number;
  step_factor: number;
  day_worth: number | null;
  lead_time_days: number | null;
};

export type CapacityAssumption = {
  name: string;
  label: string;
  unit: string;
  in_interval: boolean;
  value: number;
  low: number;
  high: number;
  basis: string;
  source: string;
};

export type Capacity = {
  train_tokens: number;
  tokens_stated: boolean;
  device_kind: "cpu" | "gpu";
  start: string | null;
  command: string;
  headline: string;
  why_not_fewer: string;
  why_not_more: string;
  weakest_point: string;
  tags: string[];
  tried: string;
  grid_options: string;
  verdict: string;
  planned: string | null;
  recommended: string | null;
  closest: string | null;
  reason: string;
  smallest: string | null;
  cheapest: string | null;
  fastest: string | null;
  limits: CapacityLimits;
  prices: null | PriceList;
  rows: CapacityRow[];
  scaling: ScalingSeries[];
  reference: null | ReferenceRun;
  levers: Lever[];
  what_if: null | WhatIfGrid;
  frontier: FrontierPoint[];
  risks: Risk[];
  calendar: CalendarDay[];
  elapsed: ElapsedPart[];
  goodput_curves: null | GoodputCurves;
  run_inputs: RunInputs;
  assumptions: CapacityAssumption[];
  included: string[];
  not_included: string[];
};

export type Objective = {
  name: string;
  unit: string;
  meaning: string;
  lower_is_better: boolean;
  value: number | null;
};

export type PlanLimits = {
  max_memory_bytes: number | null;
  headroom: number;
  max_step_seconds: number | null;
  max_cost: number | null;
};

export type AgainstRunnerUp = {
  rank: number;
  short_name: string;
  brief_name: string;
  probability_winner_is_faster: number;
  difference_seconds: number;
  deviation_seconds: number;
  correlation: number;
  expected_gain_seconds: number;
  runs_to_settle: number;
};

export type ProposedRun = {
  rank: number;
  short_name: string;
  brief_name: string;
  runs: number;
  reason: string;
};

export type Confidence = {
  probability_best: number;
  expected_regret: number;
  relative_deviation: number;
  against: AgainstRunnerUp[];
  sentence: string;
  proposed_runs: ProposedRun[];
};

export type NamedLayout = {
  short_name: string;
  brief_name: string;
  layout: Layout;
};

export type Perturbed = {
  factor: number;
  value: number;
  step_time_seconds: number;
  best: NamedLayout;
  best_step_time_seconds: number;
};

export type Sensitivity = {
  parameter: "gemm_efficiency" | "attention_efficiency" | "peak_flops" | "memory_bandwidth" | "memory_capacity" | "kernel_launch" | "host_overhead" | "overlap_slowdown" | "intra_node_bandwidth" | "intra_node_latency" | "inter_node_bandwidth" | "inter_node_latency" | "global_batch_size" | "price_per_gpu_hour" | "power";
  label: string;
  unit: string;
  value: number;
  relative_spread: number;
  provenance: "measured" | "interpolated" | "fitted" | "extrapolated" | "datasheet" | "assumed";
  low: Perturbed;
  high: Perturbed;
  capped: boolean;
  winner_changes: boolean;
};

export type Crossover = {
  parameter: "gemm_efficiency" | "attention_efficiency" | "peak_flops" | "memory_bandwidth" | "memory_capacity" | "kernel_launch" | "host_overhead" | "overlap_slowdown" | "intra_node_bandwidth" | "intra_node_latency" | "inter_node_bandwidth" | "inter_node_latency" | "global_batch_size" | "price_per_gpu_hour" | "power";
  label: string;
  unit: string;
  direction: "below" | "above";
  at: number;
  today: number;
  factor: number;
  best: NamedLayout;
  end_value: number;
  end_best: NamedLayout;
  gain_at_end: number;
  winner_fits: boolean;
  exact: boolean;
  sentence: string;
};

export type Change = {
  parameter: "gemm_efficiency" | "attention_efficiency" | "peak_flops" | "memory_bandwidth" | "memory_capacity" | "kernel_launch" | "host_overhead" | "overlap_slowdown" | "intra_node_bandwidth" | "intra_node_latency" | "inter_node_bandwidth" | "inter_node_latency" | "global_batch_size" | "price_per_gpu_hour" | "power";
  label: string;
  unit: string;
  factor: number;
  before: number;
  after: number;
};

export type TimedLayout = {
  short_name: string;
  brief_name: string;
  layout: Layout;
  step_time_seconds: number;
  peak_memory_bytes: number;
};

export type TrainingCost = {
  train_seconds: number;
  gpu_hours: number;
  cost: number | null;
  device_energy_kwh: number | null;
};

export type WhatIf = {
  text: string;
  changes: Change[];
  winner: null | TimedLayout;
  base_winner: null | TimedLayout;
  winner_changes: boolean;
  step_time_change: number;
  needs: null | TrainingCost;
  needs_today: null | TrainingCost;
  sentence: string;
};

export type RobustPick = {
  pick: null | TimedLayout;
  is_best: boolean;
  loss: number;
  sentence: string;
};

export type RedFlag = {
  id: "tensor_beyond_domain" | "expert_beyond_domain" | "few_micro_batches" | "memory_half_empty" | "low_utilization" | "small_batch" | "one_layer_chunks" | "assumed_input" | "tensor_on_slow_link" | "tensor_beyond_rule" | "context_for_memory" | "memory_nearly_full";
  sentence: string;
  effect_seconds: number | null;
  effect_bytes: number | null;
};

export type RuleOfThumbBest = {
  short_name: string;
  brief_name: string;
  layout: Layout;
  step_time_seconds: number;
  peak_memory_bytes: number;
  relative_to_best: number;
};

export type RuleOfThumb = {
  row: string;
  sizes: string;
  source: string;
  best: null | RuleOfThumbBest;
  reason: string;
  sentence: string;
};

export type Answers = {
  objective: Objective;
  limits: PlanLimits;
  confidence: null | Confidence;
  sensitivity: Sensitivity[];
  crossovers: Crossover[];
  what_ifs: WhatIf[];
  robust_pick: null | RobustPick;
  red_flags: RedFlag[];
  rule_of_thumb: null | RuleOfThumb;
};

export type AtHostSpeed = {
  error: number;
  inside_interval: boolean;
};

export type TermComparison = {
  name: "forward_compute" | "backward_compute" | "recompute" | "tensor_parallel_communication" | "context_parallel_communication" | "expert_parallel_communication" | "pipeline_communication" | "pipeline_bubble" | "data_parallel_communication" | "optimizer" | "host" | "offload";
  predicted_seconds: number;
  measured_seconds: number;
};

export type TransferComparison = {
  name: string;
  phase: "forward" | "backward" | "recompute" | "step";
  times_per_step: number;
  payload_bytes: number;
  predicted_seconds: number;
  measured_seconds: number;
  as_predicted: boolean;
};

export type OtherProgram = {
  name: string;
  cores: number;
  core: number;
};

export type ObservedTerm = {
  name: "forward_compute" | "backward_compute" | "recompute" | "tensor_parallel_communication" | "context_parallel_communication" | "expert_parallel_communication" | "pipeline_communication" | "pipeline_bubble" | "data_parallel_communication" | "optimizer" | "host" | "offload";
  seconds: number;
};

export type CountedTransfer = {
  name: string;
  group: "tensor" | "context" | "data" | "pipeline" | "expert" | "expert_tensor" | "expert_data" | "embedding" | "model";
  collective: "all_reduce" | "all_gather" | "reduce_scatter" | "all_to_all" | "broadcast" | "send_recv";
  phase: "forward" | "backward" | "recompute" | "step";
  group_size: number;
  times_per_step: number;
  payload_bytes: number;
  formula: string;
  payload_per_step_bytes?: number;
  sent_per_step_bytes?: number;
  overlappable: boolean;
  measured_seconds?: number;
};

export type Observation = {
  short_name?: string;
  layout: Layout;
  run_layout: Layout;
  run_layers: number;
  run_num_moe_experts?: number;
  run_global_batch_size: number;
  run_precision?: "fp32" | "tf32" | "fp16" | "bf16" | "fp8" | "fp4";
  ranks: number;
  steps: number;
  complete: boolean;
  not_run: string[];
  step_time_seconds: number;
  step_time_p10_seconds: number;
  step_time_p90_seconds: number;
  step_time_min_seconds: number;
  step_time_drift: number;
  step_time_error?: number;
  host_time_ratio?: number;
  host_time_reference?: "products_and_kernels" | "step_of_the_model";
  other_program?: OtherProgram;
  runs?: number;
  noisy?: boolean;
  terms: ObservedTerm[];
  counted: CountedTransfer[];
  peak_memory_bytes: number;
  loss: number;
  device: string;
  mode: "training" | "prefill" | "decode";
  tokens_per_second: number;
  failure: string;
};

export type LayoutComparison = {
  layout: Layout;
  name: string;
  run_name: string;
  predicted_seconds: number;
  predicted_low_seconds: number;
  predicted_high_seconds: number;
  measured_seconds: number;
  error: number;
  inside_interval: boolean;
  at_host_speed: null | AtHostSpeed;
  memory_error: number;
  terms: TermComparison[];
  transfers: TransferComparison[];
  same_bytes: boolean;
  observation: Observation;
};

export type Validation = {
  median_absolute_error: number;
  worst_absolute_error: number;
  kendall_tau: number;
  regret: number;
  median_absolute_memory_error: number;
  interval_coverage: number;
  median_absolute_error_at_host_speed: number | null;
  worst_absolute_error_at_host_speed: number | null;
  interval_coverage_at_host_speed: number | null;
  regret_at_host_speed: number | null;
  skipped: string[];
  layouts: LayoutComparison[];
};

export type GroupTraffic = {
  group: "tensor" | "context" | "data" | "pipeline" | "expert" | "expert_tensor" | "expert_data" | "embedding" | "model";
  tier: "self" | "intra_node" | "inter_node";
  group_size: number;
  sent_bytes: number;
  payload_bytes: number;
};

export type PlacedTransfer = {
  name: string;
  group: "tensor" | "context" | "data" | "pipeline" | "expert" | "expert_tensor" | "expert_data" | "embedding" | "model";
  group_size: number;
  tier: "self" | "intra_node" | "inter_node";
  collective: "all_reduce" | "all_gather" | "reduce_scatter" | "all_to_all" | "broadcast" | "send_recv";
  phase: "forward" | "backward" | "recompute" | "step";
  times_per_step: number;
  payload_bytes: number;
  sent_per_step_bytes: number;
  overlappable: boolean;
  formula: string;
};

export type OrderAxis = {
  axis: string;
  order: string;
  order_elements: number;
  exact_bytes: number;
};

export type PublishedOrders = {
  axes: OrderAxis[];
  sentence: string;
};

export type LinkFacts = {
  tier: "self" | "intra_node" | "inter_node";
  name: string;
  bandwidth_bytes_per_second: number;
  latency_seconds: number;
  provenance: "measured" | "interpolated" | "fitted" | "extrapolated" | "datasheet" | "assumed";
};

export type TrafficMatrix = {
  ranks_per_group: number;
  groups: number;
  cells: number[][];
};

export type Volume = {
  stage: number;
  sent_bytes: number;
  groups: GroupTraffic[];
  transfers: PlacedTransfer[];
  published_orders: PublishedOrders;
  links: LinkFacts[];
  matrix: TrafficMatrix;
};

export type AxisPlace = {
  group: "tensor" | "context" | "data" | "pipeline" | "expert" | "expert_tensor" | "expert_data" | "embedding" | "model";
  group_size: number;
  ranks_per_node: number;
  num_nodes: number;
  tier: "self" | "intra_node" | "inter_node";
  link: string;
  sent_per_step_bytes: number;
  share_of_step: number;
};

export type RankPlace = {
  rank: number;
  tp: number;
  cp: number;
  dp: number;
  pp: number;
};

export type MappedNode = {
  node: number;
  ranks: RankPlace[];
};

export type LinkLoad = {
  link: string;
  tier: "self" | "intra_node" | "inter_node";
  share_of_step: number;
  groups: string[];
};

export type Placement = {
  sentence: string;
  rank_order: string[];
  gpus_per_node: number;
  num_nodes: number;
  axes: AxisPlace[];
  nodes: MappedNode[];
  links: LinkLoad[];
  wiring: string;
};

export type StageHolds = {
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
};

export type Memory = {
  capacity_bytes: number;
  stages: StageHolds[];
};

export type HeatCell = {
  tensor_parallel_size: number;
  pipeline_parallel_size: number;
  step_time_seconds: number | null;
  peak_memory_bytes?: number;
  short_name?: string;
  rule?: string;
  reason?: string;
};

export type HeatMap = {
  tensor_parallel_sizes: number[];
  pipeline_parallel_sizes: number[];
  cells: HeatCell[];
};

export type TooLarge = {
  short_name: string;
  step_time_seconds: number;
  peak_memory_bytes: number;
  reason: string;
  smallest_change: string;
};

export type StageShares = {
  compute: number;
  communication: number;
  idle: number;
};

export type Timeline = {
  schedule: "gpipe" | "1f1b" | "interleaved" | "zb_h1" | "zb_h2" | "zb_v" | "dualpipe" | "dualpipe_v";
  stages: number;
  micro_batches: number;
  step_seconds: number;
  left_out_seconds: number[];
  stage_shares: StageShares[];
  sentence: string;
  works: string[];
  event_columns: string[];
  events: number[][];
};

export type ScalePoint = {
  gpus: number;
  short_name?: string;
  brief_name?: string;
  layout?: Layout;
  reason?: string;
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
};

export type Scaling = {
  points: ScalePoint[];
  best: number | null;
  sentence: string;
  planned_gpus: number;
};

export type RejectionRow = {
  rule: "memory_capacity" | "devices_have_the_number_format" | "framework_splits_tensors" | "framework_has_pipeline" | "framework_splits_sequences" | "framework_has_fp8" | "framework_interleaves" | "framework_splits_backward" | "framework_has_sequence_parallel" | "framework_splits_tensors_without_sequence" | "framework_overlaps_sends" | "framework_shards_optimizer" | "framework_shards_gradients" | "framework_has_fsdp" | "framework_has_fsdp_below_pipeline" | "framework_replicates_beside_other_axes" | "framework_overlaps_gradients" | "framework_overlaps_weights" | "framework_overlaps_tensor_parallel" | "framework_has_experts" | "framework_splits_experts" | "framework_folds_experts" | "framework_has_pipeline_layouts" | "framework_has_uneven_stages" | "framework_counts_embedding" | "framework_scatters_sends" | "framework_has_ring_attention" | "framework_gathers_keys" | "framework_exchanges_heads" | "framework_has_tensorwise" | "framework_has_blockwise" | "framework_has_mxfp8" | "framework_has_fp4" | "framework_recomputes_modules" | "framework_recomputes_named_modules" | "framework_recomputes_some_layers" | "framework_gathers_tokens" | "flex_dispatcher_runs" | "deepep_runs" | "hybridep_runs" | "ncclep_runs" | "flex_dispatcher_crosses_nodes" | "framework_overlaps_tokens" | "framework_overlaps_shared_experts" | "framework_shards_in_groups" | "framework_offloads_optimizer" | "framework_offloads_whole_optimizers" | "framework_offloads_layers" | "framework_offloads_modules" | "framework_has_cuda_graphs" | "world_size_equals_gpus" | "attention_heads_divide_by_tensor_size" | "output_groups_divide_by_tensor_size" | "query_groups_divide_by_tensor_size" | "linear_attention_heads_divide" | "state_space_groups_divide" | "ffn_divides_by_tensor_size" | "hidden_divides_by_tensor_size" | "sequence_divides_by_sequence_parallel_size" | "sequence_parallel_needs_tensor_parallel" | "pipeline_layout_stands_alone" | "pipeline_layout_fills_the_stages" | "pipeline_layout_holds_the_model" | "pipeline_layout_places_mtp" | "one_way_of_uneven_stages" | "layers_divide_by_pipeline_size" | "layers_divide_by_virtual_pipeline_size" | "framework_has_schedule" | "interleaving_needs_pipeline" | "interleaving_needs_micro_batches_multiple_of_pipeline" | "schedule_needs_pipeline" | "schedule_fixes_virtual_size" | "schedule_needs_micro_batches" | "dualpipe_needs_even_pipeline" | "uneven_stages_leave_layers_for_the_rest" | "batch_divides_by_micro_batch_times_data" | "sequence_divides_by_context_size" | "ulysses_heads_divide_by_context_size" | "hierarchical_context_size_divides" | "experts_divide_by_expert_size" | "expert_parallel_needs_experts" | "expert_mesh_divides_world" | "expert_ffn_divides_by_expert_tensor_size" | "experts_with_tensor_parallel_need_sequence_parallel" | "token_overlap_needs_sent_tokens" | "token_overlap_needs_virtual_stages" | "token_overlap_forbids_recomputed_experts" | "token_overlap_forbids_shared_expert_overlap" | "delay_wgrad_compute_needs_token_overlap" | "flex_dispatcher_needs_fast_links" | "deepep_needs_domains_of_eight" | "fp8_dispatch_needs_library_that_sends_it" | "whole_step_graph_needs_fixed_sizes" | "zero_shard_size_divides_data" | "zero_2_3_forbids_pipeline" | "overlap_param_gather_needs_overlap_grad_reduce" | "overlap_param_gather_needs_sharded_optimizer" | "tp_comm_overlap_needs_sequence_parallel" | "tp_comm_overlap_within_fast_domain" | "overlap_p2p_comm_needs_interleaving" | "offload_forbids_pipeline" | "offload_forbids_recompute" | "offload_modules_forbid_offloaded_layers" | "offload_attn_proj_needs_core_attn" | "offload_modules_outside_recomputed_experts" | "recompute_layers_within_stage" | "recompute_layers_divide_by_chunks" | "multi_token_prediction_recomputes_by_one" | "offloaded_layers_within_stage" | "recompute_moe_act_needs_experts" | "recompute_mla_up_proj_needs_latent_attention" | "recompute_forbids_delayed_scaling" | "recompute_op_stands_alone" | "selective_recompute_is_the_frameworks" | "block_scaling_needs_devices_that_have_it" | "blocks_divide_widths";
  count: number;
  requirement: string;
  reason: string;
  sentence: string;
  smallest_change: string;
  example: string;
  needed: number;
  available: number;
};

export type Statistics = {
  enumerated: number;
  legal: number;
  fitting: number;
};

export type LaunchFile = {
  target: string;
  names_of: string;
  file_name: string;
  text: string;
  notes: string[];
  refusal: string;
};

export type Fact = {
  what: string;
  value: string;
  provenance: "measured" | "interpolated" | "fitted" | "extrapolated" | "datasheet" | "assumed";
  measured_points: number;
};

export type MeasuredTime = {
  what: string;
  measured_seconds: number;
  fitted_seconds: number;
  residual: number;
  relative_spread: number;
  noisy: boolean;
};

export type MeasuredSeries = {
  name: string;
  typical_residual: number;
  points: MeasuredTime[];
};

export type ProfileFacts = {
  created?: string;
  tool_version?: string;
  command?: string;
  measured_points?: number;
};

export type NoiseOfKind = {
  kind: string;
  num_points: number;
  median_relative_spread: number;
  worst_relative_spread: number;
  noisy: number;
  point_columns: string[];
  points: number[][];
};

export type Noise = {
  sentence: string;
  kinds: NoiseOfKind[];
};

export type RankTimes = {
  rank: number;
  local_rank: number;
  host: string;
  gemm: number;
  memory: number;
  network: number;
};

export type Straggler = {
  what: string;
  rank: number;
  other_rank?: number;
  relative_time: number;
  score: number;
  sentence: string;
};

export type Devices = {
  sentence: string;
  ranks: RankTimes[];
  stragglers: Straggler[];
};

export type Calibration = {
  device: string;
  source: string;
  facts: Fact[];
  extrapolations: string[];
  measured: MeasuredSeries[];
  profile: null | ProfileFacts;
  noise: null | Noise;
  devices: null | Devices;
  flagged: string[];
};

export type GlossaryEntry = {
  word: string;
  meaning: string;
};

export type ReportRecord = {
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
  decision: Decision;
  verdict: string;
  certainty: CertaintyItem[];
  rests_on: RestsOn[];
  left_out: string[];
  summary: null | Summary;
  model: {
    schema?: "meshwright.model/1";
    name?: string;
    source?: string;
    checkpoint_weights?: "bf16" | "fp8" | "fp8_block" | "mxfp8" | "int4" | "mxfp4" | "nvfp4";
    num_layers: number;
    hidden_size: number;
    ffn_hidden_size?: number;
    num_attention_heads?: number;
    num_query_groups?: number;
    kv_channels?: number;
    vocab_size?: number;
    max_position_embeddings?: number;
    activation?: "relu" | "gelu" | "swiglu" | "geglu" | "xielu";
    normalization?: "none" | "layer_norm" | "rms_norm";
    position_embedding?: "none" | "learned" | "rope" | "alibi";
    add_bias_linear?: boolean;
    add_qkv_bias?: boolean;
    qk_layernorm?: boolean;
    qk_layernorm_all_heads?: boolean;
    post_layer_norms?: boolean;
    embedding_layer_norm?: boolean;
    parallel_attention_mlp?: boolean;
    parallel_shared_layer_norm?: boolean;
    attention_sinks?: boolean;
    attention_output_gate?: boolean;
    rotary_mscale?: number;
    activation_func_clamp_value?: number;
    tied_embeddings?: boolean;
    sliding_window?: number;
    sliding_window_interval?: number;
    sliding_window_in_chunks?: boolean;
    mtp_num_layers?: number;
    num_residual_streams?: number;
    image_encoder_num_layers?: number;
    image_encoder_hidden_size?: number;
    moe?: {
      num_moe_experts: number;
      moe_router_topk: number;
      moe_ffn_hidden_size?: number;
      moe_shared_expert_intermediate_size?: number;
      moe_latent_size?: number;
      num_first_dense_layers?: number;
      moe_layer_interval?: number;
      moe_expert_capacity_factor?: number;
      moe_expert_bias?: boolean;
      moe_router_bias?: boolean;
      moe_shared_expert_gate?: boolean;
      moe_router_num_groups?: number;
      moe_router_group_topk?: number;
    };
    mla?: {
      q_lora_rank?: number;
      kv_lora_rank: number;
      qk_head_dim: number;
      qk_pos_emb_head_dim: number;
      v_head_dim: number;
      dsa_indexer_n_heads?: number;
      dsa_indexer_head_dim?: number;
      dsa_indexer_topk?: number;
    };
    compressed_attention?: {
      q_lora_rank: number;
      o_lora_rank: number;
      o_groups: number;
      sparse_compress_rate?: number;
      heavy_compress_rate?: number;
      indexer_n_heads: number;
      indexer_head_dim: number;
      indexer_topk?: number;
    };
    block_sparse_attention?: {
      indexer_n_heads: number;
      indexer_head_dim: number;
      block_size?: number;
      topk_blocks?: number;
    };
    linear_attention?: {
      linear_attention_freq?: number;
      linear_num_key_heads: number;
      linear_num_value_heads: number;
      linear_key_head_dim: number;
      linear_value_head_dim: number;
      linear_conv_kernel_dim?: number;
    };
    state_space?: {
      mamba_num_heads: number;
      mamba_head_dim?: number;
      mamba_num_groups?: number;
      mamba_state_dim?: number;
      mamba_conv_kernel_dim?: number;
      mamba_chunk_size?: number;
      mamba_norm?: boolean;
    };
    selective_scan?: {
      selective_channels: number;
      selective_state_dim?: number;
      selective_dt_rank: number;
      selective_conv_kernel_dim?: number;
      selective_norms?: boolean;
    };
    kimi_delta?: {
      kda_num_heads: number;
      kda_head_dim?: number;
      kda_conv_kernel_dim?: number;
    };
    short_convolution?: {
      short_conv_kernel_dim?: number;
    };
    lightning_attention?: {
      lightning_num_heads: number;
      lightning_head_dim?: number;
      lightning_chunk_size?: number;
    };
    hybrid_layer_pattern?: string;
  };
  job: {
    schema?: "meshwright.job/1";
    name?: string;
    source?: string;
    seq_length?: number;
    global_batch_size?: number;
    precision?: "fp32" | "tf32" | "fp16" | "bf16" | "fp8" | "fp4";
    gradient_precision?: "fp32" | "tf32" | "fp16" | "bf16" | "fp8" | "fp4";
    exp_avg_precision?: "fp32" | "tf32" | "fp16" | "bf16" | "fp8" | "fp4";
    exp_avg_sq_precision?: "fp32" | "tf32" | "fp16" | "bf16" | "fp8" | "fp4";
    optimizer?: "adam" | "sgd";
    master_weights?: boolean;
    store_param_remainders?: boolean;
    lora_rank?: number;
    lora_target_modules?: ("linear_qkv" | "linear_q" | "linear_k" | "linear_v" | "linear_proj" | "linear_fc1" | "linear_fc1_up" | "linear_fc1_gate" | "linear_fc2")[];
    lora_dropout?: number;
    lora_all_to_all?: boolean;
    frozen_weight_precision?: "bf16" | "fp8" | "nf4";
    attention_kernel?: "flash" | "unfused";
    kernel_fusion?: "fused" | "eager" | "compiled" | "transformers";
    dropout?: boolean;
    cross_entropy_loss_fusion?: boolean;
    loss_chunks?: number;
    fp8_param_gather?: boolean;
    fp8_recipe?: "delayed" | "tensorwise" | "blockwise" | "mxfp8";
    activation_func_fp8_input_store?: boolean;
    fp8_dot_product_attention?: boolean;
    disable_parameter_transpose_cache?: boolean;
    moe_dispatch_fwd_dtype?: "bf16" | "fp8";
    moe_combine_bwd_dtype?: "bf16" | "fp8";
    moe_router_fp32?: boolean;
    causal?: boolean;
    moe_load_imbalance?: number;
    make_vocab_size_divisible_by?: number;
    train_tokens?: number;
    capacity?: Record<string, unknown>;
    service?: Record<string, unknown>;
  };
  cluster: ClusterFacts;
  roofline: null | Roofline;
  top: number;
  ranked: RankedLayout[];
  capacity: Capacity;
  answers: null | Answers;
  validation: null | Validation;
  volume: null | Volume;
  placement: null | Placement;
  memory: null | Memory;
  heat_map: HeatMap;
  too_large: TooLarge[];
  timeline: null | Timeline;
  scaling: null | Scaling;
  rejections: RejectionRow[];
  statistics: Statistics;
  launch: LaunchFile[];
  calibration: Calibration;
  assumptions: string[];
  glossary: GlossaryEntry[];
};
