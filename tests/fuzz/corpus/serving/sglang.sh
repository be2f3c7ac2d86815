export SGLANG_LOG_LEVEL=info
python3 -m sglang.launch_server --model-path m --tp 8 --dp 4 --enable-dp-attention --cuda-graph-bs 1 2 4 --disaggregation-mode prefill
