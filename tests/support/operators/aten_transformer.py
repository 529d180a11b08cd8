"""Writes graphs of transformers as shardwright.torch.trace does, without torch: one training step.

    python3 tests/support/operators/aten_transformer.py --blocks 32 --width 4096 > graph.json
"""

import argparse
import json
import math


class Graph:
    """Appends nodes, with rules that are shared by equal content."""

    def __init__(self, dtype):
        self.dtype, self.nodes, self.outputs, self.rules = dtype, [], [], []
        self.rule_numbers, self.module, self.backward = {}, "", False

    def shape(self, ref):
        return self.nodes[ref[0]]["outputs"][ref[1]]["shape"]

    def add(self, op, inputs, shapes, entries, **extra):
        unique = []
        for entry in entries:
            if entry not in unique:
                unique.append(entry)
        key = json.dumps(unique)
        if key not in self.rule_numbers:
            self.rule_numbers[key] = len(self.rules)
            self.rules.append({"strategies": unique, "source": "own"})
        node = {"name": f"{op.split('.')[1] if '.' in op else op}_{len(self.nodes)}", "op": op}
        if inputs:
            node["inputs"] = [list(ref) for ref in inputs]
        node["rule"] = self.rule_numbers[key]
        dtype = extra.pop("dtype", self.dtype)
        node["outputs"] = [{"shape": list(shape), "stride": strides(shape), "dtype": dtype} for shape in shapes]
        node["phase"] = "backward" if self.backward else "forward"
        if self.module:
            node["module"] = self.module
        node.update(extra)
        self.nodes.append(node)
        return (len(self.nodes) - 1, 0)

    def placeholder(self, role, target, shape, dtype=None):
        entries = [{"outputs": [word], "inputs": []} for word in words(shape)]
        ref = self.add("placeholder", [], [shape], entries, role=role, target=target, dtype=dtype or self.dtype)
        del self.nodes[-1]["phase"]
        return ref

    # ---- operators

    def pointwise(self, op, *inputs, linear=()):
        """`linear`: for each way in which sums pass, the inputs that may be partial."""
        shape = list(max((self.shape(ref) for ref in inputs), key=lambda s: (len(s), math.prod(s))))
        entries = [{"outputs": ["R"], "inputs": ["R"] * len(inputs)}]
        for dim in range(len(shape)):
            taken = []
            for ref in inputs:
                own = self.shape(ref)
                at = dim - (len(shape) - len(own))
                taken.append(f"S{at}" if at >= 0 and own[at] == shape[dim] else "R")
            entries.append({"outputs": [f"S{dim}"], "inputs": taken})
        for partial in linear:
            entries.append({"outputs": ["P"], "inputs": ["P" if i in partial else "R" for i in range(len(inputs))]})
        return self.add(f"aten.{op}", inputs, [shape], entries)

    def mul(self, a, b):
        return self.pointwise("mul.Tensor", a, b, linear=[(0,), (1,)])

    def plus(self, a, b):
        return self.pointwise("add.Tensor", a, b, linear=[(0, 1)])

    def reduce(self, op, x, dims, linear=True):
        """Keeps the dimensions, with extent 1."""
        shape = self.shape(x)
        out = [1 if d in dims else extent for d, extent in enumerate(shape)]
        entries = [{"outputs": ["R"], "inputs": ["R"]}]
        for dim in range(len(shape)):
            partial = "P" if op.startswith("sum") else "Pavg"
            entries.append({"outputs": [partial if dim in dims else f"S{dim}"], "inputs": [f"S{dim}"]})
        if linear:
            entries.append({"outputs": ["P"], "inputs": ["P"]})
        return self.add(f"aten.{op}", [x], [out], entries)

    def view(self, x, shape):
        """Joins or splits dimensions: the outermost one of a group keeps its shards."""
        old = self.shape(x)
        entries = [{"outputs": ["R"], "inputs": ["R"]}, {"outputs": ["P"], "inputs": ["P"]}]
        i = j = 0
        while i < len(old) and j < len(shape):
            begin_i, begin_j, a, b = i, j, old[i], shape[j]
            while a != b:
                if a < b:
                    i += 1
                    a *= old[i]
                else:
                    j += 1
                    b *= shape[j]
            entry = {"outputs": [f"S{begin_j}"], "inputs": [f"S{begin_i}"]}
            if old[begin_i] != shape[begin_j]:
                entry["divides"] = min(old[begin_i], shape[begin_j])
            entries.append(entry)
            i, j = i + 1, j + 1
        return self.add("aten.view.default", [x], [shape], entries, view=True)

    def permute(self, x, order):
        old = self.shape(x)
        entries = [{"outputs": [w], "inputs": [w]} for w in ("R", "P")]
        entries += [{"outputs": [f"S{to}"], "inputs": [f"S{d}"]} for to, d in enumerate(order)]
        return self.add("aten.permute.default", [x], [[old[d] for d in order]], entries, view=True)

    def mm(self, a, b):
        (m, k), n = self.shape(a), self.shape(b)[1]
        entries = [{"outputs": [o], "inputs": list(i)} for o, i in [
            ("R", "RR"), ("S0", ("S0", "R")), ("S1", ("R", "S1")), ("P", ("S1", "S0")), ("P", "PR"), ("P", "RP")]]
        return self.add("aten.mm.default", [a, b], [[m, n]], entries,
                        flops=[[2, [0, 0], [0, 1], [1, 1]]])

    def embedding(self, weight, tokens):
        entries = [{"outputs": ["R"], "inputs": ["R", "R"]}, {"outputs": ["S2"], "inputs": ["S1", "R"]}]
        entries += [{"outputs": [f"S{d}"], "inputs": ["R", f"S{d}"]} for d in range(2)]
        return self.add("aten.embedding.default", [weight, tokens],
                        [self.shape(tokens) + [self.shape(weight)[1]]], entries)

    def embedding_backward(self, gradient, tokens, rows):
        entries = [{"outputs": ["R"], "inputs": ["R", "R"]}, {"outputs": ["S1"], "inputs": ["S2", "R"]},
                   {"outputs": ["P"], "inputs": ["P", "R"]}]
        entries += [{"outputs": ["P"], "inputs": [f"S{d}", f"S{d}"]} for d in range(2)]
        return self.add("aten.embedding_dense_backward.default", [gradient, tokens],
                        [[rows, self.shape(gradient)[2]]], entries)

    def attention(self, q, k, v):
        batch, heads, tokens, width = self.shape(q)
        entries = [{"outputs": [w] * 2, "inputs": [w] * 3} for w in ("R", "S0", "S1")]
        return self.add("aten._scaled_dot_product_flash_attention.default", [q, k, v],
                        [[batch, heads, tokens, width], [batch, heads, tokens]], entries,
                        flops=[[2, [0, 0], [0, 1], [0, 2], [0, 3], [1, 2]]] * 2)

    def attention_backward(self, gradient, q, k, v, out):
        entries = [{"outputs": [w] * 3, "inputs": [w] * 6} for w in ("R", "S0", "S1")]
        return self.add("aten._scaled_dot_product_flash_attention_backward.default",
                        [gradient, q, k, v, out, (out[0], 1)], [self.shape(q)] * 3, entries,
                        flops=[[2, [1, 0], [1, 1], [1, 2], [1, 3], [2, 2]]] * 5)


