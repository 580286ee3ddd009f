#!/usr/bin/env python3
# transformer.py: writes transformer.onnx, a small transformer as PyTorch exports it, and transformer.h, PyTorch's own gradients of it.
# usage: cd tests/golden && transformer.py   (any Python with torch and onnx; then clang-format -i transformer.h)
# An embedding with positions, one block (layer norm, two heads, residual, layer norm, gelu, residual), layer norm, dense.  The gradient of
# the outputs is a formula that transformer_test.c repeats.
import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(d), nn.LayerNorm(d)
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x):
        n, s, d = x.shape
        y = self.norm1(x)
        q, k, v = (f(y).reshape(n, s, self.heads, d // self.heads).transpose(1, 2) for f in (self.q, self.k, self.v))
        a = torch.softmax(q @ k.transpose(-1, -2) * (d // self.heads) ** -0.5, -1)
        x = x + self.o((a @ v).transpose(1, 2).reshape(n, s, d))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Net(nn.Module):
    def __init__(self, words=11, d=8, heads=2, steps=5, out=7):
        super().__init__()
        self.words, self.places = nn.Embedding(words, d), nn.Parameter(torch.zeros(steps, d))
        self.block, self.norm, self.head = Block(d, heads), nn.LayerNorm(d), nn.Linear(d, out)

    def forward(self, t):
        return self.head(self.norm(self.block(self.words(t) + self.places)))


torch.manual_seed(3)
net = Net()
with torch.no_grad():
    for p in net.parameters():  # none like another, or the exporter would store one of them for both
        p.copy_(torch.randn_like(p) * 0.3 + (1.0 if p.dim() == 1 else 0.0))
t = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 10]])
torch.onnx.export(net, (t,), "transformer.onnx", dynamo=False, opset_version=18, input_names=["t"], output_names=["y"])
y = net(t)
dy = torch.tensor([((i * 7) % 13 - 6) / 8 for i in range(y.numel())]).reshape(y.shape)
net.double()
net(t).backward(dy.double())
with open("transformer.h", "w") as f:
    f.write("/* transformer.h - written by transformer.py: the parameters of transformer.onnx and PyTorch's gradients of them. */\n")
    f.write("static const struct {\n    const double *values, *d;\n    int n;\n} golden[] = {\n")
    for name, p in net.named_parameters():
        rows = [", ".join("%.9g" % x for x in v.detach().flatten().tolist()) for v in (p, p.grad)]
        f.write("    /* %s */\n    {(const double[]){%s}, (const double[]){%s}, %d},\n" % (name, rows[0], rows[1], p.numel()))
    f.write("};\n")
