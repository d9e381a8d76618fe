"""What happens to the pictures: their statistics, normalising them, augmenting them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call
from labkit.learn.numbers import as_numbers, close


def _pictures(count: int = 12, side: int = 32) -> Tensor:
    """Random pictures, uint8 [count, 3, side, side]; every channel and every picture has a brightness of its own."""
    draw = torch.Generator().manual_seed(1)
    noise = torch.rand(count, 3, side, side, generator=draw)
    level = torch.tensor([0.9, 0.5, 0.25]).view(1, 3, 1, 1) * torch.linspace(0.3, 1.0, count).view(-1, 1, 1, 1)
    slope = torch.linspace(0.6, 1.0, side).view(1, 1, 1, side)
    return (255 * noise * level * slope).to(torch.uint8)


def _probe_channel_stats(answer: Any) -> None:
    images = _pictures()
    try:
        result = call(answer, images.clone())
    except RuntimeError as error:
        if "dtype" in str(error) or "floating" in str(error):
            raise Wrong("integers") from error
        raise
    if isinstance(result, (str, bytes, Mapping, set, frozenset)):
        raise Wrong("not_a_pair", kind=type(result).__name__)
    try:
        mean, std = result
    except (TypeError, ValueError):
        size = f" of {len(result)}" if isinstance(result, (tuple, list)) else ""
        raise Wrong("not_a_pair", kind=type(result).__name__ + size) from None
    mean, std = as_numbers(mean, "not_numbers"), as_numbers(std, "not_numbers")
    x = images.double() / 255
    right_mean, right_std = x.mean(dim=(0, 2, 3)), x.std(dim=(0, 2, 3))
    for value in (mean, std):
        if value.numel() == 1:
            raise Wrong("one_number")
        if tuple(value.squeeze().shape) != (3,):
            raise Wrong("shape", got=list(value.shape))
    mean, std = mean.flatten(), std.flatten()
    if close(mean, right_mean * 255) and close(std, right_std * 255):
        raise Wrong("scale", got=float(mean[0]))
    if close(mean, right_mean * 255) or close(std, right_std * 255):
        which = "mean" if close(mean, right_mean * 255) else "std"
        raise Wrong("half_scaled", which=which, got=float(mean[0] if which == "mean" else std[0]))
    if close(mean, x[:3].mean(dim=(1, 2, 3))):
        raise Wrong("first_pictures")
    if close(mean, right_std) and close(std, right_mean):
        raise Wrong("swapped")
    if any(close(got, right * 255 / 256, 1e-3) for got, right in ((mean, right_mean), (std, right_std))):
        raise Wrong("by_256", got=float(mean[0]), expected=float(right_mean[0]))
    if not close(mean, right_mean, 1e-3):
        raise Wrong("mean", got=float(mean[0]), expected=float(right_mean[0]))
    if close(std, right_std**2):
        raise Wrong("variance")
    if close(std, x.std(dim=(2, 3)).mean(dim=0)) or close(std, x.mean(dim=(2, 3)).std(dim=0)):
        raise Wrong("per_picture")
    if close(std, x.std(dim=0).mean(dim=(1, 2))):
        raise Wrong("per_pixel")
    if not close(std, right_std, 1e-3):
        raise Wrong("std", got=float(std[0]), expected=float(right_std[0]))


channel_stats = Exercise(
    name="channel_stats",
    lesson="02",
    probe=_probe_channel_stats,
    hints={
        "integers": Hint(
            "uint8 has no mean: bring the pictures to floating point first.",
            "uint8 has no mean: start with `images.float() / 255`.",
        ),
        "not_a_pair": Hint(
            "give back two things, the mean and the standard deviation (this was: {kind}).",
            "end with `return mean, std`; each holds three numbers (this was: {kind}).",
        ),
        "not_numbers": Hint(
            "two things came back, but mean and std must hold numbers; one of yours holds: {kind}.",
            "no names and no text: `return mean, std`, each a tensor or a list of three numbers (not {kind}).",
        ),
        "by_256": Hint(
            "very near, but a little too small: the first mean is {expected:.4f}, you have {got:.4f}. "
            "What is the largest value of a byte?",
            "a byte goes from 0 to 255, so white is 1 only if you divide by 255, not by 256 (first mean: {expected:.4f}).",
        ),
        "one_number": Hint(
            "you have one number for the whole picture; each of the three colour channels needs its own.",
            "average over every dimension but the channel: `dim=(0, 2, 3)`.",
        ),
        "shape": Hint(
            "mean and std should hold three numbers each, one per channel; yours has the shape {got}. "
            "Which dimensions did you average over?",
            "your result has the shape {got}. Average over pictures, rows and columns together: `dim=(0, 2, 3)`.",
        ),
        "scale": Hint(
            "right, but for pixels from 0 to 255 (first mean {got:.1f}). Here a pixel counts from 0 to 1.",
            "divide by 255 before you take mean and std.",
        ),
        "half_scaled": Hint(
            "one of the two counts pixels from 0 to 1, the other does not: the first {which} is {got:.1f}.",
            "divide the pictures by 255 once, at the start, and take both from that; not only one of them ({which}: {got:.1f}).",
        ),
        "first_pictures": Hint(
            "these are the numbers of the first three *pictures*. In [N, 3, H, W] the first dimension counts pictures.",
            "`x[c]` is picture c, `x[:, c]` is channel c of all pictures.",
        ),
        "swapped": Hint(
            "the mean comes first, then the std.",
            "`return mean, std`: you have them the other way round.",
        ),
        "mean": Hint(
            "the mean is off: for the check's pictures the first channel has {expected:.3f}, you have {got:.3f}.",
            "`(images.float() / 255).mean(dim=(0, 2, 3))` has one mean per channel; the first should be {expected:.3f}.",
        ),
        "variance": Hint(
            "that is the variance. The standard deviation is its square root.",
            "use `.std(…)`, or take `.sqrt()` of your variance.",
        ),
        "per_picture": Hint(
            "the mean is right. The spread must count all pixels of all pictures together; you went picture by picture.",
            "one call over all of it: `.std(dim=(0, 2, 3))`. An average of each picture's std misses how pictures differ.",
        ),
        "per_pixel": Hint(
            "the mean is right. The spread must count all pixels together; you took it place by place and averaged.",
            "one call over all of it: `.std(dim=(0, 2, 3))`.",
        ),
        "std": Hint(
            "the mean is right; the std is off: the first channel has {expected:.3f}, you have {got:.3f}.",
            "`.std(dim=(0, 2, 3))` of the pixels between 0 and 1; the first should be {expected:.3f}.",
        ),
    },
    push=(
        "Four dimensions come in: pictures, channels, rows, columns. Only the channels should be left.",
        "Convert to float, divide by 255, then use the `dim` argument of `mean` and `std`.",
        "`dim` takes several dimensions at once, for example `dim=(0, 2, 3)`.",
    ),
    mistakes=(
        KnownMistake(
            "pixels stay between 0 and 255",
            """
