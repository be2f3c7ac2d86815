torchrun --nproc-per-node=8 src/scripts/train/OLMo2-7B.py train x --dataset.sequence_length=4096 --train_module.rank_microbatch_size=2*4096 --data_loader.global_batch_size=4_194_304
