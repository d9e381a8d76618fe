"""Shared libraries, and kernels that are compiled while the program runs."""

from __future__ import annotations

import re

from labkit.machine.evidence import Evidence
from labkit.machine.rules import NOT_SEEN, Match, rule, seen, setting
from labkit.machine.rules.install import WORKS, commands

# ROCm's libraries, as far as torch loads them
_LIBRARY = r"lib(?:amdhip64|hsa-runtime64|hsakmt|roc\w+|hip\w+|MIOpen|rccl|amd_comgr|hiprtc|rocm_\w+|rocprofiler\S*?|roctx64|roctracer64|rocm_sysdeps_\w+)(?:\.so)?[\w.]*"


def _import_text(e: Evidence) -> str:
    return e.said + "\n" + ((e.torch.error or "") if e.torch else "")


@rule("libstdcxx-too-old", explains=("torch-missing", "hip-library-mismatch", "ld-library-path-mix", *NOT_SEEN))
def libstdcxx_too_old(e: Evidence) -> Match | None:
    line = e.quote(r"(?:GLIBCXX|CXXABI)_[\d.]+['\"`’]? not found", "") or _in_error(
        e, r"(?:GLIBCXX|CXXABI)_[\d.]+.*not found"
    )
    if not line:
        return None
    return Match(
        (line,),
        ("The environment's libstdc++ is older than ROCm needs: conda install -c conda-forge libstdcxx-ng",
         "Or let the system's newer one be found first: export LD_PRELOAD=$(gcc -print-file-name=libstdc++.so.6) in that shell only."),
        ('python -c "import torch"',),
    )  # fmt: skip


def _in_error(e: Evidence, pattern: str) -> str | None:
    error = e.torch.error if e.torch else None
    if not error:
        return None
    found = re.search(rf"^.*(?:{pattern}).*$", error, re.I | re.M)
    return found.group()[:300] if found else None


@rule(
    "ld-library-path-mix",
    explains=("torch-missing", "rocblas-arch-missing", "hip-library-mismatch", "arch-not-in-wheel", *NOT_SEEN),
)
def ld_library_path_mix(e: Evidence) -> Match | None:
    path = (e.env or {}).get("LD_LIBRARY_PATH", "") or (
        found.group(1) if (found := e.match(r"LD_LIBRARY_PATH=(\S+)")) else ""
    )
    rocm_part = next(
        (part for part in path.split(":") if re.search(r"/rocm(?:[-/]|$)", part) and "site-packages" not in part), None
    )
    facts = e.torch_facts
    wheel = facts is not None and "+rocm" in (facts.version or "")
    if not rocm_part or not wheel:
        return None
    trouble = e.quote(
        rf"{_LIBRARY}.*(?:not found|undefined symbol|cannot open)|Could not load .*TensileLibrary|rocBLAS error|Could not initialize Tensile|Cannot read .*/rocm\S*/lib|undefined symbol|symbol lookup error|version .* not found",
        "",
    )
    trouble = trouble or _in_error(e, rf"{_LIBRARY}|undefined symbol")
    if not trouble:
        return None
    return Match(
        seen(f"LD_LIBRARY_PATH={path}", trouble, f"torch {facts.version} brings its own ROCm" if facts else None),
        ("unset LD_LIBRARY_PATH   # and delete it from ~/.bashrc: the wheel finds its own libraries without it",),
        ("echo $LD_LIBRARY_PATH   # empty", WORKS),
    )


@rule("rocm-library-not-found", explains=("torch-missing", "hip-library-mismatch", "wsl-bridge-missing", *NOT_SEEN))
def rocm_library_not_found(e: Evidence) -> Match | None:
    missing = re.search(rf"({_LIBRARY}): cannot open shared object file", _import_text(e))
    if not missing:
        return None
    name = missing.group(1)
    where = e.quote(
        rf"^(?!.*(?:cannot open shared object|LD_PRELOAD)).*?\S*(?:_rocm_sdk_\w+|site-packages|rocm\S*)/\S*{re.escape(name)}",
        "",
    )
    packaged = any(package.startswith("rocm-sdk") for package in e.packages or ()) and "librocdxg" not in name
    if not where and not (packaged and not e.quote(rf"/opt/rocm\S*/{re.escape(name.split('.so')[0])}\.so\.\d", "")):
        return None
    folder = where.rsplit("/", 1)[0].split()[-1] if where else "$(rocm-sdk path --root)/lib"
    return Match(
        seen(
            e.quote(r"cannot open shared object file", "") or missing.group(),
            where,
            "rocm-sdk packages are installed in this environment" if packaged else None,
        ),
        (
            f"The library is on the disk and not on the search path: export LD_LIBRARY_PATH={folder}",
            "Or install a matching set of wheels, which finds it by itself:",
            *commands(e)[1:2],
        ),
        ('python -c "import torch"',),
        likely=not where,
    )


