#!/bin/bash
set -e
ENV=$1
MODEL_SIZE=$2
BATCH_SIZE=$3
GBS=$4
SEQ=$5
TP=${6}
PP=${7}
AC=${8}
DO=${9}
FL=${10}
if [ $ENV = dsw ]; then
  export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7
  NNODES=1
  GPUS_PER_NODE=8
elif [ $ENV = dlc ]; then
  NNODES=${WORLD_SIZE}
  GPUS_PER_NODE=${KUBERNETES_CONTAINER_RESOURCE_GPU}
fi
if [ $MODEL_SIZE = 7B ]; then
 NL=32; HS=4096; NH=32
elif [ $MODEL_SIZE = 13B ]; then
 NL=40; HS=5120; NH=40
fi
if [ $AC = full ]; then
 activation_checkpoint_options=" --recompute-method uniform --recompute-granularity full --recompute-num-layers 1"
elif [ $AC = sel ]; then
 activation_checkpoint_options=" --recompute-activations"
elif [ $AC = none ]; then
 activation_checkpoint_options=" "
fi
if [ $DO = true ]; then
 do_options=" --use-distributed-optimizer"
else
 do_options=" "
fi
case $FL in
 true) fl_options=" --attention-backend flash" ;;
 *) fl_options=" --attention-backend unfused" ;;
esac
options="--num-layers $NL --hidden-size $HS --num-attention-heads $NH --seq-length $SEQ --max-position-embeddings $SEQ \
  --micro-batch-size $BATCH_SIZE --global-batch-size $GBS --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP --bf16 --vocab-size 32000 --lr 1e-4"
run_cmd="torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NNODES pretrain.py ${options} ${activation_checkpoint_options} ${do_options} ${fl_options}"
echo ${run_cmd}
eval ${run_cmd}
set +x
