"""What a data set is here: four tensors, the names of its classes, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # torch is imported where tensors are made, not to describe them
    import torch

TITLES = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "cifar10": "CIFAR-10"}


@dataclass(frozen=True)
class Provenance:
    """Where the data came from.

    source:    folder or file that was read, or the words 'embedded' or 'drawn by labkit'.
    checksum:  the published sum that the files were compared with, or the sum of an embedded file; None if there was
               nothing to compare with.
    licence:   the licence, and who says so.
    stand_in:  True if this is not the data set that was asked for but something that takes its place.
    note:      sentences for people: what was tried before, what was skipped and why. May be empty.
    """

    source: str
    checksum: str | None
    licence: str
    stand_in: bool
    note: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set in memory, on the CPU.

    name:                       'mnist', 'fashion_mnist' or 'cifar10'.
    train_images, test_images:  uint8, [N, channels, height, width].
    train_labels, test_labels:  int64, [N], each from 0 to len(classes) - 1.
    classes:                    the name of each label.
    """

    name: str
    train_images: torch.Tensor
    train_labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor
    classes: tuple[str, ...]
    provenance: Provenance
    stand_in_words: str = ""

    @property
    def label(self) -> str:
        """For plot titles: 'MNIST', or 'MNIST stand-in (8x8 digits, upsampled)'."""
        title = TITLES.get(self.name, self.name)
        return f"{title} stand-in ({self.stand_in_words})" if self.provenance.stand_in else title

    def rows(self) -> list[tuple[str, str]]:
        """The card as (heading, text) pairs."""
        channels, height, width = self.train_images.shape[1:]
        kind = f"{'grey' if channels == 1 else 'colour'}, {height}x{width}"
        rows = [("data set", self.label)]
        if self.provenance.stand_in:
            rows.append(("STAND-IN", f"This is not {TITLES.get(self.name, self.name)}. Results say nothing about it."))
        rows += [
            ("pictures", f"{len(self.train_images):,} to train, {len(self.test_images):,} to test; {kind}"),
            ("classes", f"{len(self.classes)}: {', '.join(self.classes)}"),
            ("source", self.provenance.source),
            ("checksum", self.provenance.checksum or "none published for these files; sizes and labels were checked"),
            ("licence", self.provenance.licence),
        ]
        if self.provenance.note:
            rows.append(("note", self.provenance.note))
        return rows

    def __str__(self) -> str:
        return "\n".join(f"{heading:<9} {text}" for heading, text in self.rows())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = "".join(
            f'<tr><th style="text-align:left;vertical-align:top">{escape(heading)}</th>'
            f'<td style="text-align:left">{escape(text)}</td></tr>'
            for heading, text in self.rows()
        )
        return f"<table>{cells}</table>"