@rule("hip-library-mismatch", explains=("torch-missing", *NOT_SEEN))
def hip_library_mismatch(e: Evidence) -> Match | None:
    text = _import_text(e)
    missing = re.search(rf"({_LIBRARY}): cannot open shared object file", text)
    wrong = re.search(
        rf"{_LIBRARY}: (?:undefined symbol|version [`'\"]?\S+ not found)|version [`'\"]\S+['\"] not found \(required by .*(?:libtorch_hip|rocm|hip)|undefined symbol: \S*(?:hip|roc|miopen)",
        text,
        re.I,
    )
    if not missing and not wrong:
        return None
    found = missing or wrong
    assert found is not None
    at = text.rfind("\n", 0, found.start()) + 1
    line = text[at : text.find("\n", found.start()) if text.find("\n", found.start()) >= 0 else None].strip()[:300]
    name = missing.group(1) if missing else "the library that is named"
    rocm = e.quote(r"/opt/rocm\S*/\S*libamdhip64|\.info/version", "")
    return Match(
        seen(line, rocm if rocm != line else None),
        (
            f"{name} belongs to another ROCm release than the one this torch (or extension) was built for. Install a wheel whose +rocm tag fits, or that brings its own libraries:",
            *commands(e)[1:2],
            "Extensions (flash-attn, vllm, torch-geometric …): install the build for the same +rocm tag. Take LD_PRELOAD out; a symbolic link to another version only moves the error.",
        ),
        ('python -c "import torch; print(torch.version.hip)"',),
    )


@rule("import-hang", explains=("torch-missing", "rocshmem-libnuma-warning"), first=True)
def import_hang(e: Evidence) -> Match | None:
    line = e.quote(
        r"import(?:ing)? torch\b.*(?:hang|never|stuck|freez|does not return|no prompt|forever|deadlock|sits? (?:there|and)|not come back|\bblocks\b|nothing happens|(?:have|had) to kill)|"
        r"(?:hang|stuck|freez|deadlock)\w*.*\bimport(?:ing)? torch|torch.*import.*(?:hangs|never returns|deadlocks)",
        "",
    )
    if e.match(r"\bimport(?:ing)? (?:of )?torch (?:itself |alone )?(?:works|is (?:fine|ok)|succeeds|runs|passes)"):
        line = None
    stopped = e.quote(r"import torch was stopped after \d+", "")  # the snapshot's own words: it may just be slow
    if not line and not stopped:
        return None
    return Match(
        seen(line or stopped),
        (
            *(
                ()
                if line
                else (
                    "First see whether it is only slow: time python -c 'import torch'   # a cold or shared disk can take minutes",
                )
            ),
            "Install libnuma (Debian, Ubuntu: sudo apt install libnuma1 numactl; Fedora: sudo dnf install numactl-libs), or take a newer wheel.",
        ),
        ('timeout 60 python -c "import torch; print(torch.__version__)"',),
        likely=not line,
    )


@rule("miopen-headers-missing", explains=("miopen-compile-failed",))
def miopen_headers_missing(e: Evidence) -> Match | None:
    line = e.quote(
        r"fatal error: '?(?:limits|cmath|cstdint|type_traits|algorithm|utility|cstddef|iterator|memory)(?:\.h)?'? file not found",
        "",
    )
    if not line:
        return None
    installed = [int(n) for n in re.findall(r"(?:^|\s)(\d{1,2})(?=\s|$)", _listing(e, "/usr/lib/gcc"))]
    headers = [int(n) for n in re.findall(r"(?:^|\s)(\d{1,2})(?=\s|$)", _listing(e, "/usr/include/c++"))]
    newest = max(installed, default=None)
    name = f"libstdc++-{newest}-dev" if newest else "libstdc++-N-dev"
    return Match(
        seen(line, f"GCC directories: {sorted(installed)}; C++ headers: {sorted(headers)}" if installed else None),
        (
            f"The compiler takes the newest GCC directory, and that one has no C++ headers: sudo apt install {name}"
            + ("" if newest else " with N the largest number in /usr/lib/gcc/x86_64-linux-gnu"),
            "(Fedora, RHEL: sudo dnf install libstdc++-devel gcc-c++)",
        ),
        (
            "ls /usr/lib/gcc/x86_64-linux-gnu /usr/include/c++   # the same largest number in both",
            "rm -rf ~/.cache/miopen, then run the first convolution again",
        ),
    )