def channel_stats(images):
    x = images.float()
    return x.mean(dim=(0, 2, 3)), x.std(dim=(0, 2, 3))
""",
            "scale",
        ),
        KnownMistake(
            "only the mean divided",
            """
def channel_stats(images):
    x = images.float()
    return x.mean(dim=(0, 2, 3)) / 255, x.std(dim=(0, 2, 3))
""",
            "half_scaled",
        ),
        KnownMistake(
            "pictures taken for channels",
            """
def channel_stats(images):
    x = images.float() / 255
    return [x[c].mean() for c in range(3)], [x[c].std() for c in range(3)]
""",
            "first_pictures",
        ),
        KnownMistake(
            "one mean over everything",
            """
def channel_stats(images):
    x = images.float() / 255
    return x.mean(), x.std()
""",
            "one_number",
        ),
        KnownMistake(
            "averaged over the pictures only",
            """
def channel_stats(images):
    x = images.float() / 255
    return x.mean(dim=0), x.std(dim=0)
""",
            "shape",
        ),
        KnownMistake(
            "mean of integers",
            """
def channel_stats(images):
    return images.mean(dim=(0, 2, 3)) / 255, images.std(dim=(0, 2, 3)) / 255
""",
            "integers",
        ),
        KnownMistake(
            "variance for standard deviation",
            """
def channel_stats(images):
    x = images.float() / 255
    return x.mean(dim=(0, 2, 3)), x.var(dim=(0, 2, 3))
""",
            "variance",
        ),
        KnownMistake(
            "std of each picture, then the average",
            """
def channel_stats(images):
    x = images.float() / 255
    return x.mean(dim=(0, 2, 3)), x.std(dim=(2, 3)).mean(dim=0)
""",
            "per_picture",
        ),
        KnownMistake(
            "divided by 256",
            """
def channel_stats(images):
    x = images.float() / 256
    return x.mean(dim=(0, 2, 3)), x.std(dim=(0, 2, 3))
""",
            "by_256",
        ),
        KnownMistake(
            "the mean by 255, the std by 256",
            """
def channel_stats(images):
    x = images.float()
    return x.mean(dim=(0, 2, 3)) / 255, x.std(dim=(0, 2, 3)) / 256
""",
            "by_256",
        ),
        KnownMistake(
            "a dict",
            """
def channel_stats(images):
    x = images.float() / 255
    return {"mean": x.mean(dim=(0, 2, 3)), "std": x.std(dim=(0, 2, 3))}
""",
            "not_a_pair",
        ),
        KnownMistake(
            "two lists of text",
            """
def channel_stats(images):
    x = images.float() / 255
    return [f"{v:.3f}" for v in x.mean(dim=(0, 2, 3))], [f"{v:.3f}" for v in x.std(dim=(0, 2, 3))]
""",
            "not_numbers",
        ),
        KnownMistake(
            "divided in place",
            """
