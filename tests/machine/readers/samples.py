"""Short outputs of each tool, written for these tests."""

ROCMINFO = """\
ROCk module version 6.10.5 is loaded
=====================
HSA System Attributes
=====================
Runtime Version:         1.14
==========
HSA Agents
==========
*******
Agent 1
*******
  Name:                    Some CPU 8-Core
  Uuid:                    CPU-XX
  Marketing Name:          Some CPU 8-Core
  Device Type:             CPU
  Compute Unit:            16
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: FINE GRAINED
      Size:                    1048576(0x100000) KB
*******
Agent 2
*******
  Name:                    gfx1101
  Uuid:                    GPU-XX
  Marketing Name:          AMD Radeon RX 7800 XT
  Device Type:             GPU
  Compute Unit:            60
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: COARSE GRAINED
      Size:                    16760832(0xffc000) KB
    Pool 2
      Segment:                 GROUP
      Size:                    99999999999(0x40) KB
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx1101
    ISA 2
      Name:                    amdgcn-amd-amdhsa--gfx11-generic
*** Done ***
"""

ROCM_SMI_TABLE = """\
========================= ROCm System Management Interface =========================
=================================== Concise Info ===================================
GPU  Temp (DieEdge)  AvgPwr  SCLK     MCLK     Fan    Perf  PwrCap  VRAM%  GPU%
0    35.0c           N/A     500Mhz   96Mhz    0%     auto  203.0W  11%    3%
1    41.0c           9.0W    700Mhz   96Mhz    0%     auto  203.0W  0%     0%
====================================================================================
=============================== End of ROCm SMI Log ================================
"""

COLLECT_ENV = """\
Collecting environment information...
PyTorch version: 2.14.1+rocm7.2
Is debug build: False
CUDA used to build PyTorch: N/A
ROCM used to build PyTorch: 7.2.26015-fc0010cf6a

OS: Ubuntu 24.04.3 LTS (x86_64)
Python version: 3.12.3 (main) [GCC 13.3.0] (64-bit runtime)
Is CUDA available: True
GPU models and configuration: AMD Radeon RX 7800 XT (gfx1101)
Nvidia driver version: Could not collect
"""

LSPCI = """\
00:02.0 VGA compatible controller [0300]: Intel Corporation UHD Graphics 770 [8086:a780] (rev 04)
03:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 32 [Radeon RX 7700 XT / 7800 XT] [1002:747e] (rev c8)
\tKernel driver in use: amdgpu
03:00.1 Audio device [0403]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 HDMI/DP Audio [1002:ab30]
\tKernel driver in use: snd_hda_intel
"""

AMD_SMI = """\
$ amd-smi metric
GPU: 0
    USAGE:
        GFX_ACTIVITY: 12 %
    POWER:
        SOCKET_POWER: 40 W
    TEMPERATURE:
        EDGE: N/A
        HOTSPOT: 50 °C
    MEM_USAGE:
        TOTAL_VRAM: 16368 MB
        USED_VRAM: 100 MB
        TOTAL_GTT: 999999 MB
GPU: 1
    LIMIT:
        SOCKET_POWER: 203 W
    PROCESS_INFO:
        NAME: python3
        VRAM_MEM: 7 GB
"""

DMESG = """\
[    2.1] kfd kfd: amdgpu: added device 1002:747e
[   44.0] amdgpu 0000:03:00.0: amdgpu: GPU reset begin!
"""

SAMPLES = {
    "rocminfo": ROCMINFO, "rocm-smi": ROCM_SMI_TABLE, "collect-env": COLLECT_ENV, "lspci": LSPCI, "amd-smi": AMD_SMI, "dmesg": DMESG,
}  # fmt: skip
