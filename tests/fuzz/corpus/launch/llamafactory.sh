FORCE_TORCHRUN=1 NNODES=2 NPROC_PER_NODE=8 llamafactory-cli train x.yaml cutoff_len=64 --lora_rank 4
