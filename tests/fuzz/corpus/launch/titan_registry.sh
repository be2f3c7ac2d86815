#SBATCH --nodes=2
MODULE=qwen3 CONFIG=qwen3_30b_a3b bash run_train.sh --training.num-tokens-per-microbatch-per-dp-rank 8192 --training.max_context_length 4096 --parallelism.num_pp_microbatches 4 --parallelism.pipeline_parallel_degree 2 --no-training.compile