def channel_stats(images):
    images /= 255
    return images.mean(dim=(0, 2, 3)), images.std(dim=(0, 2, 3))
""",
            "bytes_in_place",
        ),
    ),
    variants=(
        """
def channel_stats(images):
    columns = images.permute(1, 0, 2, 3).reshape(3, -1).double().div(255)
    mean = columns.sum(1) / columns.shape[1]
    return mean.tolist(), ((columns - mean[:, None]) ** 2).mean(1).sqrt().tolist()
""",
        """
def channel_stats(images):
    x = images / 255
    return x.mean((0, 2, 3), keepdim=True), x.std((0, 2, 3), keepdim=True)
""",
        """
def channel_stats(images):
    x = images.cpu().numpy() / 255
    return list(x.mean(axis=(0, 2, 3))), x.std(axis=(0, 2, 3))
""",
    ),
)


def _worst(difference: Tensor) -> tuple[int, ...]:
    """The place of the largest entry; nan counts as largest."""
    return tuple(int(i) for i in torch.unravel_index(difference.nan_to_num(nan=torch.inf).argmax(), difference.shape))


def _probe_normalize(answer: Any) -> None:
    mean, std = torch.tensor([0.45, 0.25, 0.12]), torch.tensor([0.2, 0.1, 0.05])
    m, s = mean.view(1, 3, 1, 1), std.view(1, 3, 1, 1)
    for images in (_pictures(5), _pictures(2, side=3)):  # where a side is 3, a wrong broadcast goes unnoticed
        try:
            got = call(answer, images, mean, std)
        except RuntimeError as error:
            if "must match the size" in str(error) or "broadcast" in str(error):
                raise Wrong("broadcast") from error
            raise
        if not isinstance(got, Tensor):
            raise Wrong("not_a_tensor", kind=type(got).__name__)
        if got.shape != images.shape:
            raise Wrong("shape", got=list(got.shape), expected=list(images.shape))
        if not got.is_floating_point():
            raise Wrong("whole_numbers", got=str(got.dtype))
        y, x = got.detach().cpu().double(), images.double() / 255
        right = (x - m) / s
        if got.dtype in (torch.float16, torch.bfloat16) and close(y, right, 2e-2, 5e-2):
            raise Wrong("dtype", got=str(got.dtype))
        if close(y, right, 1e-3, 1e-3):
            if got.dtype != torch.float32:
                raise Wrong("dtype", got=str(got.dtype))
            continue
        own = (x - x.mean((0, 2, 3), keepdim=True)) / x.std((0, 2, 3), keepdim=True)
        if close(y, (images.double() - m) / s, 1e-3, 1e-2):
            raise Wrong("scale", got=float(y.max()))
        if close(y, own, 1e-2, 1e-2):
            raise Wrong("own_statistics")
        if close(y, (x - x.mean()) / x.std(), 1e-2, 1e-2):
            raise Wrong("own_overall")
        if close(y, (x - s) / m, 1e-3, 1e-3):
            raise Wrong("swapped")
        if any(close(y, (x - a) / b, 1e-3, 1e-3) for a, b in ((mean[0], std[0]), (mean.mean(), std.mean()))):
            raise Wrong("one_for_all")
        if close(y, x / s - m, 1e-3, 1e-3) or close(y, x - m / s, 1e-3, 1e-3):
            raise Wrong("brackets")
        if close(y, (x - m) * s, 1e-3, 1e-3):
            raise Wrong("times")
        if close(y, (x - mean) / std, 1e-3, 1e-3) if images.shape[-1] == 3 else False:
            raise Wrong("broadcast")
        picture, channel, row, column = _worst((y - right).abs())
        raise Wrong(
            "values",
            got=float(y[picture, channel, row, column]),
            expected=float(right[picture, channel, row, column]),
            byte=int(images[picture, channel, row, column]),
            channel=channel,
            colour=("red", "green", "blue")[channel],
            mean=float(mean[channel]),
            std=float(std[channel]),
        )


normalize = Exercise(
    name="normalize",
    lesson="02",
    probe=_probe_normalize,
    hints={
        "broadcast": Hint(
            "three numbers meet a picture's last dimension, its columns. They belong to the channels.",
            "give mean and std the shape [1, 3, 1, 1] first: `mean.view(1, 3, 1, 1)`.",
        ),
        "in_place": Hint(
            "your code writes into what it was given (`{which}`). Whoever called it still needs that. Make a new tensor.",
            "no `-=`, `/=` or `sub_` on `{which}`: write `x = images.float() / 255` and go on with x.",
        ),
        "not_a_tensor": Hint(
            "give back a tensor (this was: {kind}).",
            "end with `return` and the new tensor, not a {kind}.",
        ),
        "shape": Hint(
            "the shape changed: {expected} came in, {got} came out.",
            "the result must have the shape {expected}; a `view` or `reshape` belongs to mean and std, not to the pictures.",
        ),
        "whole_numbers": Hint(
            "the result is {got}: whole numbers cannot hold values around zero.",
            "convert to float first and do not convert back (you have {got}).",
        ),
        "dtype": Hint(
            "the values are right, but as {got}. The network wants float32.",
            "use `.float()`, which is float32, and no `.double()` or `.half()` (you have {got}).",
        ),
        "scale": Hint(
            "mean and std are those of pixels from 0 to 1, but your pixels still reach 255 (largest result {got:.0f}).",
            "divide the pictures by 255 before you subtract the mean.",
        ),
        "own_statistics": Hint(
            "you measured mean and std anew on this batch. Use the two that were passed in.",
            "`(x - mean) / std` with the arguments: every batch, and the test set, must be treated the same.",
        ),
        "own_overall": Hint(
            "you measured one mean and one std on this batch, over all channels. Use those that were passed in, per channel.",
            "`(x - mean) / std` with the arguments in the shape [1, 3, 1, 1]; no `.mean()` and no `.std()` in here.",
        ),
        "swapped": Hint(
            "you subtract the std and divide by the mean: the two have changed places.",
            "`(x - mean) / std`, in this order; look where each name stands.",
        ),
        "one_for_all": Hint(
            "you use one mean and one std for all three channels. Each channel has its own.",
            "no `mean[0]`: the whole mean, in the shape [1, 3, 1, 1], meets all channels at once.",
        ),
        "brackets": Hint("mind the brackets: first subtract, then divide.", "`(x - mean) / std`, with the brackets."),
        "times": Hint("you multiply by the std. Divide by it.", "`(x - mean) / std`."),
        "values": Hint(
            "a pixel of channel {channel} ({colour}) with the byte {byte} should become {expected:.4g}, yours is {got:.4g}.",
            "pixels to 0…1, minus the channel's mean, divided by its std: in channel {channel} ({byte} / 255 − {mean:.2f}) / "
            "{std:.2f} = {expected:.4g}, not {got:.4g}.",
        ),
    },
    push=(
        "Pixels to the range 0 to 1, minus the channel's mean, divided by the channel's std.",
        "mean has the shape [3]; make it [1, 3, 1, 1] so that it lines up with the channels.",
    ),
    mistakes=(
        KnownMistake(
            "three numbers against the columns",
            """
