"""Does this torch compute? Run with the environment's own Python; prints a line of JSON after every stage.

    {"stage": "import"}    before torch is imported
    {"stage": "build"}     version, hip, cuda; before a device is touched
    {"stage": "device"}    device, name, gfx; before the kernels run there
    {"stage": "done"}      the kernels gave the right numbers (or "error" says what was wrong)

The last line that arrived tells where it stopped, even when the process was ended by the driver.
Argument 1: "cpu" to leave the GPU alone, else the gfx targets that torch was chosen for, separated by commas.

The numbers are small integers, so float32 (and TF32, which rounds inputs to 11 bits) must give them exactly: no
tolerance is needed, and a kernel that was never run cannot pass.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def tell(stage: str, **facts: Any) -> None:
    print(json.dumps({**facts, "stage": stage}), flush=True)


def matrix(rows: int, columns: int, salt: int) -> list[list[float]]:
    return [[float((row * 7 + column * 3 + salt) % 7 - 3) for column in range(columns)] for row in range(rows)]


def product(a: list[list[float]], b: list[list[float]]) -> list[list[float]]:
    columns = list(zip(*b))  # noqa: B905  (Python 3.9 and older have no strict=)
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]  # noqa: B905


def convolution(image: list[list[float]], kernel: list[list[float]]) -> list[list[float]]:
    """A 3x3 kernel over one channel without padding, written out."""
    size = len(image) - 2
    return [
        [sum(image[row + i][column + j] * kernel[i][j] for i in range(3) for j in range(3)) for column in range(size)]
        for row in range(size)
    ]


def choose(torch: Any, wanted: list[str]) -> tuple[str, str, str]:
    if wanted == ["cpu"]:
        return "cpu", "", ""
    if (torch.version.hip or torch.version.cuda) and torch.cuda.is_available():
        found = []
        for index in range(torch.cuda.device_count()):
            properties = torch.cuda.get_device_properties(index)
            gfx = getattr(properties, "gcnArchName", "").split(":")[0]
            found.append((f"cuda:{index}", str(properties.name), gfx))
        for device in found:
            if device[2] in wanted:
                return device
        if found:
            return found[0]
    mps = getattr(torch.backends, "mps", None)
    if mps is not None and mps.is_available():
        return "mps", "Apple GPU", ""
    return "cpu", "", ""


def main() -> None:
    wanted = [item for item in (sys.argv[1] if len(sys.argv) > 1 else "").split(",") if item]
    tell("import")
    import torch

    build = {"version": str(torch.__version__), "hip": torch.version.hip, "cuda": torch.version.cuda}
    tell("build", **build)
    device, name, gfx = choose(torch, wanted)
    tell("device", device=device, name=name, gfx=gfx, **build)

    a, b = matrix(32, 48, 1), matrix(48, 24, 2)
    image, weight = matrix(12, 12, 3), matrix(3, 3, 4)
    there = torch.matmul(torch.tensor(a).to(device), torch.tensor(b).to(device)).cpu().tolist()
    filtered = (
        torch.nn.functional.conv2d(torch.tensor([[image]]).to(device), torch.tensor([[weight]]).to(device))
        .cpu()
        .tolist()
    )
    error = ""
    if there != product(a, b):
        error = "a matrix product came out wrong"
    elif filtered != [[convolution(image, weight)]]:
        error = "a convolution came out wrong"
    tell("done", device=device, name=name, gfx=gfx, error=error, **build)


if __name__ == "__main__":
    try:
        main()
    except Exception as problem:  # everything that torch can raise becomes a sentence
        tell("failed", error=f"{type(problem).__name__}: {problem}")
        sys.exit(1)
