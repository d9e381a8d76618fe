"""A profile in the files of ROCm's profilers and of PyTorch's: one module per family of formats.

**The mark.** Every form says that it was simulated, and a reader sets ``Profile.simulated`` from it:

* CSV of any tool: a file ``SIMULATED.txt`` in the same folder, and a product name (agent_info, sysinfo) that begins with
  'simulated '. No genuine CSV has a place for it inside a kernel trace; the files' names begin with 'simulated', too.
* rocpd and RPD: a row ('simulated', '1') in ``rocpd_metadata``; rocpd's agents also have such a product name.
* rocprofv3's JSON: ``metadata.command`` begins with 'simulated', and the agents have such a product name.
* a torch trace: ``"simulated": 1`` beside ``traceEvents``, and such a name in ``deviceProperties``.
* rocprof v1's JSON: ``otherData.simulated``; its SQLite: a table ``SIMULATED``.

Files are written to a temporary name and then moved into place. The same profile gives the same files.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from labkit.errors import LabkitError
from labkit.profile.table import Profile

_W = "labkit.profile.simulate.writers"
# form -> (module, variant, what it is)
_FORMS = {
    "rocprofv3-csv": ("rocprofv3_csv", "new", "rocprofv3's CSV files (kernel, API, marker and copy traces, statistics, agents)"),
    "rocprofv3-csv-old": ("rocprofv3_csv", "old", "the same with the columns of ROCm 6.2: no streams, no registers"),
    "rocprofv3-json": ("rocprofv3_json", "", "rocprofv3's results.json"),
    "rocpd": ("rocpd", "", "rocpd, the SQLite database that rocprofv3 writes since ROCm 7.0"),
    "rocpd-csv": ("rocprofv3_csv", "guid", "CSV converted from rocpd, with a column Guid"),
    "torch-trace": ("torch_trace", "hip", "torch.profiler's Chrome trace, as on ROCm"),
    "torch-trace-gz": ("torch_trace", "hip.gz", "the same, compressed"),
    "torch-trace-cuda": ("torch_trace", "cuda", "torch.profiler's Chrome trace, as on CUDA"),
    "rocprof-v1-csv": ("rocprof_v1", "csv", "rocprof v1: results.csv with a row per dispatch, and statistics"),
    "rocprof-v1-json": ("rocprof_v1", "json", "rocprof v1: results.json"),
    "rocprof-v1-db": ("rocprof_v1", "db", "rocprof v1: results.db"),
    "rocprofv2-csv": ("rocprofv2", "", "rocprofv2's results CSV"),
    "rpd": ("rpd", "", "RPD, the SQLite database of rocmProfileData"),
    "rocprof-compute-csv": ("rocprof_compute", "", "rocprof-compute's pmc_perf.csv and sysinfo.csv"),
}  # fmt: skip
FORMS = {form: what for form, (_, _, what) in _FORMS.items()}


def write(
    profile: Profile, folder: str | Path, form: str = "rocprofv3-csv", *, name: str = "simulated"
) -> tuple[Path, ...]:
    """Writes the files of a form into a folder (made if missing) and gives their paths, the one to read first.

    name: what the files' names begin with. Raises LabkitError for an unknown form or a folder that cannot be written.
    """
    if form not in _FORMS:
        raise LabkitError(f"There is no form '{form}' to write.", f"Choose one of: {', '.join(FORMS)}.")
    module, variant, _ = _FORMS[form]
    where = Path(folder)
    try:
        where.mkdir(parents=True, exist_ok=True)
        paths: list[Path] = import_module(f"{_W}.{module}").write(profile, where, name, variant)
    except OSError as error:
        raise LabkitError(f"{where} cannot be written: {error.strerror or error}.", "Choose another place.") from error
    return tuple(paths)