def normalize(images, mean, std):
    return (images.float() / 255 - mean) / std
""",
            "broadcast",
        ),
        KnownMistake(
            "pixels not divided by 255",
            """
def normalize(images, mean, std):
    return (images.float() - mean.view(1, 3, 1, 1)) / std.view(1, 3, 1, 1)
""",
            "scale",
        ),
        KnownMistake(
            "statistics of the batch instead of those given",
            """
def normalize(images, mean, std):
    x = images.float() / 255
    return (x - x.mean(dim=(0, 2, 3), keepdim=True)) / x.std(dim=(0, 2, 3), keepdim=True)
""",
            "own_statistics",
        ),
        KnownMistake(
            "brackets forgotten",
            """
def normalize(images, mean, std):
    x = images.float() / 255
    return x - mean.view(1, 3, 1, 1) / std.view(1, 3, 1, 1)
""",
            "brackets",
        ),
        KnownMistake(
            "float64",
            """
def normalize(images, mean, std):
    return (images.double() / 255 - mean.view(1, 3, 1, 1)) / std.view(1, 3, 1, 1)
""",
            "dtype",
        ),
        KnownMistake(
            "the first channel's numbers for all",
            """
def normalize(images, mean, std):
    return (images.float() / 255 - mean[0]) / std[0]
""",
            "one_for_all",
        ),
        KnownMistake(
            "mean and std swapped",
            """
def normalize(images, mean, std):
    return (images.float() / 255 - std.view(1, 3, 1, 1)) / mean.view(1, 3, 1, 1)
""",
            "swapped",
        ),
        KnownMistake(
            "one mean of the whole batch",
            """
def normalize(images, mean, std):
    x = images.float() / 255
    return (x - x.mean()) / x.std()
""",
            "own_overall",
        ),
        KnownMistake(
            "changes mean and std in place",
            """
def normalize(images, mean, std):
    mean *= 255
    std *= 255
    return (images.float() - mean.view(1, 3, 1, 1)) / std.view(1, 3, 1, 1)
""",
            "in_place",
        ),
        KnownMistake(
            "changes the pictures in place",
            """
def normalize(images, mean, std):
    x = (images.float() / 255 - mean.view(1, 3, 1, 1)) / std.view(1, 3, 1, 1)
    images.zero_()
    return x
""",
            "in_place",
        ),
        KnownMistake(
            "divides the bytes in place",
            """
def normalize(images, mean, std):
    images /= 255
    return (images - mean.view(1, 3, 1, 1)) / std.view(1, 3, 1, 1)
""",
            "bytes_in_place",
        ),
        KnownMistake(
            "two of three channels only",
            """
def normalize(images, mean, std):
    x = images.float() / 255
    for c in range(2):
        x[:, c] = (x[:, c] - mean[c]) / std[c]
    return x
