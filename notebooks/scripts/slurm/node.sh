#!/usr/bin/env bash
# What srun starts once per node: torchrun, which joins the others at RDZV_ENDPOINT and starts PROCESSES processes.
set -euo pipefail

read -ra container <<< "${CONTAINER:-}"   # for example: apptainer exec --rocm torch.sif
is_host=false
[ "$SLURM_NODEID" -ne 0 ] || is_host=true
own="$(scontrol show node "$SLURMD_NODENAME" --oneliner | sed -n 's/.*NodeAddr=\([^ ]*\).*/\1/p')"

# A store for each start. With the store that torchrun shares between starts, one killed process in a job of two nodes left both
# nodes waiting for each other (torch 2.14.1, seen in the test of this file; pytorch issues 135712 and 108158).
export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1

# Said, not guessed: which node is the host, and under which address the others find this one. torchrun would compare names.
exec "${container[@]}" "$PYTHON" -m torch.distributed.run \
  --nnodes="$SLURM_NNODES" --nproc-per-node="$PROCESSES" --max-restarts="$MAX_RESTARTS" \
  --rdzv-backend=c10d --rdzv-id="$RDZV_ID" --rdzv-endpoint="$RDZV_ENDPOINT" \
  --rdzv-conf="is_host=$is_host,join_timeout=600" --local-addr="${own:-$SLURMD_NODENAME}" \
  "$@"
