"""Models of the transformers package, in sizes of a few thousand weights."""

import os
import unittest
import warnings

import torch

from shardwright.torch import UnknownOperatorWarning, trace

from .models import ids
from .test_graphs import check

os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import transformers
except ImportError:
    transformers = None

VOCABULARY = 128
SIZES = {"vocab_size": VOCABULARY, "hidden_size": 64, "intermediate_size": 128,
         "num_hidden_layers": 2, "num_attention_heads": 4, "use_cache": False}
DECODER = {**SIZES, "num_key_value_heads": 2}
VISION = {"image_size": 32, "patch_size": 8, "hidden_size": 64, "intermediate_size": 128,
          "num_hidden_layers": 2, "num_attention_heads": 4}


def tokens():
    return {"input_ids": ids(4, 16, below=VOCABULARY), "labels": ids(4, 16, below=VOCABULARY)}


def images():
    return {"pixel_values": torch.randn(4, 3, 32, 32), "labels": ids(4, below=10)}


# Class of the model, class and options of the configuration, arguments of a call.
MODELS = {
    "llama": ("LlamaForCausalLM", "LlamaConfig", DECODER, tokens),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", {**DECODER, "head_dim": 16}, tokens),
    "gemma3": ("Gemma3ForCausalLM", "Gemma3TextConfig", {**DECODER, "head_dim": 16}, tokens),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config",
             {"vocab_size": VOCABULARY, "n_embd": 64, "n_layer": 2, "n_head": 4, "use_cache": False}, tokens),
    "bert": ("BertForMaskedLM", "BertConfig", SIZES,
             lambda: {**tokens(), "attention_mask": torch.ones(4, 16, dtype=torch.int64)}),
    "t5": ("T5ForConditionalGeneration", "T5Config",
           {"vocab_size": VOCABULARY, "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2,
            "num_heads": 4, "use_cache": False, "decoder_start_token_id": 0, "pad_token_id": 0}, tokens),
    "whisper": ("WhisperForConditionalGeneration", "WhisperConfig",
                {"vocab_size": VOCABULARY, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2,
                 "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 128,
                 "decoder_ffn_dim": 128, "num_mel_bins": 16, "max_source_positions": 16,
                 "max_target_positions": 32, "use_cache": False, "pad_token_id": 0, "bos_token_id": 1,
                 "eos_token_id": 2, "decoder_start_token_id": 1},
                lambda: {"input_features": torch.randn(4, 16, 32), "labels": ids(4, 16, below=VOCABULARY)}),
    "vit": ("ViTForImageClassification", "ViTConfig", {**VISION, "num_labels": 10}, images),
    "resnet": ("ResNetForImageClassification", "ResNetConfig",
               {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1], "num_labels": 10}, images),
    "mixtral": ("MixtralForCausalLM", "MixtralConfig",
                {**DECODER, "num_local_experts": 4, "num_experts_per_tok": 2}, tokens),
    "deepseek": ("DeepseekV3ForCausalLM", "DeepseekV3Config",
                 {**DECODER, "num_key_value_heads": 4, "moe_intermediate_size": 32, "n_routed_experts": 8,
                  "n_group": 2, "topk_group": 1, "num_experts_per_tok": 2, "q_lora_rank": 16,
                  "kv_lora_rank": 16, "qk_rope_head_dim": 8, "v_head_dim": 16, "qk_nope_head_dim": 16,
                  "first_k_dense_replace": 1}, tokens),
    "llama4": ("Llama4ForCausalLM", "Llama4TextConfig",
               {**DECODER, "num_hidden_layers": 1, "head_dim": 16, "intermediate_size_mlp": 128,
                "num_local_experts": 4, "num_experts_per_tok": 1, "interleave_moe_layer_step": 1,
                "attention_chunk_size": 8}, tokens),
    "mamba": ("MambaForCausalLM", "MambaConfig",
              {"vocab_size": VOCABULARY, "hidden_size": 64, "state_size": 8, "num_hidden_layers": 1,
               "use_cache": False}, tokens),
}


@unittest.skipIf(transformers is None, "transformers is not installed")
class Models(unittest.TestCase):
    def test_all_trace_with_a_rule_for_every_operator(self):
        torch.set_num_threads(1)
        for name, (kind, configuration, options, inputs) in MODELS.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("error", UnknownOperatorWarning)
                with torch.device("meta"):
                    model = getattr(transformers, kind)(getattr(transformers, configuration)(**options))
                traced = trace(model, inputs())
                check(self, traced.document)
                self.assertEqual([output.target for output in traced.joint.outputs
                                  if output.role == "output"][:2], ["loss", "logits"])
                gradients = [output for output in traced.joint.outputs if output.role == "gradient"]
                self.assertEqual(len(gradients), sum(each.requires_grad for each in model.parameters()))
                self.batch_and_width_can_be_sharded(traced.document)

    def batch_and_width_can_be_sharded(self, document):
        """Each product can be run on a part of the batch, and on a part of the width."""
        for row in document["nodes"]:
            if row["op"] in ("aten.matmul.default", "aten.mm.default", "aten.tensordot.default"):
                found = {entry["outputs"][0] for entry in document["rules"][row["rule"]]["strategies"]}
                self.assertLessEqual({"S0", "P"}, found, row)


if __name__ == "__main__":
    unittest.main()