""",
            "values",
        ),
    ),
    variants=(
        """
def normalize(images, mean, std):
    scale = 1 / (255 * std)
    return images * scale[:, None, None] - (mean / std)[:, None, None]
""",
        """
def normalize(images, mean, std):
    planes = [(images[:, c].float() / 255 - mean[c]) / std[c] for c in range(3)]
    return torch.stack(planes, dim=1)
""",
    ),
)


def _marked(count: int, side: int = 32) -> Tensor:
    """Pictures, float32 [count, 3, side, side], whose pixels know their row, their column and their picture."""
    x = torch.empty(count, 3, side, side)
    x[:, 0] = torch.arange(side).view(1, side, 1) + 1
    x[:, 1] = torch.arange(side).view(1, 1, side) + 1
    x[:, 2] = torch.arange(count).view(count, 1, 1) + 1
    return x


def _read_marks(out: Tensor, source: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """How far each picture moved and whether it is mirrored: dy [N], dx [N], flipped [N]; raises Wrong where it is no crop."""
    count, _, side, _ = out.shape
    middle = side // 2
    if not torch.equal(out[:, 2, middle, middle], source[:, 2, 0, 0]):
        raise Wrong("mixed")
    rows, columns = out[:, 0, middle - 1 : middle + 1, middle], out[:, 1, middle, middle - 1 : middle + 1]
    down, right = rows[:, 1] - rows[:, 0], columns[:, 1] - columns[:, 0]
    if bool((down == -1).any()):
        raise Wrong("vertical")
    if not bool((down == 1).all()) or not bool((right.abs() == 1).all()):
        raise Wrong("not_a_crop")
    flipped = right == -1
    dy = rows[:, 1] - 1 - middle
    seen = columns[:, 1] - 1  # the source column at out's column `middle`
    dx = torch.where(flipped, seen - (side - 1 - middle), seen - middle)
    i = torch.arange(side)
    source_rows = (i + dy.view(-1, 1)).long()
    j = torch.where(flipped.view(-1, 1), side - 1 - i, i)
    source_columns = (j + dx.view(-1, 1)).long()
    inside_r, inside_c = (source_rows >= 0) & (source_rows < side), (source_columns >= 0) & (source_columns < side)
    index = torch.arange(count).view(-1, 1, 1)
    wrapped = source[index, :, (source_rows % side).unsqueeze(2), (source_columns % side).unsqueeze(1)].permute(
        0, 3, 1, 2
    )
    inside = (inside_r.unsqueeze(2) & inside_c.unsqueeze(1)).unsqueeze(1).expand_as(out)
    if not torch.equal(out[inside], wrapped[inside]):
        raise Wrong("not_a_crop")
    if bool((~inside).any()) and torch.equal(out, wrapped):
        raise Wrong("wraps")
    return dy.long(), dx.long(), flipped


def _probe_augment(answer: Any) -> None:
    x = _marked(512)
    kept = x.clone()
    out = call(answer, x, 4)
    if not isinstance(out, Tensor):
        raise Wrong("not_a_tensor", kind=type(out).__name__)
    if out.shape != x.shape:
        raise Wrong("shape", got=list(out.shape), expected=list(x.shape))
    if out.dtype != x.dtype:
        raise Wrong("dtype", got=str(out.dtype))
    same_memory = out.data_ptr() == x.data_ptr()
    out = out.detach().cpu()
    if torch.equal(out, kept):
        raise Wrong("nothing" if same_memory else "centre_crop")
    dy, dx, flipped = _read_marks(out, kept)
    other = call(answer, x, 4).detach().cpu()
    if torch.equal(other, out):
        if dy.unique().numel() > 1 or dx.unique().numel() > 1 or flipped.unique().numel() > 1:
            raise Wrong("same_every_call")
        raise Wrong("fixed_place" if bool(dy.any()) or bool(dx.any()) else "always_flip")
    if not bool(dy.any()) and not bool(dx.any()):
        raise Wrong("no_crop")
    if dy.unique().numel() == 1 or dx.unique().numel() == 1:
        raise Wrong("same_shift")
    if torch.equal(dy, dx) or torch.equal(dy, -dx):
        raise Wrong("diagonal")
    if max(int(dy.abs().max()), int(dx.abs().max())) > 4:
        raise Wrong("too_far", got=max(int(dy.abs().max()), int(dx.abs().max())))
    if dy.unique().numel() < 9 or dx.unique().numel() < 9:
        missing = sorted(set(range(-4, 5)) - set(dy.tolist())) or sorted(set(range(-4, 5)) - set(dx.tolist()))
        raise Wrong("reach", missing=", ".join(f"{m:+d}" for m in missing))
    _, _, other_flips = _read_marks(other, kept)
    both = torch.cat([flipped, other_flips])
    if not bool(both.any()):
        raise Wrong("no_flip")
    if bool(both.all()):  # or one coin for the batch that fell like this twice?
        more = [_read_marks(call(answer, x[:16], 4).detach().cpu(), kept[:16])[2] for _ in range(12)]
        raise Wrong("always_flip" if bool(torch.cat(more).all()) else "flip_together")
    if flipped.unique().numel() == 1 or other_flips.unique().numel() == 1:
        raise Wrong("flip_together")
    share = float(both.double().mean())
    if not 0.35 < share < 0.65:
        raise Wrong("share", got=share)
    narrow_dy, narrow_dx, _ = _read_marks(call(answer, x, 2).detach().cpu(), kept)
    if max(int(narrow_dy.abs().max()), int(narrow_dx.abs().max())) != 2:
        raise Wrong("pad_ignored")


augment = Exercise(
    name="augment",
    lesson="02",
    probe=_probe_augment,
    hints={
        "not_a_tensor": Hint(
            "give back a tensor (this was: {kind}).",
            "end with `return` and a tensor, for a list: `torch.stack(…)`.",
        ),
        "shape": Hint(
            "the pictures changed size: {expected} came in, {got} came out. Cut each padded picture back.",
            "padding makes 40×40; a window of 32×32 must be cut from each ({expected} in, {got} out).",
        ),
        "dtype": Hint(
            "the dtype changed to {got}; keep the one that came in.",
            "no `.long()`, `.double()` or `.byte()` on the pictures.",
        ),
        "in_place": Hint(
            "your function changed the pictures that it was given; in the next epoch they would be shifted again.",
            "work on the padded copy, or on `{which}.clone()`.",
        ),
        "slice": Hint(
            "a slice such as `i:i + 32` wants one whole number, and your i is a tensor with a number for each picture.",
            "give every picture its list of rows, `top[:, None] + torch.arange(H)` (shape [N, H]), and index with that, as in the "
            "example with `table` above. For a first version, loop: `for t in top.tolist()`.",
        ),
        "index_shapes": Hint(
            "your index tensors do not line up{where}: {error}. Which dimension of the result belongs to each?",
            "pictures [N, 1, 1], rows [N, H, 1], columns [N, 1, W]: each has a dimension of its own, the others are 1.",
        ),
        "outside": Hint(
            "an index points outside the padded picture{where}. What is the last place where a window can start?",
            "padded has H + 2 * pad rows; starts go from 0 to 2 * pad, and `torch.arange` counts H rows, not more ({error}).",
        ),
        "coin_shape": Hint(
            "shapes that do not line up{where}: {error}. Are these your N coins? Torch compares shapes from the right.",
            "coins for pictures [N, 3, H, W] have the shape [N, 1, 1, 1]: `torch.rand(N, 1, 1, 1, device=images.device) < 0.5`.",
        ),
        "one_truth": Hint(
            "`if` wants one yes or no{where}, and this tensor has one for each picture.",
            "no `if`: `torch.where(coins, images.flip(-1), images)` chooses for each picture (coins: [N, 1, 1, 1]).",
        ),
        "centre_crop": Hint(
            "what comes out equals what came in. A window cut from the middle of the padded picture is the old picture.",
            "draw where the window starts, for each picture: a whole number from 0 to 2 * pad. A start of `pad` is the middle.",
        ),
        "fixed_place": Hint(
            "every picture moved by the same amount, in every call: nothing in it is random.",
            "`torch.randint` draws where each picture's window starts; a fixed slice such as `[:, :, :32, :32]` does not.",
        ),
        "always_flip": Hint(
            "every picture is mirrored, every time. Half of the time is enough: the others should stay as they are.",
            "draw a coin for each picture, `torch.rand(N, 1, 1, 1, device=images.device) < 0.5`, and choose with `torch.where`.",
        ),
        "nothing": Hint(
            "the pictures came back unchanged. Are you giving back the input?",
            "tensor operations give a new tensor: `x = x.flip(-1)`, not `x.flip(-1)` alone. Return the new one.",
        ),
        "vertical": Hint(
            "some pictures stand on their heads: you flipped the rows. A car on its roof is rare.",
            "flip the last dimension, the columns: `images.flip(-1)`.",
        ),
        "mixed": Hint(
            "picture 5 is no longer at place 5: the labels would belong to other pictures.",
            "index the pictures with `torch.arange(N)`, not with random numbers; only rows and columns are random.",
        ),
        "not_a_crop": Hint(
            "what comes out is not a window of the padded picture (mirrored or not).",
            "all rows of one picture move by the same amount, all columns by the same, in all three channels.",
        ),
        "wraps": Hint(
            "what leaves on the left comes back on the right: that is a roll, not a crop.",
            "pad first, `F.pad(images, (pad, pad, pad, pad))`, then cut a window out of the larger picture.",
        ),
        "same_every_call": Hint(
            "two calls gave the same result. Is a seed set inside the function?",
            "set no seed inside the function, and draw the random numbers inside it, not as a default or a global.",
        ),
        "no_crop": Hint(
            "the flip is there; the crop is missing.",
            "pad by `pad` on all sides, and cut a 32×32 window at a random place.",
        ),
        "same_shift": Hint(
            "all pictures of the batch moved by the same amount. Each should have its own.",
            "draw N shifts: `torch.randint(0, 2 * pad + 1, (N,), device=images.device)`, one for rows and one for columns.",
        ),
        "diagonal": Hint(
            "rows and columns always move by the same amount: pictures only slide along the diagonal.",
            "draw two sets of numbers, one for rows and one for columns.",
        ),
        "too_far": Hint(
            "some pictures moved by {got} pixels; with pad=4 it should be 4 at most.",
            "a window starts anywhere from 0 to 2 * pad ({got} pixels is too far).",
        ),
        "reach": Hint(
            "some shifts never happen ({missing}). randint leaves out its upper end.",
            "there are 2 * pad + 1 places: `torch.randint(0, 2 * pad + 1, …)` (never seen: {missing}).",
        ),
        "no_flip": Hint(
            "the crop is there; the flip is missing.",
            "mirror each picture with probability ½: `images.flip(-1)` chosen by `torch.where`.",
        ),
        "flip_together": Hint(
            "you flip all pictures of a batch or none. Each should have its own coin.",
            "draw N coins, `torch.rand(N, 1, 1, 1, device=images.device) < 0.5`, and choose with `torch.where`.",
        ),
        "share": Hint(
            "{got:.0%} of the pictures are mirrored; it should be about half.",
            "`torch.rand(N) < 0.5` is true half of the time (you have {got:.0%}).",
        ),
        "pad_ignored": Hint(
            "with pad=2 no picture may move by more than 2, and some should. Use `pad`, not a fixed 4.",
            "replace the 4 (and 9, and 8) in your code by pad, 2 * pad + 1 and 2 * pad.",
        ),
    },
    push=(
        "Pad all pictures at once with F.pad. Then draw, for each picture, where its window starts and whether it is mirrored.",
        "The rows of picture n are `top[n] + 0, 1, … 31`: as a tensor `top[:, None] + torch.arange(32)`, shape [N, 32].",
        "One indexing does it: `padded[n, :, rows, columns]` with n [N,1,1], rows [N,32,1], columns [N,1,32] gives [N,32,32,3]; "
        "permute it back.",
    ),
    mistakes=(
        KnownMistake(
            "one shift for the whole batch",
            """
