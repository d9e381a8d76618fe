"""How fast bytes and numbers move: copies, memory, matrix products, and several processes that work together.

Every measure carries its spread and the machine it was taken on. Names are looked up when they are first used, so that
a question costs no import that it does not need; torch is imported inside functions only.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# name -> module that holds it
_HOME = {
    "Binding": "labkit.comm.binding",
    "bind": "labkit.comm.binding",
    "Topology": "labkit.comm.topology",
    "Interrupted": "labkit.comm.team",
    "LaunchError": "labkit.comm.torchrun",
    "RankError": "labkit.comm.rank_errors",
    "Run": "labkit.comm.torchrun",
    "Team": "labkit.comm.team",
    "all_reduce_s": "labkit.comm.scaling",
    "amdahl": "labkit.comm.scaling",
    "busbw_factor": "labkit.comm.formulas",
    "distributed_missing": "labkit.comm.available",
    "efficiency": "labkit.comm.scaling",
    "interleaved": "labkit.comm.scaling",
    "launch": "labkit.comm.torchrun",
    "measure_collectives": "labkit.comm.collectives",
    "module_from": "labkit.comm.sources",
    "prepare": "labkit.comm.processes",
    "ring_schedule": "labkit.comm.ring",
    "step_model": "labkit.comm.scaling",
    "AlphaBeta": "labkit.comm.curve",
    "Point": "labkit.comm.results",
    "Results": "labkit.comm.results",
    "Series": "labkit.comm.results",
    "fit": "labkit.comm.curve",
    "Verdict": "labkit.comm.verdicts",
    "claimed": "labkit.comm.verdicts",
    "judge": "labkit.comm.verdicts",
    "measure_copies": "labkit.comm.copies",
    "measure_gemm": "labkit.comm.gemm",
    "measure_memory": "labkit.comm.streams",
    "measure_peers": "labkit.comm.peers",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"labkit.comm has no '{name}'; it has: {', '.join(sorted(__all__))}")
