"""Solutions to lesson 10 for the fixed cases (draw = 0), one per exercise, named as the exercise.

In the notebook, solution("NAME") prints one of them; for a drawn case that was checked, it prints that case's answer.
"""

from __future__ import annotations

verdict_1 = {"cause": "wrong-wheel-cpu", "fix": "rocm-wheel"}  # the course's own case (draw = 0)

verdict_2 = {"cause": "kfd-permission", "fix": "usermod"}  # the course's own case (draw = 0)

verdict_3 = {"cause": "arch-not-in-wheel", "fix": "amd-wheel"}  # the course's own case (draw = 0)

verdict_4 = {"cause": "wrong-wheel-cuda", "fix": "rocm-wheel-pinned"}  # the course's own case (draw = 0)

verdict_5 = {"cause": "kfd-missing-in-container", "fix": "start-with-devices"}  # the course's own case (draw = 0)

verdict_6 = {"cause": "nomodeset", "fix": "remove-nomodeset"}  # the course's own case (draw = 0)

verdict_7 = {"cause": "override-wrong-family", "fix": "unset"}  # the course's own case (draw = 0)

verdict_8 = {"cause": "wsl-bridge-missing", "fix": "match-bridge"}  # the course's own case (draw = 0)

verdict_9 = {"cause": "gpu-hidden-by-env", "fix": "unset"}

verdict_10 = {"cause": "wrong-device-string", "fix": "cuda-name"}

verdict_11 = {"cause": "clock-read-too-early", "fix": "synchronise"}

verdict_12 = {"cause": "float16-overflow", "fix": "wider-format"}
