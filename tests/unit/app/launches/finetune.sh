#!/bin/bash
deepspeed --num_nodes 8 --num_gpus 8 train.py \
    --deepspeed zero3.json \
    --model_name_or_path meta-llama/Llama-2-7b-hf \
    --model_max_length 4096 \
    --per_device_train_batch_size 2 \
    --gradient_checkpointing True \
    --bf16 True --learning_rate 2e-5