def _listing(e: Evidence, folder: str) -> str:
    """What a listing of a folder in the symptom shows: the lines behind 'folder…:' up to the next one with a colon."""
    found = re.search(rf"^{re.escape(folder)}[\w/.-]*:[ \t]*\n((?:(?!.*:[ \t]*$).*\n?)*)", e.told("gcc"), re.M)
    if found:
        return found.group(1)
    single = re.search(rf"ls {re.escape(folder)}\S*[ \t]*\n([^\n]*)", e.said)
    return single.group(1) if single else ""


@rule("miopen-cache-unwritable", explains=("miopen-compile-failed", "miopen-warmup"))
def miopen_cache_unwritable(e: Evidence) -> Match | None:
    line = e.quote(
        r"database disk image is malformed|attempt to write a readonly database|unable to open database file|database is locked|SQLite database: |"
        r"MIOpen.*(?:Unable to create a directory|Permission denied|Read-only file system|cannot create)|(?:Unable to create a directory|Permission denied).*miopen", "")  # fmt: skip
    if not line:
        return None
    if e.is_windows:
        return Match(
            (line,),
            (
                "Give MIOpen folders of your own on a local disk:",
                setting(e, "MIOPEN_USER_DB_PATH", "C:\\miopen\\db"),
                setting(e, "MIOPEN_CUSTOM_CACHE_DIR", "C:\\miopen\\cache"),
            ),
            ("Run the first convolution again: no line of MIOpen.",),
        )
    return Match(
        (line,),
        (
            "Give MIOpen directories of your own on a local disk: export MIOPEN_USER_DB_PATH=/tmp/$USER/miopen-db MIOPEN_CUSTOM_CACHE_DIR=/tmp/$USER/miopen-cache",
            "A damaged database may be deleted: rm -rf ~/.config/miopen ~/.cache/miopen",
        ),
        ("Run the first convolution again: no line of MIOpen.",),
    )


@rule("miopen-compile-failed")
def miopen_compile_failed(e: Evidence) -> Match | None:
    line = e.quote(
        r"HIPRTC_ERROR_COMPILATION|miopenStatusUnknownError|miopenStatusInternalError|MIOpen.*(?:Error \[(?:Build|Compile)|code object build failed)",
        "",
    )
    if not line:
        return None
    return Match(
        seen(line, e.quote(r"error log empty|error: ", "")),
        (
            (
                '$env:MIOPEN_FIND_MODE="FAST"   # MIOPEN_FIND_MODE=FAST takes ready kernels instead of compiling'
                if e.is_windows
                else "export MIOPEN_FIND_MODE=FAST   # takes ready kernels instead of compiling"
            ),
            "If it stays: another build of torch, and report the first error line that MIOpen prints."
            + (
                " A HIP SDK on PATH can be in the way: take its bin folder out of PATH."
                if e.is_windows and re.search(r"ROCm", (e.env or {}).get("PATH", ""))
                else ""
            ),
        ),
        (
            "python -c \"import torch; print(torch.nn.functional.conv2d(torch.ones(1,1,8,8,device='cuda'), torch.ones(1,1,3,3,device='cuda')).sum())\"",
        ),
    )


def _seconds(number: str, unit: str) -> float:
    return float(number) * (0.001 if unit == "ms" else 60 if unit.startswith("m") else 1)


