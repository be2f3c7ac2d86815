docker run --gpus all vllm/vllm-openai:v0.19.0 --model m --tensor-parallel-size $TP --speculative-config '{"method": "mtp", "num_speculative_tokens": 3}'
vllm bench serve --random-input-len 1000 --random-output-len 500 --max-concurrency 64
