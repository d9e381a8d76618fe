"""Layers as lists of pieces of GPU work, with FLOPs and bytes from their shapes. Nothing is measured here.

The formulas, N pictures or rows, C channels, H x W outputs, b bytes per number:

* linear [N, I] -> [N, O]: forward 2·N·I·O FLOPs; backward the same for the weights and once more for the input.
  Bytes: b·(N·I + I·O + N·O), every operand once.
* convolution, kernel k x k: 2·N·H·W·Cout·Cin·k² FLOPs each for the output, the input's and the weights' gradient.
  Bytes: b·(input + weights + output).
* attention (flash, S tokens, D numbers per head): forward two products of 2·S²·D per head, backward five of them,
  because the scores are computed again. Bytes: b·4·S·D per head forward, b·8·S·D backward; the scores stay on the chip.
* everything else streams its operands once: bytes = b·numbers read and written, FLOPs = a few per number.

A product counts 2 FLOPs per multiply-add, as ``torch.utils.flop_counter`` does; the tests compare the two.
"""

from __future__ import annotations

from dataclasses import dataclass

# Kinds whose FLOPs torch's counter counts, too.
MATRIX_KINDS = frozenset(
    ("gemm", "conv_forward", "conv_data", "conv_weight", "attention_forward", "attention_keys", "attention_queries")
)


@dataclass(frozen=True)
class Work:
    """One kernel's work. kind: which kernel (see ``names``). operator: the ATen operator that launches it.

    flops, bytes: what it computes and moves. outputs: numbers it writes, which sizes its grid. shape: (rows, columns,
    depth) of a matrix product, else ().
    """

    kind: str
    operator: str
    flops: float
    bytes: int
    outputs: int
    shape: tuple[int, int, int] | tuple[()] = ()


@dataclass(frozen=True)
class Layer:
    """name, the work of both directions in launch order, and how many numbers of it training changes (in how many tensors)."""

    name: str
    forward: tuple[Work, ...]
    backward: tuple[Work, ...]
    parameters: int = 0
    tensors: int = 0


def _stream(kind: str, operator: str, reads: int, writes: int, size: int, per_number: float = 1.0) -> Work:
    return Work(kind, operator, per_number * writes, size * (reads + writes), writes)


def _gemm(operator: str, rows: int, columns: int, depth: int, size: int, batch: int = 1) -> Work:
    moved = rows * depth + depth * columns + rows * columns
    return Work(
        "gemm",
        operator,
        2.0 * batch * rows * columns * depth,
        size * batch * moved,
        batch * rows * columns,
        (batch * rows, columns, depth),
    )


def linear(name: str, rows: int, inputs: int, outputs: int, size: int, *, first: bool = False) -> Layer:
    """[rows, inputs] -> [rows, outputs] with a bias. first: no gradient for its input is wanted."""
    backward = [] if first else [_gemm("aten::mm", rows, inputs, outputs, size)]
    backward += [
        _gemm("aten::mm", outputs, inputs, rows, size),
        _stream("sum", "aten::sum", rows * outputs, outputs, size, float(rows)),
    ]
    return Layer(
        name, (_gemm("aten::addmm", rows, outputs, inputs, size),), tuple(backward), inputs * outputs + outputs, 2
    )


