NPROC_PER_NODE=8 NNODES=2 megatron sft --model Qwen/Qwen3-30B-A3B --tensor_model_parallel_size 2 \
  --expert_model_parallel_size 8 --sequence_parallel true --micro_batch_size 1 --global_batch_size 16 \
  --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 \
  --packing true --max_length 8192
