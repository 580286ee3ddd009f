"""peer_nets: the networks of bench-peers, as PyTorch modules with weights of a fixed seed, and as the ONNX files that others read.

A network is made by make(name, batch): the module and its inputs by name.  Published networks have their published layers (torchvision); nothing is
downloaded, so the weights are random: times do not depend on them, and answers are compared all the same.
"""
import os

import torch
from torch import nn

IMAGENET = ("resnet18", "resnet50", "mobilenet_v2", "efficientnet_b0", "squeezenet1_1")
CELLS = {  # assay's own cells: exported by assay, which names the weights as ncps does; 16 steps of 20 inputs
    "cfc-wired": "cfc:input=20,wiring=autoncp,units=64,out=16",
    "cfc-backbone": "cfc:input=20,units=64,backbone_units=64,backbone_layers=2",
    "ltc-wired": "ltc:input=20,wiring=autoncp,units=64,out=16",
}
STEPS = 16
# name: batches
NETWORKS = {
    "mlp": (1, 8, 64), "cnn-small": (1, 8, 64), "cnn-cifar": (1, 8, 64), "resnet18": (1, 8), "resnet50": (1,), "mobilenet_v2": (1, 8),
    "efficientnet_b0": (1,), "squeezenet1_1": (1,), "unet": (1,), "encoder": (1, 8), "gpt2-past": (1,), "lstm256": (1, 8, 64), "gru256": (1, 8, 64),
    "mobilenet_v2-int8": (1,), "minilm-int8": (1,), "cfc-wired": (1, 32), "cfc-backbone": (1, 32), "ltc-wired": (1, 32),
}


class Mlp(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))