def augment(images, pad=4):
    n, _, h, w = images.shape
    top, left = (int(v) for v in torch.randint(0, 2 * pad + 1, (2,)))
    out = F.pad(images, (pad,) * 4)[:, :, top:top + h, left:left + w]
    return torch.where(torch.rand(n, 1, 1, 1) < 0.5, out.flip(-1), out)
""",
            "same_shift",
        ),
        KnownMistake(
            "upside down",
            """
def augment(images, pad=4):
    n, _, h, w = images.shape
    padded = F.pad(images, (pad,) * 4)
    tops, lefts = torch.randint(0, 2 * pad + 1, (2, n)).tolist()
    out = torch.stack([p[:, t:t + h, l:l + w] for p, t, l in zip(padded, tops, lefts)])
    return torch.where(torch.rand(n, 1, 1, 1) < 0.5, out.flip(-2), out)
""",
            "vertical",
        ),
        KnownMistake(
            "upper end of randint",
            """
def augment(images, pad=4):
    n, _, h, w = images.shape
    padded = F.pad(images, (pad,) * 4)
    tops, lefts = torch.randint(0, 2 * pad, (2, n)).tolist()
    out = torch.stack([p[:, t:t + h, l:l + w] for p, t, l in zip(padded, tops, lefts)])
    return torch.where(torch.rand(n, 1, 1, 1) < 0.5, out.flip(-1), out)