_CHANGED = r"\b(?:new|unseen|every|each|different|other|another|chang\w+|switch\w*|pick\w*)\b(?: \w+){0,2}? (?:shape|size|resolution|length)s?\b"
_WAITS = r"\b(?:slow\w*|again|minutes?|hours?|long (?:long )?(?:time|while)|ages|forever|hangs?|stalls?|waits?|freezes?|compil\w+|\d+ ?s(?:ec\w*)?)\b"
_COMPUTING = (
    r"\b(?:runs?|steps?|iter\w*|batch\w*|epochs?|images?|requests?|calls?|inference|infer\w*|conv\w*|forward|pass|generat\w+|transcri\w+|prompt|"
    r"models?|kernels?|MIOpen|[dv]?ae|decod\w*|encod\w*|train\w*|predict\w*|frames?|GPU|sampl\w+|shapes?|ResNet\w*|U-?Net|comfyui|torch)\b"
)


@rule("miopen-warmup")
def miopen_warmup(e: Evidence) -> Match | None:
    series = [_seconds(number, unit) for number, unit in
              re.findall(r"^\W*(?:request|step|iter\w*|batch|epoch|run|call|image|pass)\W*\d+\b[^\n]*?(\d+(?:\.\d+)?)\s*(ms|min\w*|s(?:ec\w*)?)\b", e.said, re.M | re.I)]  # fmt: skip
    told = re.search(
        r"\bfirst\b[^\n]{0,40}?(\d+(?:\.\d+)?) ?(ms|min\w*|s(?:ec\w*)?)\b[^\n]*?\b(?:others?|later|next|second|following|rest|then|after\w*|subsequent|further|again)\b[^\n]{0,40}?(\d+(?:\.\d+)?) ?(ms|min\w*|s(?:ec\w*)?)\b",
        e.said, re.I,
    )  # fmt: skip
    if told:
        series = [_seconds(told.group(1), told.group(2)), _seconds(told.group(3), told.group(4))]
    unseen = re.search(
        r"(\d+(?:\.\d+)?) ?(ms|min\w*|s(?:ec\w*)?)\b[^\n]{0,60}\b(?:new|unseen|unknown|not (?:yet )?seen|first)\b[^\n]*?\b(?:repeat\w*|again|same|known|second)\b[^\n]{0,40}?(\d+(?:\.\d+)?) ?(ms|min\w*|s(?:ec\w*)?)\b",
        e.said, re.I,
    )  # fmt: skip
    if unseen and not told:
        series = [_seconds(unseen.group(1), unseen.group(2)), _seconds(unseen.group(3), unseen.group(4))]
    numbers = len(series) >= 2 and series[0] >= 5 * min(series[1:]) and series[0] >= 2
    if len(series) >= 2 and not numbers:
        return None  # the times are there, and the first is like the others
    words = e.quote(
        rf"\bfirst\b.*(?:minute|slow|\d+ ?s\b|takes|forever)|\b(?:minutes?|forever)\b.*\bfirst\b|{_CHANGED}.*{_WAITS}|{_WAITS}.*{_CHANGED}",
        "",
    )
    if not e.match(_COMPUTING) or e.match(r"\b(?:from (?:the |a )?(?:disk|network|drive)|download\w*|NFS)\b"):
        return None  # nothing of the GPU
    later = e.match(
        r"(?:after(?:wards| that)|then|later|second|next|following|further|repeat\w*|same shape|seen before|known)[^\n]*(?:fast|normal|fine|ms\b|\d ?s(?:ec\w*)?\b|it/s|/s(?:ec)?\b|quick|at once|immediately|instant)"
    )
    if not numbers and not (words and later):
        return None
    waits = re.search(r"\b(?:hangs?|freezes?) (?:for|about|some|\d)", e.fails or "")  # and goes on
    if (e.fails and not waits and not e.match(r"MIOpen")) or e.content:
        return None
    return Match(
        seen(
            e.quote(r"new shape|\bfirst\b", "") or words,
            f"first {series[0]:g} s, later {min(series[1:]):g} s" if numbers else None,
        ),
        (
            "The first run of each shape searches and compiles kernels. export MIOPEN_FIND_MODE=FAST"
            if not e.is_windows
            else 'The first run of each shape searches and compiles kernels. $env:MIOPEN_FIND_MODE="FAST" (MIOPEN_FIND_MODE=FAST)',
            "Keep shapes fixed (pad, drop_last=True), and warm up before you measure."
            + (
                ""
                if e.is_windows
                else " Keep ~/.cache/miopen and ~/.config/miopen between runs (in a container: a volume)."
            ),
        ),
        ("Time the second call of a shape, not the first: labkit.benchmark warms up by itself.",),
        likely=not numbers,
    )
