"""Environment variables: what the override would change, and what PyTorch's allocator reads."""

from __future__ import annotations

from labkit.catalog import gfx
from labkit.folklore import child
from labkit.folklore.observation import Observation
from labkit.folklore.registry import probe
from labkit.machine.facts import gfx_name


def _override(product: str, version: str) -> Observation:
    """Whether a product needs an override: not where it is that chip already and a wheel carries it."""
    row = gfx.by_product(product)
    if row is None:
        return Observation("broken", f"The catalog does not know {product}.")
    major, minor, step = (int(part) for part in version.split("."))
    posed = gfx_name(major * 10000 + minor * 100 + step)
    native = f"in PyTorch's wheels since {row.pytorch_indexes[0]}" if row.pytorch_indexes else "not in PyTorch's wheels"
    if posed == row.gfx:
        return Observation(
            "fails",
            f"By the catalog {product} is {row.gfx}, {native}. {version} names {posed}: the override tells it to be what it is.",
        )
    carried = bool(row.pytorch_indexes or row.amd_extra)
    return Observation(
        "fails" if carried else "holds",
        f"By the catalog {product} is {row.gfx}, {native}. {version} names {posed}, another chip; "
        f"{'a wheel carries its own' if carried else 'no wheel carries its own'}.",
    )


@probe("1.18")
def override_for_7900xtx(product: str = "Radeon RX 7900 XTX", version: str = "11.0.0") -> Observation:
    """Compares the chip of an RX 7900 XTX with the one that the override names."""
    return _override(product, version)


@probe("2.32")
def override_for_6800(product: str = "Radeon RX 6800", version: str = "10.3.0") -> Observation:
    """Compares the chip of an RX 6800 with the one that the override names."""
    return _override(product, version)


@probe("1.44")
def override_as_solution() -> Observation:
    """Counts the targets that were ever overridden and still have no wheel with kernels of their own."""
    ever = [row for row in gfx.TARGETS.values() if row.override_to]
    still = [row.gfx for row in ever if not row.pytorch_indexes and not row.amd_extra]
    never = [row.gfx for row in gfx.TARGETS.values() if not row.override_to]
    saw = "fails" if not still else "partly" if len(still) < len(ever) else "holds"
    return Observation(
        saw,
        f"By the catalog, of {len(gfx.TARGETS)} targets {len(ever)} were ever run under an override "
        f"({', '.join(row.gfx for row in ever)}), "
        f"and for {len(never)} there never was one to name. "
        f"Of those {len(ever)}, {len(still)} have no wheel with kernels of their own today.",
    )


def _settings() -> str:
    import torch

    return str(torch._C._accelerator_getAllocatorSettings())


_NAMES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF")


@probe("1.39", needs="torch")
def allocator_names_and_order() -> Observation:
    """Sets the three names to three values, alone and together, and asks PyTorch each time which one it took."""
    import torch  # noqa: F401  (what is forked from here has it already)

    value = dict(zip(_NAMES, ("max_split_size_mb:31", "max_split_size_mb:32", "max_split_size_mb:33"), strict=True))
    name_of = {number: name for name, number in value.items()}
    alone = child.apart(_settings, environment={_NAMES[1]: value[_NAMES[1]]})
    plain = child.apart(_settings, environment={_NAMES[2]: value[_NAMES[2]]})
    with_plain = child.apart(_settings, environment={name: value[name] for name in _NAMES[1:]})
    all_three = child.apart(_settings, environment=value)
    told = (
        f"Set alone, {_NAMES[1]} gives '{alone}' and {_NAMES[2]} gives '{plain}'. With both of them {name_of.get(with_plain, with_plain)} "
        f"is taken, with all three {name_of.get(all_three, all_three)}."
    )
    read, newer = alone == value[_NAMES[1]], plain == value[_NAMES[2]]
    if not read:
        return Observation("broken" if alone.startswith("AttributeError") else "fails", told)
    ordered = with_plain == value[_NAMES[1]] and all_three == value[_NAMES[0]]
    return Observation(("deprecated" if ordered else "partly") if newer else "holds", told)


@probe("1.40", needs="torch")
def allocator_keys(value: str = "garbage_collection_threshold:0.6,max_split_size_mb:128") -> Observation:
    """Hands the value to PyTorch's own parser, and beside it two values that are out of range."""
    import torch  # noqa: F401  (what is forked from here has it already)

    said = child.apart(_accepts, value)
    wrong = [
        f"'{bad}': {child.apart(_accepts, bad)}" for bad in ("garbage_collection_threshold:7", "max_split_size_mb:1")
    ]
    saw = "holds" if said == "accepted" else "broken" if said.startswith("AttributeError") else "fails"
    return Observation(saw, f"'{value}': {said}. For comparison {'; '.join(wrong)}.")


def _accepts(value: str) -> str:
    import torch

    torch._C._accelerator_setAllocatorSettings(value)
    return "accepted"