""",
            "reach",
        ),
        KnownMistake(
            "roll instead of crop",
            """
def augment(images, pad=4):
    n = len(images)
    dy, dx = torch.randint(-pad, pad + 1, (2, n)).tolist()
    out = torch.stack([p.roll((a, b), dims=(1, 2)) for p, a, b in zip(images, dy, dx)])
    return torch.where(torch.rand(n, 1, 1, 1) < 0.5, out.flip(-1), out)
""",
            "wraps",
        ),
        KnownMistake(
            "one coin for the batch",
            """
def augment(images, pad=4):
    n, _, h, w = images.shape
    padded = F.pad(images, (pad,) * 4)
    tops, lefts = torch.randint(0, 2 * pad + 1, (2, n)).tolist()
    out = torch.stack([p[:, t:t + h, l:l + w] for p, t, l in zip(padded, tops, lefts)])
    return out.flip(-1) if torch.rand(1).item() < 0.5 else out
""",
            "flip_together",
        ),
        KnownMistake(
            "only the flip",
            """
def augment(images, pad=4):
    return torch.where(torch.rand(len(images), 1, 1, 1) < 0.5, images.flip(-1), images)
""",
            "no_crop",
        ),
        KnownMistake(
            "flip not stored",
            """
def augment(images, pad=4):
    images.flip(-1)
    return images
