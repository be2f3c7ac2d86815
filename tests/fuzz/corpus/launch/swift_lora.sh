NPROC_PER_NODE=2 megatron sft --model Qwen/Qwen2.5-7B --tuner_type lora --lora_rank 8 --target_modules all-linear --micro_batch_size 1 --global_batch_size 8 --max_length 2048