def words(shape):
    return ["R"] + [f"S{d}" for d in range(len(shape))]


def strides(shape):
    return [math.prod(shape[d + 1:]) for d in range(len(shape))]


class Model:
    """A decoder of blocks with attention and gated MLPs. Forward first; `tape` has the backward in reverse."""

    def __init__(self, graph, arguments):
        self.g, self.a, self.tape, self.gradients, self.parameters = graph, arguments, [], {}, {}

    def parameter(self, name, shape):
        self.parameters[name] = self.g.placeholder("parameter", name, shape)

    def give(self, ref, gradient):
        known = self.gradients.get(ref)
        self.gradients[ref] = gradient if known is None else self.g.plus(known, gradient)

    def record(self, out, back):
        self.tape.append((self.g.module, out, back))
        return out

    def linear(self, x, name):
        g, weight = self.g, self.parameters[name]
        shape = g.shape(x)
        rows = math.prod(shape[:-1])
        flat = g.view(x, [rows, shape[-1]])
        out = g.view(g.mm(flat, g.permute(weight, (1, 0))), shape[:-1] + [g.shape(weight)[0]])

        def back(gradient):
            flat_gradient = g.view(gradient, [rows, g.shape(weight)[0]])
            self.give(weight, g.permute(g.mm(g.permute(flat, (1, 0)), flat_gradient), (1, 0)))
            self.give(x, g.view(g.mm(flat_gradient, weight), shape))
        return self.record(out, back)

    def norm(self, x, name):
        g, weight = self.g, self.parameters[name]
        last = len(g.shape(x)) - 1
        mean = g.reduce("mean.dim", g.pointwise("pow.Tensor_Scalar", x), [last])
        scale = g.pointwise("rsqrt.default", mean)
        normal = g.mul(x, scale)
        out = g.mul(normal, weight)

        def back(gradient):
            summed = g.reduce("sum.dim_IntList", g.mul(gradient, normal), range(last))
            self.give(weight, g.view(summed, [g.shape(x)[last]]))
            inner = g.mul(gradient, weight)
            dot = g.reduce("sum.dim_IntList", g.mul(inner, normal), [last])
            self.give(x, g.mul(g.plus(inner, g.mul(normal, dot)), scale))
        return self.record(out, back)

    def add(self, a, b):
        def back(gradient):
            self.give(a, gradient)
            self.give(b, gradient)
        return self.record(self.g.plus(a, b), back)

    def heads(self, x, count):
        g = self.g
        batch, tokens, width = g.shape(x)
        out = g.permute(g.view(x, [batch, tokens, count, width // count]), (0, 2, 1, 3))

        def back(gradient):
            self.give(x, g.view(g.permute(gradient, (0, 2, 1, 3)), [batch, tokens, width]))
        return self.record(out, back)

    def rotate(self, x, angles):
        g = self.g
        out = g.plus(g.mul(x, angles), g.mul(g.pointwise("neg.default", x, linear=[(0,)]), angles))
        return self.record(out, lambda gradient: self.give(x, g.plus(g.mul(gradient, angles),
                                                                       g.mul(gradient, angles))))

    def attention(self, x, block):
        g, a = self.g, self.a
        angles = self.angles
        q = self.rotate(self.heads(self.linear(x, f"{block}.wq.weight"), a.heads), angles)
        k = self.rotate(self.heads(self.linear(x, f"{block}.wk.weight"), a.heads), angles)
        v = self.heads(self.linear(x, f"{block}.wv.weight"), a.heads)
        out = g.attention(q, k, v)

        def back(gradient):
            node = g.attention_backward(gradient, q, k, v, out)
            for index, ref in enumerate((q, k, v)):
                self.give(ref, (node[0], index))
        self.record(out, back)
        batch, heads, tokens, width = g.shape(out)
        joined = g.view(g.permute(out, (0, 2, 1, 3)), [batch, tokens, heads * width])

        def unjoin(gradient):
            self.give(out, g.permute(g.view(gradient, [batch, tokens, heads, width]), (0, 2, 1, 3)))
        return self.linear(self.record(joined, unjoin), f"{block}.wo.weight")

    def mlp(self, x, block):
        g = self.g
        gate, up = self.linear(x, f"{block}.w1.weight"), self.linear(x, f"{block}.w3.weight")
        active = g.pointwise("silu.default", gate)
        product = g.mul(active, up)

        def back(gradient):
            self.give(up, g.mul(gradient, active))
            self.give(gate, g.pointwise("silu_backward.default", g.mul(gradient, up), gate))
        return self.linear(self.record(product, back), f"{block}.w2.weight")

    def run(self):
        g, a = self.g, self.a
        self.parameter("embedding.weight", [a.vocabulary, a.width])
        for index in range(a.blocks):
            for name in ("wq", "wk", "wv", "wo"):
                self.parameter(f"layers.{index}.attention.{name}.weight", [a.width, a.width])
            for name, shape in (("w1", [a.hidden, a.width]), ("w3", [a.hidden, a.width]),
                                ("w2", [a.width, a.hidden])):
                self.parameter(f"layers.{index}.mlp.{name}.weight", shape)
            for name in ("attention_norm", "mlp_norm"):
                self.parameter(f"layers.{index}.{name}.weight", [a.width])
        self.parameter("norm.weight", [a.width])
        self.parameter("output.weight", [a.vocabulary, a.width])
        self.angles = g.placeholder("buffer", "angles", [a.tokens, a.width // a.heads])
        tokens = g.placeholder("input", "tokens", [a.batch, a.tokens], "int64")
        tangent = g.placeholder("tangent", "0", [a.batch, a.tokens, a.vocabulary])
        g.module = "embedding"
        x = g.embedding(self.parameters["embedding.weight"], tokens)
        embedded = x
        for index in range(a.blocks):
            block = g.module = f"layers.{index}"
            g.module = block + ".attention"
            x = self.add(x, self.attention(self.norm(x, f"{block}.attention_norm.weight"), block + ".attention"))
            g.module = block + ".mlp"
            x = self.add(x, self.mlp(self.norm(x, f"{block}.mlp_norm.weight"), block + ".mlp"))
        g.module = "output"
        out = self.linear(self.norm(x, "norm.weight"), "output.weight")
        g.outputs.append({"node": out[0], "output": out[1], "role": "output", "target": "0"})
        self.backward(out, tangent, embedded, tokens)

    def backward(self, out, tangent, embedded, tokens):
        g = self.g
        g.backward = True
        self.gradients[out] = tangent
        for module, ref, back in reversed(self.tape):
            g.module = module
            back(self.gradients[ref])
        weight = self.parameters["embedding.weight"]
        g.module = "embedding"
        self.give(weight, g.embedding_backward(self.gradients[embedded], tokens, self.a.vocabulary))
        for name, ref in self.parameters.items():
            gradient = self.gradients[ref]
            g.outputs.append({"node": gradient[0], "output": gradient[1], "role": "gradient", "target": name})


def document(arguments):
    graph = Graph(arguments.dtype)
    Model(graph, arguments).run()
    return {"format": "shardwright.aten_graph", "version": 1, "model": "Transformer", "torch": "none",
            "rules": graph.rules, "nodes": graph.nodes, "outputs": graph.outputs}


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("blocks", 2), ("width", 1024), ("hidden", 4096), ("heads", 16), ("batch", 64),
                          ("tokens", 256), ("vocabulary", 32000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--dtype", default="bfloat16")
    print(json.dumps(document(parser.parse_args())))


if __name__ == "__main__":
    main()
