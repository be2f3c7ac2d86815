cat > acc.yaml <<EOF
distributed_type: FSDP
fsdp_config: { fsdp_version: 2 }
num_processes: 4
EOF
CUDA_VISIBLE_DEVICES=0,1 accelerate launch --config_file acc.yaml --mixed_precision bf16 sft.py \
  --model_name_or_path a/b --use_peft --lora_target_modules all-linear --fsdp "full_shard offload" \
  --max_length 512 --torch_dtype auto
