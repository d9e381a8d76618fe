"""What rocm-smi and amd-smi say of each GPU; the record that both readers fill in."""

from __future__ import annotations

from typing import Any

FIELDS = ("name", "gfx", "vram_total_bytes", "vram_used_bytes", "use_percent", "temperature_c", "power_w")


class Gpus:
    """GPUs by the tool's own number. The first value that a text gives for a field stays."""

    def __init__(self) -> None:
        self._found: dict[int, dict[str, Any]] = {}

    def mention(self, index: int) -> dict[str, Any]:
        """The record of one GPU, made when the text first numbers it."""
        return self._found.setdefault(index, {})

    def set(self, index: int, field: str, content: Any) -> None:
        record = self.mention(index)
        if content is not None and record.get(field) is None:
            record[field] = content

    def __len__(self) -> int:
        return len(self._found)

    def as_list(self) -> list[dict[str, Any]]:
        """All GPUs, by index; an edge temperature wins over a junction one."""
        return [
            {"index": index, **{field: record.get(field) for field in FIELDS},
             "temperature_c": record.get("temperature_c", record.get("hotspot_c"))}
            for index, record in sorted(self._found.items())
        ]  # fmt: skip