""",
            "nothing",
        ),
        KnownMistake(
            "slices with tensors",
            """
def augment(images, pad=4):
    n, _, h, w = images.shape
    p = F.pad(images, (pad,) * 4)
    i, j = torch.randint(0, 2 * pad + 1, (2, n))
    return p[:, :, i:i + h, j:j + w]
""",
            "slice",
        ),
        KnownMistake(
            "index tensors that do not line up",
            """
def augment(images, pad=4):
    n, _, h, w = images.shape
    p = F.pad(images, (pad,) * 4)
    i, j = torch.randint(0, 2 * pad + 1, (2, n, 1))
    return p[torch.arange(n), :, i + torch.arange(h), j + torch.arange(w)]
""",
            "index_shapes",
        ),
        KnownMistake(
            "a window that starts too far right",
            """
def augment(images, pad=4):
    n, _, h, w = images.shape
    p = F.pad(images, (pad,) * 4)
    i, j = torch.randint(0, 40, (2, n, 1, 1))
    rows, columns = i + torch.arange(h).view(-1, 1), j + torch.arange(w)
    return p[torch.arange(n).view(-1, 1, 1), :, rows, columns].permute(0, 3, 1, 2)
""",
            "outside",
        ),
        KnownMistake(
            "coins of shape [N]",
            """
def augment(images, pad=4):
    return torch.where(torch.rand(len(images)) < 0.5, images.flip(-1), images)
""",
            "coin_shape",
        ),
        KnownMistake(
            "if with a tensor of coins",
            """
def augment(images, pad=4):
    if torch.rand(len(images)) < 0.5:
        images = images.flip(-1)
    return images
""",
            "one_truth",
        ),
        KnownMistake(
            "always flipped, nothing else",
            """
def augment(images, pad=4):
    return images.flip(-1)
""",
            "always_flip",
        ),
        KnownMistake(
            "always flipped, with a right crop",
            """
def augment(images, pad=4):
    n, _, h, w = images.shape
    padded = F.pad(images, (pad,) * 4)
    tops, lefts = torch.randint(0, 2 * pad + 1, (2, n)).tolist()
    return torch.stack([p[:, t:t + h, l:l + w] for p, t, l in zip(padded, tops, lefts)]).flip(-1)
""",
            "always_flip",
        ),
        KnownMistake(
            "centre crop",
            """
def augment(images, pad=4):
    _, _, h, w = images.shape
    return F.pad(images, (pad,) * 4)[:, :, pad:pad + h, pad:pad + w]
""",
            "centre_crop",
        ),
        KnownMistake(
            "always the upper left corner",
            """
def augment(images, pad=4):
    _, _, h, w = images.shape
    return F.pad(images, (pad,) * 4)[:, :, :h, :w]
""",
            "fixed_place",
        ),
        KnownMistake(
            "a seed inside",
            """
def augment(images, pad=4):
    torch.manual_seed(0)
    n, _, h, w = images.shape
    padded = F.pad(images, (pad,) * 4)
    tops, lefts = torch.randint(0, 2 * pad + 1, (2, n)).tolist()
    out = torch.stack([p[:, t:t + h, l:l + w] for p, t, l in zip(padded, tops, lefts)])
    return torch.where(torch.rand(n, 1, 1, 1) < 0.5, out.flip(-1), out)
""",
            "same_every_call",
        ),
        KnownMistake(
            "flips in place",
            """
def augment(images, pad=4):
    coins = torch.rand(len(images)) < 0.5
    images[coins] = images[coins].flip(-1)
    return images
""",
            "in_place",
        ),
    ),
    variants=(
        """
def augment(images, pad=4):
    out = []
    padded = F.pad(images, (pad, pad, pad, pad), mode="reflect")
    for picture in padded:
        top, left = torch.randint(0, 2 * pad + 1, (2,)).tolist()
        window = picture[:, top:top + images.shape[2], left:left + images.shape[3]]
        out.append(window.flip(2) if torch.rand(()) < 0.5 else window)
    return torch.stack(out)
""",
        """
def augment(images, pad=4):
    n, c, h, w = images.shape
    out = images.clone()
    coins = torch.rand(n, device=images.device) < 0.5
    out[coins] = out[coins].flip(-1)
    windows = F.pad(out, (pad,) * 4).unfold(2, h, 1).unfold(3, w, 1)
    top, left = torch.randint(0, 2 * pad + 1, (2, n), device=images.device)
    return windows[torch.arange(n, device=images.device), :, top, left]
""",
    ),
    errors={
        "can be converted to an index": "slice",
        "slice indices must be integers": "slice",
        "indexing tensors could not be broadcast": "index_shapes",
        "out of bounds for dimension": "outside",
        "at non-singleton dimension": "coin_shape",
        "Boolean value of Tensor": "one_truth",
    },
)
