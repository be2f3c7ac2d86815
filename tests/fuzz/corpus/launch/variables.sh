TP=8
PP=4
torchrun --nproc_per_node 8 --nnodes ${NNODES:-16} pretrain_gpt.py \
  --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP \
  --num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048 \
  --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 1536 --bf16 "${ARGS[@]}"