def conv(
    name: str,
    batch: int,
    channels: int,
    side: int,
    outputs: int,
    kernel: int,
    size: int,
    *,
    stride: int = 1,
    bias: bool = False,
    first: bool = False,
) -> tuple[Layer, int]:
    """A square convolution with padding kernel // 2; also gives the side of its output."""
    out = (side + 2 * (kernel // 2) - kernel) // stride + 1
    weights = outputs * channels * kernel * kernel
    read, written = batch * channels * side * side, batch * outputs * out * out
    flops = 2.0 * written * channels * kernel * kernel
    moved = size * (read + weights + written)
    shape = (batch * out * out, outputs, channels * kernel * kernel)
    forward = [Work("conv_forward", "aten::miopen_convolution", flops, moved, written, shape)]
    if bias:
        forward.append(_stream("add_bias", "aten::add_", written + outputs, written, size))
    operator = "aten::convolution_backward"
    backward = []
    if not first:
        backward.append(
            Work("conv_data", operator, flops, moved, read, (batch * side * side, channels, outputs * kernel * kernel))
        )
    backward.append(
        Work("conv_weight", operator, flops, moved, weights, (outputs, channels * kernel * kernel, batch * out * out))
    )
    if bias:
        backward.append(_stream("sum", "aten::sum", written, outputs, size, batch * out * out))
    parameters = weights + (outputs if bias else 0)
    return Layer(name, tuple(forward), tuple(backward), parameters, 2 if bias else 1), out


def batch_norm(name: str, batch: int, channels: int, side: int, size: int) -> Layer:
    """Two passes over the numbers forward (statistics, result), two backward."""
    n = batch * channels * side * side
    return Layer(
        name,
        (_stream("batch_norm", "aten::miopen_batch_norm", 2 * n, n, size, 4.0),),
        (_stream("batch_norm_backward", "aten::miopen_batch_norm_backward", 4 * n, n, size, 8.0),),
        2 * channels,
        2,
    )


def relu(name: str, numbers: int, size: int) -> Layer:
    """max(x, 0) in place; backward reads the result and the gradient."""
    return Layer(
        name,
        (_stream("relu", "aten::clamp_min_", numbers, numbers, size),),
        (_stream("relu_backward", "aten::threshold_backward", 2 * numbers, numbers, size),),
    )


def gelu(name: str, numbers: int, size: int) -> Layer:
    """The smooth bend of transformers: about ten operations per number."""
    return Layer(
        name,
        (_stream("gelu", "aten::gelu", numbers, numbers, size, 10.0),),
        (_stream("gelu_backward", "aten::gelu_backward", 2 * numbers, numbers, size, 15.0),),
    )


def add(name: str, numbers: int, size: int) -> Layer:
    """A residual connection; backward the two gradients are added."""
    return Layer(
        name,
        (_stream("add", "aten::add", 2 * numbers, numbers, size),),
        (_stream("add", "aten::add_", 2 * numbers, numbers, size),),
    )


def max_pool(name: str, batch: int, channels: int, side: int, size: int, *, overlap: int = 2) -> tuple[Layer, int]:
    """Halves the side; overlap: width of the window. It also writes where each largest number stood (8 bytes each)."""
    n, out = batch * channels * side * side, batch * channels * (side // 2) * (side // 2)
    places = out * 8 // size
    layer = Layer(
        name,
        (_stream("max_pool", "aten::max_pool2d_with_indices", n, out + places, size, float(overlap * overlap)),),
        (_stream("max_pool_backward", "aten::max_pool2d_with_indices_backward", out + places, n, size),),
    )
    return layer, side // 2


def average_pool(name: str, batch: int, channels: int, side: int, to: int, size: int) -> Layer:
    """Means over squares, down to ``to`` x ``to``."""
    n, out = batch * channels * side * side, batch * channels * to * to
    return Layer(
        name,
        (_stream("mean", "aten::mean", n, out, size, n / out),),
        (_stream("divide", "aten::div", out, n, size),),
    )


def layer_norm(name: str, rows: int, width: int, size: int) -> Layer:
    """One pass forward, two backward (input; weight and bias)."""
    n = rows * width
    return Layer(
        name,
        (_stream("layer_norm", "aten::native_layer_norm", n, n, size, 6.0),),
        (
            _stream("layer_norm_backward", "aten::native_layer_norm_backward", 2 * n, n, size, 8.0),
            _stream("layer_norm_weights", "aten::native_layer_norm_backward", 2 * n, 2 * width, size, 3.0 * rows),
        ),
        2 * width,
        2,
    )


def attention(name: str, batch: int, heads: int, tokens: int, width: int, size: int) -> Layer:
    """Flash attention over ``heads`` heads of ``width`` numbers each."""
    product = 2.0 * batch * heads * tokens * tokens * width
    n = batch * heads * tokens * width
    shape = (batch * heads * tokens, width, tokens)
    forward = Work(
        "attention_forward", "aten::_scaled_dot_product_flash_attention", 2 * product, 4 * n * size, n, shape
    )
    operator = "aten::_scaled_dot_product_flash_attention_backward"
    keys = Work("attention_keys", operator, 3 * product, 6 * n * size, 2 * n, shape)
    queries = Work("attention_queries", operator, 2 * product, 5 * n * size, n, shape)
    return Layer(name, (forward,), (keys, queries))


def embedding(name: str, rows: int, entries: int, width: int, size: int) -> Layer:
    """A row of the table per token; backward adds into the table."""
    n = rows * width
    return Layer(
        name,
        (_stream("gather", "aten::embedding", n, n, size),),
        (_stream("embedding_backward", "aten::embedding_dense_backward", n, n, size),),
        entries * width,
        1,
    )


def cross_entropy(name: str, rows: int, classes: int, size: int) -> Layer:
    """log_softmax and nll_loss, each way."""
    n = rows * classes
    return Layer(
        name,
        (
            _stream("log_softmax", "aten::_log_softmax", n, n, size, 5.0),
            _stream("nll_loss", "aten::nll_loss_forward", rows, 1, size, float(rows)),
        ),
        (
            _stream("nll_loss_backward", "aten::nll_loss_backward", rows, n, size),
            _stream("log_softmax_backward", "aten::_log_softmax_backward_data", 2 * n, n, size, 4.0),
        ),
    )


# torch's foreach kernels: at most so many tensors, and so many blocks of so many numbers, per launch.
_FOREACH_TENSORS, _FOREACH_BLOCKS, _FOREACH_NUMBERS = 64, 320, 65_536


def sgd(parameters: int, tensors: int, size: int = 4) -> tuple[Work, ...]:
    """SGD with momentum in its foreach form: momentum, then weights; the weights are float32 numbers."""
    launches = max(
        -(-tensors // _FOREACH_TENSORS), -(-(parameters // _FOREACH_NUMBERS + tensors) // _FOREACH_BLOCKS), 1
    )
    part = max(1, parameters // launches)
    works = []
    for operator, kind in (("aten::_foreach_mul_", "foreach_scale"), ("aten::_foreach_add_", "foreach_add")):
        reads = part if kind == "foreach_scale" else 2 * part
        works += [_stream(kind, operator, reads, part, size)] * launches
    return (*works, *[_stream("foreach_add", "aten::_foreach_add_", 2 * part, part, size)] * launches)
