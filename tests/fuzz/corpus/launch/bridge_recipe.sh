./scripts/training/train.sh --nodes 2 --recipe qwen3_8b_pretrain_16gpu_h100_bf16_config --seq_length 4096 model.recompute_granularity=null ddp.overlap_grad_reduce=true
