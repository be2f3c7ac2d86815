source ./env.sh
case $1 in
  A*) N=2 ;;
  *) N=$(( ${2:-4} * 2 )) ;;
esac
[[ -n $X && ! ( $Y == a* ) ]] && ARGS+=(--bf16) || ARGS="${ARGS[@]} --fp16"
if (( N > 2 )); then shift; elif [ "$#" -ge 1 -o -f x ]; then set -- a b; else N=${N%%2*}; fi
torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size ${N//4/2} --num-layers 4 --micro-batch-size 1 "${ARGS[@]}"
