"""Writes the graph of a training step of a decoder with experts, by shardwright.torch.trace; needs transformers.

    tests/python/run.py --stage torch --folder build/release/python/torch \\
      --library build/release/runtime/python/libshardwright.so -- perf/traced/mixture.py > mixture.json

The sizes are those of Mixtral 8x7B, with half as many blocks: 16 blocks of width 4,096 with 32 heads of which 8 have keys of
their own, 8 experts with an MLP of 14,336, of which every token takes 2. 16 sequences of 4,096 tokens.
"""

import argparse
import json
import sys

import torch
import transformers

from shardwright.torch import trace


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=16)
    arguments = parser.parse_args()
    configuration = transformers.MixtralConfig(
        vocab_size=32000, hidden_size=4096, intermediate_size=14336, num_hidden_layers=arguments.blocks,
        num_attention_heads=32, num_key_value_heads=8, num_local_experts=8, num_experts_per_tok=2, use_cache=False)
    with torch.device("meta"):
        model = transformers.MixtralForCausalLM(configuration).bfloat16()
        tokens = torch.zeros(16, 4096, dtype=torch.int64)
    json.dump(trace(model, example_kwargs={"input_ids": tokens, "labels": tokens}).document, sys.stdout)


if __name__ == "__main__":
    main()
