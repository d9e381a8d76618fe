"""What the amdgpu driver shows of a card in sysfs, in a folder of the tests."""

from __future__ import annotations

from pathlib import Path


def device(place: Path, **files: str) -> Path:
    """The folder of one device with these files; ``__`` in a name stands for ``/``."""
    for name, text in {"vendor": "0x1002", "mem_info_vram_total": "17163091968", **files}.items():
        target = place / name.replace("__", "/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n", encoding="ascii")
    return place
