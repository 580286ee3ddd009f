#!/usr/bin/env python3
# make.py - writes lstm.onnx and gru.onnx and what torch gives for them: run it with a Python that has torch and onnx, in this folder.
#
# Both networks are as torch.onnx exports them: LSTM, one layer both ways, and GRU, two layers (linear_before_reset 1). The header
# golden.h holds the input x, the output y, and x's gradient by torch's autograd for the loss sum(w * y), where w is sin(0.7 k) for
# element k of y.
import torch


class Net(torch.nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, x):
        return self.cell(x)[0]


def numbers(values):
    flat = [f"{v:.9g}" for v in values.reshape(-1).tolist()]
    lines = [", ".join(flat[i:i + 10]) for i in range(0, len(flat), 10)]
    return "{" + ",\n    ".join(lines) + "}"


def write(file, name, cell):
    torch.manual_seed(3)
    x = torch.tensor([((7 * i) % 17 - 8) / 8 for i in range(4 * 3 * 2)]).reshape(4, 3, 2)
    with torch.no_grad():
        for k, p in enumerate(cell.parameters()):
            p.copy_(torch.tensor([0.5 * ((5 * i + 3 * k) % 13 - 6) / 6 for i in range(p.numel())]).reshape(p.shape))
    net = Net(cell)
    torch.onnx.export(net, (x,), f"{name}.onnx", input_names=["x"], output_names=["y"], opset_version=20, dynamo=False)
    x.requires_grad_()
    y = net(x)
    loss = (y * torch.sin(0.7 * torch.arange(y.numel())).reshape(y.shape)).sum()
    loss.backward()
    file.write(f"static const double {name}_x[] = {numbers(x.detach())};\n")
    file.write(f"static const double {name}_y[] = {numbers(y.detach())};\n")
    file.write(f"static const double {name}_d_x[] = {numbers(x.grad)};\n")


with open("golden.h", "w") as file:
    file.write(f"/* golden.h - written by make.py with torch {torch.__version__.split('+')[0]}. */\n")
    write(file, "lstm", torch.nn.LSTM(2, 3, bidirectional=True))
    write(file, "gru", torch.nn.GRU(2, 3, num_layers=2))
