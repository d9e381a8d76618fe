"""What terminals, launchers and mail do to a text before somebody pastes it, and the reading of it."""

from __future__ import annotations

from labkit.machine.readers import recognise

read = recognise.read_text


def labelled(text: str, label: str) -> str:
    """As a launcher writes it: the same before every line."""
    return "\n".join(label + line for line in text.split("\n"))


def folded(text: str, width: int) -> str:
    """As a terminal of fixed width does it, in the middle of words."""
    return "\n".join(line[at : at + width] for line in text.split("\n") for at in range(0, max(1, len(line)), width))


def squeezed(text: str) -> str:
    """Each run of blanks is one."""
    return "\n".join(" ".join(line.split()) for line in text.split("\n"))


def wrapped(text: str, width: int) -> str:
    """As a narrow terminal does it, at blanks."""
    out = []
    for line in text.split("\n"):
        while len(line) > width:
            at = line.rfind(" ", 1, width)
            at = at if line[:at].strip() else width
            out.append(line[:at])
            line = line[at:]
        out.append(line)
    return "\n".join(out)