class Cnn(nn.Sequential):
    def __init__(self, channels, size):
        super().__init__(nn.Conv2d(channels, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(64 * (size // 4) ** 2, 128), nn.ReLU(), nn.Linear(128, 10))


class Twice(nn.Sequential):
    def __init__(self, inputs, outputs):
        super().__init__(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(), nn.Conv2d(outputs, outputs, 3, padding=1),
                         nn.BatchNorm2d(outputs), nn.ReLU())


class Unet(nn.Module):
    """Three levels down and up, with transposed convolutions and concatenations."""

    def __init__(self, widths=(32, 64, 128, 256)):
        super().__init__()
        self.down = nn.ModuleList(Twice(a, b) for a, b in zip((3, *widths), widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in zip(widths, widths[1:]))
        self.merge = nn.ModuleList(Twice(2 * a, a) for a in widths[:-1])
        self.head = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x):
        kept = []
        for i, stage in enumerate(self.down):
            x = stage(x if i == 0 else nn.functional.max_pool2d(x, 2))
            kept.append(x)
        for i in reversed(range(len(self.up))):
            x = self.merge[i](torch.cat([kept[i], self.up[i](x)], 1))
        return self.head(x)


class Block(nn.Module):
    """A layer of a transformer.  `first`: norms stand before the products (GPT-2), else behind (BERT)."""

    def __init__(self, width, heads, inner, first):
        super().__init__()
        self.width, self.heads, self.first = width, heads, first
        self.qkv, self.proj, self.up, self.fall = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.Linear(width, inner), nn.Linear(inner, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def heads_of(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.heads, self.width // self.heads).transpose(1, 2)

    def attend(self, x, past=None):
        q, k, v = (self.heads_of(part) for part in self.qkv(x).split(self.width, -1))
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        weights = torch.softmax(q @ k.transpose(2, 3) * (self.width // self.heads) ** -0.5, -1)
        return self.proj((weights @ v).transpose(1, 2).reshape(x.shape)), k, v

    def feed(self, x):
        return self.fall(nn.functional.gelu(self.up(x)))

    def forward(self, x, past=None):
        if self.first:
            y, k, v = self.attend(self.norm1(x), past)
            x = x + y
            return x + self.feed(self.norm2(x)), k, v
        x = self.norm1(x + self.attend(x)[0])
        return self.norm2(x + self.feed(x))


class Encoder(nn.Module):
    """Six layers as MiniLM has them, on 128 tokens."""

    def __init__(self, width=384, heads=12, inner=1536, layers=6, words=30522):
        super().__init__()
        self.words, self.places, self.norm = nn.Embedding(words, width), nn.Embedding(512, width), nn.LayerNorm(width)
        self.layers = nn.ModuleList(Block(width, heads, inner, False) for _ in range(layers))

    def forward(self, ids):
        x = self.norm(self.words(ids) + self.places.weight[:ids.shape[1]])
        for layer in self.layers:
            x = layer(x)
        return x


class Gpt2(nn.Module):
    """GPT-2's small form: one more token behind 64 that are in the cache."""

    def __init__(self, width=768, heads=12, layers=12, words=50257):
        super().__init__()
        self.words, self.places, self.norm = nn.Embedding(words, width), nn.Embedding(1024, width), nn.LayerNorm(width)
        self.layers = nn.ModuleList(Block(width, heads, 4 * width, True) for _ in range(layers))

    def forward(self, ids, keys, values):
        x, new_keys, new_values = self.words(ids) + self.places.weight[keys.shape[3]:keys.shape[3] + 1], [], []
        for i, layer in enumerate(self.layers):
            x, k, v = layer(x, (keys[i], values[i]))
            new_keys.append(k)
            new_values.append(v)
        return self.norm(x) @ self.words.weight.T, torch.stack(new_keys), torch.stack(new_values)


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.cell = kind(64, 256)

    def forward(self, x):
        return self.cell(x)[0]


def make(name, batch):
    """The module, in its form for answers, and its inputs by name."""
    torch.manual_seed(1)
    plain, random = name.removesuffix("-int8"), torch.Generator().manual_seed(2)

    def noise(*shape):
        return torch.rand(shape, generator=random) * 2 - 1

    def tokens(count, words):
        return torch.randint(0, words, (batch, count), generator=random)
    if plain in IMAGENET:
        import torchvision
        net, inputs = getattr(torchvision.models, plain)(weights=None), {"x": noise(batch, 3, 224, 224)}
    elif plain == "mlp":
        net, inputs = Mlp(), {"x": noise(batch, 784)}
    elif plain == "cnn-small":
        net, inputs = Cnn(1, 28), {"x": noise(batch, 1, 28, 28)}
    elif plain == "cnn-cifar":
        net, inputs = Cnn(3, 32), {"x": noise(batch, 3, 32, 32)}
    elif plain == "unet":
        net, inputs = Unet(), {"x": noise(batch, 3, 128, 128)}
    elif plain in ("encoder", "minilm"):
        net, inputs = Encoder(), {"ids": tokens(128, 30522)}
    elif plain == "gpt2-past":
        net, inputs = Gpt2(), {"ids": tokens(1, 50257), "keys": noise(12, batch, 12, 64, 64), "values": noise(12, batch, 12, 64, 64)}
    elif plain in ("lstm256", "gru256"):
        net, inputs = Recurrent(nn.LSTM if plain == "lstm256" else nn.GRU), {"x": noise(32, batch, 64)}
    else:
        raise ValueError(f"there is no network {name}")
    return net.eval(), inputs


def channels_last(name):
    return name.removesuffix("-int8") in (*IMAGENET, "cnn-small", "cnn-cifar", "unet")


def quantize(name, source, target, inputs):
    """int8 as ONNX Runtime's own tool makes it: convolutions with fixed scales, products with scales of each run."""
    from onnxruntime import quantization
    if name.startswith("minilm"):
        quantization.quantize_dynamic(source, target, weight_type=quantization.QuantType.QInt8)
        return

    class Reader(quantization.CalibrationDataReader):
        def __init__(self):
            self.left = [{key: value.numpy() for key, value in inputs.items()}] * 2

        def get_next(self):
            return self.left.pop() if self.left else None
    quantization.quantize_static(source, target, Reader(), quant_format=quantization.QuantFormat.QOperator, per_channel=True,
                                 activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)


def export(name, batch, folder):
    """Writes FOLDER/net.onnx, the inputs and inputs.txt; returns the names of the inputs."""
    import numpy as np
    net, inputs = make(name, batch)
    path = os.path.join(folder, "net.onnx")
    plain = os.path.join(folder, "plain.onnx") if name.endswith("-int8") else path
    with torch.no_grad():
        torch.onnx.export(net, tuple(inputs.values()), plain, input_names=list(inputs), opset_version=17, dynamo=False, do_constant_folding=True)
    if plain != path:
        quantize(name, plain, path, inputs)
    inputs_write(folder, {key: np.ascontiguousarray(value.numpy()) for key, value in inputs.items()})


def inputs_write(folder, inputs):
    import numpy as np
    with open(os.path.join(folder, "inputs.txt"), "w") as file:
        for i, (key, value) in enumerate(inputs.items()):
            np.save(os.path.join(folder, f"in.{i}.npy"), value)
            file.write(f"{key} in.{i}.npy\n")
