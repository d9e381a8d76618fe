"""Number formats bit by bit: what a float32 becomes in bfloat16, float16 and both kinds of FP8. No torch needed.

Sources: IEEE 754-2019 (float32, float16); the OCP 8-bit floating point specification 1.0 (e4m3fn, e5m2); for the FNUZ
kinds ("finite, no infinity, unsigned zero") https://onnx.ai/onnx/technical/float8.html. Rounding is to the nearest, a tie
to the even one: the tests compare every bit pattern of the 8- and 16-bit formats, and every tie between two neighbours,
with torch. What becomes of a number that is too large differs from torch to torch (2.14 keeps 448 in float8_e4m3fn, where
its specification also allows NaN), so ``store`` asks the torch that is installed.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from labkit.errors import LabkitError

Kind = Literal["ieee", "fn", "fnuz"]


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: one sign bit, then the exponent, then the fraction.

    ``kind``: 'ieee' has infinities and many NaNs; 'fn' has no infinity and one NaN of each sign (all ones); 'fnuz' has no
    infinity, one NaN (the pattern of minus zero) and no minus zero.
    """

    name: str
    dtype: str
    """Its name in torch."""
    exponent_bits: int
    fraction_bits: int
    bias: int
    kind: Kind = "ieee"

    @property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def _sign(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def _top(self) -> int:
        """The bits of the largest finite number."""
        if self.kind == "ieee":
            return (((1 << self.exponent_bits) - 1) << self.fraction_bits) - 1
        return self._sign - (2 if self.kind == "fn" else 1)

    @property
    def largest(self) -> float:
        """The largest finite number."""
        return self.decode(self._top)

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number with the full number of fraction bits."""
        return math.ldexp(1.0, 1 - self.bias)

    @property
    def smallest_subnormal(self) -> float:
        """The smallest positive number at all."""
        return math.ldexp(1.0, 1 - self.bias - self.fraction_bits)

    def decode(self, pattern: int) -> float:
        """The number that a bit pattern (0 to 2 ** bits - 1) stands for."""
        sign = -1.0 if pattern & self._sign else 1.0
        exponent = (pattern >> self.fraction_bits) & ((1 << self.exponent_bits) - 1)
        fraction = pattern & ((1 << self.fraction_bits) - 1)
        if self.kind == "fnuz" and pattern == self._sign:
            return math.nan
        if self.kind == "fn" and (pattern & (self._sign - 1)) == self._sign - 1:
            return math.nan
        if self.kind == "ieee" and exponent == (1 << self.exponent_bits) - 1:
            return math.nan if fraction else sign * math.inf
        if exponent == 0:
            return sign * math.ldexp(fraction, 1 - self.bias - self.fraction_bits)
        return sign * math.ldexp((1 << self.fraction_bits) + fraction, exponent - self.bias - self.fraction_bits)

    def encode(self, value: float, *, saturate: bool = False) -> int:
        """The bit pattern that stores ``value``.

        Too large a number becomes an infinity where the format has one and NaN elsewhere; ``saturate`` makes it the
        largest finite number instead.
        """
        sign = self._sign if math.copysign(1.0, value) < 0 else 0
        if math.isnan(value):
            return self._nan(0)
        if math.isinf(value):
            magnitude = self._top + 1
        else:
            exponent = self._exponent(value)
            steps = round(math.ldexp(abs(value), self.fraction_bits - exponent))  # Python rounds ties to even
            magnitude = steps + ((exponent + self.bias - 1) << self.fraction_bits)
        if magnitude > self._top:
            if saturate:
                return sign | self._top
            return sign | (self._top + 1) if self.kind == "ieee" else self._nan(sign)
        return 0 if self.kind == "fnuz" and magnitude == 0 else sign | magnitude

    def spacing(self, value: float) -> float:
        """The distance from one number of the format to the next one, in the region where ``value`` lies (NaN beyond it)."""
        if not math.isfinite(value) or abs(value) > self.largest:
            return math.nan
        return math.ldexp(1.0, self._exponent(value) - self.fraction_bits)

    def fields(self, pattern: int) -> tuple[str, str, str]:
        """The pattern as the digits of sign, exponent and fraction."""
        digits = f"{pattern:0{self.bits}b}"
        return digits[0], digits[1 : 1 + self.exponent_bits], digits[1 + self.exponent_bits :]

    def _exponent(self, value: float) -> int:
        """The power of two at or beneath |value|; among the subnormal numbers that of the smallest normal one."""
        return max(math.frexp(value)[1] - 1, 1 - self.bias) if value else 1 - self.bias

    def _nan(self, sign: int) -> int:
        if self.kind == "fnuz":
            return self._sign
        if self.kind == "fn":
            return sign | (self._sign - 1)
        return self._top + 1 + (1 << (self.fraction_bits - 1))  # the quiet one


FORMATS: tuple[Format, ...] = (
    Format("float32", "float32", 8, 23, 127),
    Format("bfloat16", "bfloat16", 8, 7, 127),
    Format("float16", "float16", 5, 10, 15),
    Format("FP8 E4M3 (OCP)", "float8_e4m3fn", 4, 3, 7, "fn"),
    Format("FP8 E5M2 (OCP)", "float8_e5m2", 5, 2, 15),
    Format("FP8 E4M3 (FNUZ)", "float8_e4m3fnuz", 4, 3, 8, "fnuz"),
    Format("FP8 E5M2 (FNUZ)", "float8_e5m2fnuz", 5, 2, 16, "fnuz"),
)


def find(name: str) -> Format:
    """The format of that name or torch dtype ('bfloat16', 'torch.float8_e4m3fn'); LabkitError for any other."""
    wanted = str(name).removeprefix("torch.").lower()
    for each in FORMATS:
        if wanted in (each.name.lower(), each.dtype):
            return each
    raise LabkitError(
        f"'{name}' is none of the number formats shown here.", f"Use {', '.join(f.dtype for f in FORMATS)}."
    )


def as_float32(value: float) -> float:
    """The float32 nearest to ``value``: what a tensor holds before it is converted."""
    if not math.isfinite(value):
        return value
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def read_number(text: str) -> float:
    """The number that a person typed: '0.1', '1e-5', '1/3', '2**-9', 'inf', 'nan', '-0'. LabkitError for anything else."""
    typed = text.strip().replace("−", "-").replace("_", "").replace("∞", "inf")
    try:
        if "**" in typed or "^" in typed:
            base, power = typed.replace("^", "**").split("**")
            return math.copysign(math.pow(abs(float(base)), float(power)), float(base))
        return float(Fraction(typed)) if "/" in typed else float(typed)
    except OverflowError:
        return -math.inf if typed.startswith("-") else math.inf
    except (ValueError, ZeroDivisionError):
        if "," in typed and "." not in typed:
            remedy = f"Write the decimal point as a point: {typed.replace(',', '.')}"
        else:
            remedy = "Type a number such as 0.1, 1e-5, 1/3, 2**-9, inf or nan."
        raise LabkitError(f"'{text}' is not a number that can be read.", remedy) from None


@dataclass(frozen=True)
class Stored:
    """What one format keeps of a number."""

    format: Format
    wanted: float
    """What was typed (a Python float)."""
    pattern: int
    value: float
    """What the pattern stands for."""
    by: str
    """Who converted: 'torch 2.14.1', or 'labkit' where torch is missing or has no such format."""

    @property
    def error(self) -> float:
        """Stored minus typed; NaN where one of them is not finite."""
        return self.value - self.wanted if math.isfinite(self.value) and math.isfinite(self.wanted) else math.nan

    @property
    def spacing(self) -> float:
        """The distance to the next number of the format, away from zero; NaN for what is not finite."""
        return self.format.spacing(self.value)

    @property
    def beyond(self) -> bool:
        """Whether the number (or infinity) is too large for the format, also after rounding."""
        if math.isnan(self.wanted):
            return False
        unsaturated = self.format.decode(self.format.encode(as_float32(self.wanted)))
        return not math.isfinite(unsaturated)

    @property
    def fate(self) -> str:
        """In words what happened to the number."""
        if math.isnan(self.wanted):
            return "NaN stays NaN" if math.isnan(self.value) else "NaN got lost"
        if self.beyond:
            return self._fate_beyond()
        if self.value == 0 and self.wanted != 0:
            return "too small: 0"
        if self.value == 0 and math.copysign(1, self.wanted) != math.copysign(1, self.value):
            return "minus zero does not exist here: 0"
        exact = "stored exactly" if self.error == 0 else f"rounded, {_share(abs(self.error / self.wanted))} off"
        if self.value and abs(self.value) < self.format.smallest_normal:
            return f"{exact}; subnormal: fewer bits of fraction count"
        return exact

    def _fate_beyond(self) -> str:
        what = "infinity" if math.isinf(self.wanted) else "too large"
        other = "infinity" if self.format.kind == "ieee" else "NaN"
        if math.isfinite(self.value):
            return f"{what}: the largest number is kept (it saturates); other conversions make it {other}"
        if math.isinf(self.value):
            return "infinity stays infinity" if what == "infinity" else "too large: infinity"
        return f"{what}, and no infinity here: NaN (a conversion that saturates keeps {self.format.largest:g})"


def store(value: float, form: Format) -> Stored:
    """Stores ``value`` as torch does: first as float32, then converted to ``form`` by the torch that is installed.

    Where torch is missing or lacks the format, the same by the format's definition, without saturation.
    """
    first = as_float32(value)
    asked = _ask_torch(first, form)
    pattern, by = asked if asked is not None else (form.encode(first), "labkit")
    return Stored(form, float(value), pattern, form.decode(pattern), by)


def _ask_torch(value: float, form: Format) -> tuple[int, str] | None:
    """The bits that torch stores on the CPU, and torch's version."""
    try:
        import torch

        whole = {8: torch.uint8, 16: torch.int16, 32: torch.int32}[form.bits]
        tensor = torch.tensor([value], dtype=torch.float32, device="cpu").to(getattr(torch, form.dtype))
        return int(tensor.view(whole).item()) & ((1 << form.bits) - 1), f"torch {torch.__version__.split('+')[0]}"
    except Exception:  # a missing or broken torch, or one without this format: then labkit's own arithmetic answers
        return None


def _share(share: float) -> str:
    return f"{100 * share:.2g} %" if share >= 1e-5 else f"{1e6 * share:.2g} millionths"
