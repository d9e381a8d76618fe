"""What a GPU target can do: which format for which card."""

from __future__ import annotations

from typing import Any

from labkit.catalog import precision
from labkit.learn.exercise import Exercise, Hint, KnownMistake, Wrong
from labkit.learn.judge import call

_TARGETS = ("gfx942", "gfx1030", "gfx90a:sramecc+:xnack-", "gfx1100", "gfx906", "gfx1201", "gfx908", "gfx9999")


def _choice(gfx: str) -> tuple[str, bool]:
    """bfloat16 where the silicon has it, else float16 with a scaler, else float32."""
    support = precision.dtype_support(gfx)
    if support["bfloat16"].native:
        return "bfloat16", False
    return ("float16", True) if support["float16"].native else ("float32", False)


def _probe_choose_precision(answer: Any) -> None:
    given: dict[str, tuple[str, bool]] = {}
    for gfx in _TARGETS:
        got = call(answer, gfx)
        if not isinstance(got, (tuple, list)) or len(got) != 2:
            raise Wrong("not_a_pair", kind=type(got).__name__)
        dtype, scaler = str(got[0]).removeprefix("torch."), got[1]
        if isinstance(got[0], bool):
            raise Wrong("swapped", got=got)
        if not isinstance(scaler, (bool, int)):
            raise Wrong("not_a_pair", kind=f"({got[0]!r}, {got[1]!r})")
        if dtype not in precision.DTYPES:
            raise Wrong("unknown_name", got=dtype)
        given[gfx] = (dtype, bool(scaler))
    wrong = {gfx: (got, _choice(gfx)) for gfx, got in given.items() if got != _choice(gfx)}
    if not wrong:
        return
    if given["gfx1030"][0] == "bfloat16":
        raise Wrong("emulated")
    if given["gfx942"] == ("bfloat16", True):
        raise Wrong("scaler_for_bfloat16")
    if given["gfx1030"] == ("float16", False):
        raise Wrong("no_scaler")
    if all(got[0] == "float16" for gfx, got in given.items() if gfx != "gfx9999"):
        raise Wrong("float16_first")
    if given["gfx9999"] == ("float32", True):
        raise Wrong("scaler_for_float32")
    if set(wrong) == {"gfx9999"}:
        raise Wrong("unknown_target", got=given["gfx9999"][0])
    if set(wrong) == {"gfx908"}:
        raise Wrong("mi100", got=given["gfx908"][0])
    if "gfx90a:sramecc+:xnack-" in wrong and set(wrong) <= {"gfx90a:sramecc+:xnack-", "gfx908"}:
        raise Wrong("long_name", got=given["gfx90a:sramecc+:xnack-"][0])
    gfx, (got_pair, right) = next(iter(wrong.items()))
    raise Wrong("other", gfx=gfx, got=got_pair, right=right)


