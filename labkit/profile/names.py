"""Names of kernels as people can read them: demangled, then shortened to what tells one kernel from another."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

# Longer names are shown as they are: the runtime's demangler is recursive, and no kernel is called like that.
_LONGEST = 16_384


@lru_cache(maxsize=65_536)
def demangle(name: str) -> str:
    """A C++ name in its written form (``_Z3addPf`` is ``add(float*)``); any other name unchanged.

    Uses the C++ runtime of this machine where there is one. Without it (Windows), the qualified name alone.
    """
    bare = re.sub(r"\s*(?:\[clone [^\]]*\]|\(\.kd\)|\.kd)$", "", name)
    if not re.fullmatch(r"_?_Z[\w.$@]+", bare) or len(bare) > _LONGEST:
        return name
    runtime = _runtime()
    return (runtime(bare) if runtime else None) or _qualified(bare) or name


@lru_cache(maxsize=1)
def _runtime() -> Callable[[str], str | None] | None:
    """``__cxa_demangle`` of the C++ runtime, or None."""
    libraries = ("libc++abi.dylib",) if sys.platform == "darwin" else ("libstdc++.so.6", "libc++abi.so.1")
    for library in () if sys.platform == "win32" else libraries:
        try:
            function, free = ctypes.CDLL(library).__cxa_demangle, ctypes.CDLL(None).free
        except (OSError, AttributeError):
            continue
        function.restype = ctypes.c_void_p
        function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
        free.argtypes = [ctypes.c_void_p]
        return partial(_through, function, free)
    return None


def _through(function: Any, free: Any, name: str) -> str | None:
    status = ctypes.c_int(-1)
    pointer = function(name.encode("ascii", "replace"), None, None, ctypes.byref(status))
    if not pointer:
        return None
    try:
        return ctypes.string_at(pointer).decode("utf-8", "replace") if status.value == 0 else None
    finally:
        free(pointer)


def _qualified(mangled: str) -> str | None:
    """The qualified name at the head of a mangled name, template arguments only as far as they name something.

    The grammar: Itanium C++ ABI, 5.1 (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling).
    """
    at = mangled.index("_Z") + 2
    nested = mangled[at : at + 1] == "N"
    if nested:
        at += 1
        while mangled[at : at + 1] in ("r", "V", "K"):
            at += 1
    parts: list[str] = []
    if mangled[at : at + 2] == "St":
        parts.append("std")
        at += 2
    elif mangled[at : at + 1] == "L":
        at += 1
    while (found := re.compile(r"\d+").match(mangled, at)) is not None:
        size = int(found.group())
        part = mangled[found.end() : found.end() + size]
        if len(part) < size or not part:
            break
        parts.append("(anonymous namespace)" if part.startswith("_GLOBAL__N_") else part)
        at = found.end() + size
        if not nested:
            break
    if not parts:
        return None
    inner = ""
    if mangled[at : at + 1] == "I":
        words = [w for w in _identifiers(mangled[at:]) if w not in parts]
        inner = f"<{', '.join(words[:8])}>" if words else ""
    return "::".join(parts) + inner


def _identifiers(mangled: str) -> list[str]:
    """The source names inside a piece of a mangled name, each once."""
    words: dict[str, None] = {}
    at = 0
    while (found := re.compile(r"\d+").search(mangled, at)) is not None:
        size = int(found.group()[-4:])
        word = mangled[found.end() : found.end() + size]
        if len(word) == size > 1 and re.fullmatch(r"[A-Za-z_]\w*", word):
            words[word] = None
            at = found.end() + size
        else:
            at = found.end()
    return list(words)


# ATen's kernels that say only by a template argument what they compute
_GENERIC = re.compile(
    r"(?:elementwise_kernel|elementwise_kernel_manual_unroll|vectorized_elementwise_kernel|unrolled_elementwise_kernel"
    r"|vectorized_templated_elementwise_kernel|unrolled_elementwise_kernel_for_multi_outputs|index_elementwise_kernel"
    r"|reduce_kernel|multi_tensor_apply_kernel|elementwise_kernel_with_index|trampoline_kernel|kentry|kernel_launch"
    r"|block_reduce_kernel|DeviceReduceKernel|device_kernel|Kernel|Kernel2|kernel)$"
)
_WRAPPERS = re.compile(
    r"^(?:gpu_kernel\w*|BinaryFunctor|[AB]?UnaryFunctor|func_wrapper_t|ReduceOp|TensorIteratorBase?|OpaqueType|FoldedTupleOp"
    r"|opmath_\w+|foreach_binary_op_list_op)$"
)
_TELLING = re.compile(
    r"\b(?:wrapped_(?P<prim>\w+?)_config"
    r"|(?P<word>[A-Za-z_]\w*(?:Functor\w*|_functor|Ops?|_kernel_cuda|_kernel_impl|KernelImpl|_scalar|_cuda|_kernel|Kernel"
    r"|Fwd|Bwd|_engines|xorwow|philox|gemm\w*|Gemm\w*|conv\w*|Conv\w*)))\b"
)
_NOISE = re.compile(
    r"\(anonymous namespace\)::|\b(?:at::native::|at::cuda::|at::|c10::|legacy::|modern::|binary_internal::|ROCPRIM_\w+::|detail::"
    r"|device_kernel::|host::|system::|\{unnamed\}::|THCUNN::|internal::|tensor_operation::|device::)"
)
_WIDEST = 72


@lru_cache(maxsize=65_536)
def shorten(name: str) -> str:
    """A short name that still tells one kernel from another; for a chart, not for a search.

    ``void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, …>(…)`` becomes
    ``vectorized_elementwise_kernel<CUDAFunctor_add>``, a Tensile kernel keeps its layout, types and macro-tile.
    """
    text = " ".join(name.split())
    tensile = re.search(
        r"(C[a-z]{3,}_A[a-z]{3,}_B[a-z]{3,}_(?:[A-Z0-9a-z]{1,4}_)?[A-Z0-9a-z]+).*?_(MT\d+x\d+x\d+)", text
    )
    if tensile:
        tail = " PostGSU" if "PostGSU" in text else ""
        return f"{tensile.group(1).removesuffix('_BH')} {tensile.group(2)}{tail}"
    igemm = re.match(r"(igemm_(?:fwd|bwd|wrw)_\w+?)_bx\d.*?_bt(\d+x\d+x\d+)", text)
    if igemm:
        return f"{igemm.group(1)} {igemm.group(2)}"
    text = demangle(text)
    return _clip(_cpp(text) if re.search(r"[<(]|::", text) else re.sub(r"(?:\.kd| \[clone .*)$", "", text))


def _cpp(text: str) -> str:
    """The name of a C++ function: no return type, parameters, template arguments or namespaces that say nothing."""
    text = text.replace("operator()", "call").replace("(anonymous namespace)::", "")
    text = re.sub(r"\((?:rocprim|rocrand_impl)?[\w: ]*\)(?=\d)", "", text)  # a cast in a template argument
    head, inner = _head(text)
    head = head.strip().split(" ")[-1]
    head = _NOISE.sub("", head).strip(":") or text
    last = head.split("::")[-1]
    if inner and _GENERIC.match(last):
        for found in _TELLING.finditer(inner):
            word = found.group("prim") or found.group("word")
            if not _WRAPPERS.match(word):
                return f"{head}<{word}>"
    return head


def _head(text: str) -> tuple[str, str]:
    """(what stands outside all brackets up to the parameter list, the first template argument list)."""
    outside: list[str] = []
    depth, begin, inner = 0, -1, ""
    for at, letter in enumerate(text):
        if letter == "<":
            if depth == 0 and begin < 0:
                begin = at + 1
            depth += 1
        elif letter == ">" and text[at - 1 : at] != "-":
            depth = max(depth - 1, 0)
            if depth == 0 and begin >= 0 and not inner:
                inner = text[begin:at]
        elif letter == "(" and depth == 0:
            break
        elif depth == 0:
            outside.append(letter)
    if begin >= 0 and not inner:  # the name was cut off
        inner = text[begin:]
    return "".join(outside), inner


def _clip(text: str) -> str:
    if len(text) <= _WIDEST:
        return text
    half = (_WIDEST - 1) // 2
    return f"{text[: _WIDEST - 1 - half]}…{text[-half:]}"
