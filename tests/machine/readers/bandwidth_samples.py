"""Outputs of rocm-bandwidth-test and TransferBench, written for these tests; the numbers are made up."""

from __future__ import annotations

from typing import Any

N = None
UNI = [
    [N, N, 28.31, 26.875],
    [N, N, 24.861, 28.351],
    [28.527, 25.018, 925.889, 48.902],
    [11.283, 28.531, 49.92, 887.683],
]
BI = [[N, N, 51.807, 26.001], [N, N, 24.885, 51.804], [51.807, 24.885, N, 92.5], [26.001, 51.804, 92.5, N]]


def cell(value: float | None) -> str:
    return f"{'N/A' if value is None else f'{value:.3f}':<12}"


def matrix(title: str, values: list[list[float | None]]) -> str:
    text = f"          {title}\n\n          D/D       " + "".join(f"{i:<12}" for i in range(len(values))) + "\n\n"
    return (
        text + "".join(f"          {i:<10}" + "".join(map(cell, row)) + "\n\n" for i, row in enumerate(values)) + "\n"
    )


HEAD = """\
........................................
          RocmBandwidthTest Version: 2.6.0

          Launch Command is: rocm-bandwidth-test (rocm_bandwidth -a + rocm_bandwidth -A)


          Device: 0,  AMD EPYC 7003 64-Core Processor
          Device: 1,  AMD EPYC 7003 64-Core Processor
          Device: 2,  AMD Instinct MI100,  GPU-0123,  23:0.0
          Device: 3,  AMD Instinct MI100,  GPU-4567,  83:0.0

"""
ACCESS = """\
          Inter-Device Access

          D/D       0         1         2         3

          0         1         1         1         1

          1         1         1         1         1

          2         1         1         1         1

          3         1         1         1         1


          Inter-Device Numa Distance

          D/D       0         1         2         3

          0         0         32        20        52

          1         32        0         52        20

          2         20        52        0         72

          3         52        20        72        0


"""
UNI_TEXT = matrix("Unidirectional copy peak bandwidth GB/s", UNI)
BI_TEXT = matrix("Bidirectional copy peak bandwidth GB/s", BI)
RBT = HEAD + ACCESS + UNI_TEXT + BI_TEXT

SWEEP = """\
          RocmBandwidthTest Version: 2.6.0

          Launch Command is: rocm-bandwidth-test -s 0 -d 4


================    Unidirectional Benchmark Result    ================
================ Src Device Id: 0 Src Device Type: Cpu ================
================ Dst Device Id: 4 Dst Device Type: Gpu ================

Data Size      Avg Time(us)   Avg BW(GB/s)   Min Time(us)   Peak BW(GB/s)
1 KB           5.400          0.190          5.280          0.194
512 KB         23.560         22.253         23.520         22.291
64 MB          2346.730       28.597         2346.730       28.612
"""

P2P_UNI = [[42.75, 41.97, 42.33], [55.23, 1689.85, 48.46], [55.24, 48.51, 1672.91]]
P2P_BI = [[N, 96.03, 96.70], [95.97, N, 92.20], [95.53, 92.37, N]]
TB = r"""
TransferBench v1.62.00
===============================================================
[Common]                              (Suppress by setting HIDE_ENV=1)
ALWAYS_VALIDATE      =            0 : Validating after all iterations

Bytes Per Direction 67108864
Unidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)
 SRC+EXE\DST    CPU 00       GPU 00    GPU 01
  CPU 00  ->     42.75        41.97     42.33

  GPU 00  ->     55.23      1689.85     48.46
  GPU 00 min     50.00      1600.00     40.00
  GPU 00 max     60.00      1700.00     50.00
  GPU 00  sd      0.10         0.20      0.30
  GPU 01  ->     55.24        48.51   1672.91
                           CPU->CPU  CPU->GPU  GPU->CPU  GPU->GPU
Averages (During UniDir):     35.85     41.98     55.24     48.44

Bidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)
     SRC\DST    CPU 00       GPU 00    GPU 01
  CPU 00  ->       N/A        41.37     42.07
  CPU 00 <-        N/A        54.66     54.63
  CPU 00 <->       N/A        96.03     96.70


  GPU 00  ->     54.51          N/A     46.11
  GPU 00 <-      41.46          N/A     46.09
  GPU 00 <->     95.97          N/A     92.20

  GPU 01  ->     54.53        46.22       N/A
  GPU 01 <-      41.00        46.15       N/A
  GPU 01 <->     95.53        92.37       N/A
                           CPU->CPU  CPU->GPU  GPU->CPU  GPU->GPU
Averages (During  BiDir):       N/A     43.84     43.75     46.24
"""

A2A = r"""
GPU-GFX All-To-All benchmark:
Test 1:
 Executor: GPU 00 |  315.552 GB/s |    1.489 ms |    469762048 bytes | 326.317 GB/s (sum)
     Transfer 00  |   47.056 GB/s |    1.426 ms |     67108864 bytes | F0 -> G000:008 -> F1

Summary: [67108864 bytes per Transfer]
==========================================================
SRC\DST  GPU 00     GPU 01     GPU 02        STotal      Actual
GPU 00      N/A     47.056     46.826       93.882      93.652
GPU 01   47.000        N/A     46.751       93.751      93.502
GPU 02   47.098     46.785        N/A       93.883      93.570

RTotal   94.098     93.841     93.577      281.516      93.502     93.652

Average   bandwidth (GPU Timed):   46.919 GB/s
"""


def both(facts: dict[str, Any]) -> tuple[Any, Any]:
    return facts.get("unidirectional_gbps"), facts.get("bidirectional_gbps")