choose_precision = Exercise(
    name="choose_precision",
    lesson="03",
    probe=_probe_choose_precision,
    hints={
        "not_a_pair": Hint(
            "give back a pair: a format's name and True or False (this was: {kind}).",
            'for example `return "float16", True`; this was {kind}.',
        ),
        "swapped": Hint(
            "the format's name comes first, True or False second (this was: {got}).",
            'for example `return "float16", True`, not {got}.',
        ),
        "unknown_name": Hint(
            "'{got}' is none of the names that this lesson uses: bfloat16, float16, float32.",
            'write the name as PyTorch does: "bfloat16", "float16" or "float32", not \'{got}\'.',
        ),
        "scaler_for_float32": Hint(
            "float32 with a GradScaler: nothing underflows there that a scaler could rescue.",
            '`return "float32", False`: only float16 needs the scaler.',
        ),
        "mi100": Hint(
            "an MI100 (gfx908) has bfloat16 too, at half of float16's rate; you say {got}. The exercise wants the simple one.",
            "no case of its own for gfx908: bfloat16 is native there, so it is the answer, not {got}.",
        ),
        "no_key": Hint(
            "`dtype_support` knows no such format{where}. Which names did the table above have?",
            '`support["bfloat16"]` and `support["float16"]`: the whole names ({error}).',
        ),
        "not_a_method": Hint(
            "`.native` is True or False already; it takes no brackets{where}.",
            '`support["bfloat16"].native`, without `()`.',
        ),
        "emulated": Hint(
            "an RX 6800 (gfx1030) gets bfloat16. It computes it by way of float32: no time is saved. What does its status say?",
            '`support["bfloat16"].native`, not the truth of an entry or `is_bf16_supported()`: "emulated" is not native.',
        ),
        "scaler_for_bfloat16": Hint(
            "bfloat16 with a GradScaler: it has float32's range. What is there to rescue?",
            '`return "bfloat16", False`: only float16 needs the scaler.',
        ),
        "no_scaler": Hint(
            "float16 without a GradScaler loses the small gradients, as section 4 showed.",
            '`return "float16", True`.',
        ),
        "float16_first": Hint(
            "an MI300X has both, and you take the one that needs a scaler.",
            "ask for bfloat16 first; float16 is for targets where bfloat16 is not native.",
        ),
        "unknown_target": Hint(
            "nothing is known of gfx9999, and you say {got}.",
            'where neither status is "native": `return "float32", False`, not {got}.',
        ),
        "long_name": Hint(
            "`gfx90a:sramecc+:xnack-` is a gfx90a, as PyTorch spells it; you say {got}.",
            "`precision.dtype_support(gfx)` understands the long name itself: look nothing up in a list of your own ({got} now).",
        ),
        "other": Hint(
            "{gfx} should be {right}, not {got}.",
            "bfloat16 native, else float16 native, else float32: {gfx} is {right}, not {got}.",
        ),
    },
    errors={
        "'bf16'": "no_key",
        "'fp16'": "no_key",
        "'torch.bfloat16'": "no_key",
        "torch.bfloat16": "no_key",
        "'bool' object is not callable": "not_a_method",
    },
    push=(
        "`precision.dtype_support(gfx)` gives one entry per format; each has `.native`.",
        "Three returns: bfloat16 without, float16 with, float32 without a scaler.",
    ),
    mistakes=(
        KnownMistake(
            "whatever PyTorch accepts",
            """
def choose_precision(gfx):
    support = precision.dtype_support(gfx)
    if support["bfloat16"].status != "none":
        return "bfloat16", False
    return "float16", True
""",
            "emulated",
        ),
        KnownMistake(
            "turned round",
            """
def choose_precision(gfx):
    native = precision.dtype_support(gfx)["bfloat16"].native
    return (False, "bfloat16") if native else (True, "float16")
""",
            "swapped",
        ),
        KnownMistake(
            "short names",
            """
def choose_precision(gfx):
    return ("bf16", False) if precision.dtype_support(gfx)["bfloat16"].native else ("fp16", True)
""",
            "unknown_name",
        ),
        KnownMistake(
            "short names as keys",
            """
def choose_precision(gfx):
    return ("bfloat16", False) if precision.dtype_support(gfx)["bf16"].native else ("float16", True)
""",
            "no_key",
        ),
        KnownMistake(
            "native called",
            """
def choose_precision(gfx):
    return ("bfloat16", False) if precision.dtype_support(gfx)["bfloat16"].native() else ("float16", True)
""",
            "not_a_method",
        ),
        KnownMistake(
            "a scaler for all but bfloat16",
            """
def choose_precision(gfx):
    support = precision.dtype_support(gfx)
    dtype = next((name for name in ("bfloat16", "float16") if support[name].native), "float32")
    return dtype, dtype != "bfloat16"
""",
            "scaler_for_float32",
        ),
        KnownMistake(
            "MI100 by its higher rate",
            """
def choose_precision(gfx):
    support = precision.dtype_support(gfx)
    if support["bfloat16"].native and not gfx.startswith("gfx908"):
        return "bfloat16", False
    return ("float16", True) if support["float16"].native else ("float32", False)
""",
            "mi100",
        ),
        KnownMistake(
            "always a scaler",
            """
def choose_precision(gfx):
    support = precision.dtype_support(gfx)
    if support["bfloat16"].native:
        return "bfloat16", True
    return ("float16", True) if support["float16"].native else ("float32", False)
""",
            "scaler_for_bfloat16",
        ),
        KnownMistake(
            "never a scaler",
            """
def choose_precision(gfx):
    for dtype in ("bfloat16", "float16"):
        if precision.dtype_support(gfx)[dtype].native:
            return dtype, False
    return "float32", False
""",
            "no_scaler",
        ),
        KnownMistake(
            "float16 first",
            """
def choose_precision(gfx):
    support = precision.dtype_support(gfx)
    if support["float16"].native:
        return "float16", True
    return ("bfloat16", False) if support["bfloat16"].native else ("float32", False)
""",
            "float16_first",
        ),
        KnownMistake(
            "float16 for strangers",
            """
def choose_precision(gfx):
    return ("bfloat16", False) if precision.dtype_support(gfx)["bfloat16"].native else ("float16", True)
""",
            "unknown_target",
        ),
        KnownMistake(
            "a list by hand",
            """
def choose_precision(gfx):
    if gfx in ("gfx90a", "gfx942", "gfx950") or gfx.startswith(("gfx11", "gfx12")):
        return "bfloat16", False
    return ("float32", False) if gfx == "gfx9999" else ("float16", True)
""",
            "long_name",
        ),
    ),
    variants=(
        """
def choose_precision(gfx):
    native = precision.native_dtypes(gfx)
    dtype = next((name for name in ("bfloat16", "float16") if name in native), "float32")
    return torch.__dict__[dtype], dtype == "float16"
""",
    ),
)
