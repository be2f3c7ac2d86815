cat > made.toml <<X
[model]
name = "llama3"
flavor = "8B"
[training]
batch_size = 4
[experimental]
pipeline_parallel_degree = 2
pipeline_parallel_split_points = "layers.8,layers.16,layers.24"
[float8]
filter_fqns = "output,attention.wq"
X
CONFIG_FILE=made.toml NGPU=8 ./run_train.sh --parallelism.data_parallel_shard_degree 2 --compile.no-enable --model.converters=float8,mx "$@" activation-checkpoint:memory-budget
