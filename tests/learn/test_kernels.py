"""Broken code in real kernels: the kernel lives, a check says one line, and the progress is whole whatever happens."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

from labkit.course import kernel
from labkit.learn.records import file

pytestmark = pytest.mark.timeout(180)
posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")

RIGHT = "lambda size, kernel, stride=1, padding=0: (size + 2 * padding - kernel) // stride + 1"
START = f"import os, sys, torch, labkit\nfrom labkit import check, progress, quiz\nright = {RIGHT}"


class Manager(KernelManager):
    """Starts this interpreter's kernel; no kernel spec on this computer is read."""

    @property
    def kernel_spec(self) -> KernelSpec:
        return KernelSpec(argv=kernel.command(), display_name="x", language="python", env={}, metadata={})


@dataclass
class Said:
    """What one cell gave: its printed text, the name of its error or '', and what it displayed."""

    text: str = ""
    error: str = ""
    displayed: list[dict[str, Any]] = field(default_factory=list)


class Kernel:
    """A running kernel with a progress file of its own."""

    def __init__(self, base: Path, progress: Path) -> None:
        self.progress = progress
        variables = kernel.environment(base / "ipython")
        variables |= {"LABKIT_PROGRESS": str(progress), "LABKIT_LIVE": "0"}
        self.manager = Manager()
        self.manager.start_kernel(env=variables, cwd=str(base))
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def send(self, code: str) -> str:
        return str(self.client.execute(code))

    def wait(self, message: str, timeout: float = 60) -> Said:
        said = Said()
        limit = time.monotonic() + timeout
        while True:
            found = self.client.get_iopub_msg(timeout=max(0.1, limit - time.monotonic()))
            if found["parent_header"].get("msg_id") != message:
                continue
            kind, content = found["msg_type"], found["content"]
            if kind == "stream":
                said.text += content["text"]
            elif kind == "error":
                said.error = content["ename"]
            elif kind in ("display_data", "execute_result"):
                said.displayed.append(content["data"])
            elif kind == "status" and content["execution_state"] == "idle":
                return said

    def run(self, code: str, timeout: float = 60) -> Said:
        return self.wait(self.send(code), timeout)

    def passed(self) -> set[str]:
        content = file.load(self.progress)
        assert not content.damaged
        return {name for name, entry in content.entries.items() if entry.passed}

    def end(self) -> None:
        self.client.stop_channels()
        with contextlib.suppress(Exception):
            self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """One kernel for all that it must survive, in which one exercise is passed already."""
    base = tmp_path_factory.mktemp("kernel")
    found = Kernel(base, base / "progress.jsonl")
    try:
        found.run(START)
        assert found.run('check("output_size", right)').text == "PASS output_size\n"
        yield found
    finally:
        found.end()


def lives(kept: Kernel) -> None:
    """The kernel answers, a check works in it, and what was passed is passed."""
    assert kept.manager.is_alive()
    assert kept.run('check("output_size", right)').text.startswith("PASS output_size")
    assert "output_size" in kept.passed()


ENDLESS = """
def endless(*_):
    open("started", "w").close()
    while True:
        {body}
check("{name}", endless)
"""


@posix
@pytest.mark.parametrize("body", ["pass", "print('flood' * 1000)", "torch.zeros(3).sum().item()"])
def test_an_endless_loop_can_be_interrupted(kept: Kernel, body: str, tmp_path: Path) -> None:
    started = kept.progress.parent / "started"
    started.unlink(missing_ok=True)
    message = kept.send(ENDLESS.format(body=body, name="count_parameters"))
    limit = time.monotonic() + 60
    while not started.exists() and time.monotonic() < limit:
        time.sleep(0.01)
    time.sleep(0.1)
    kept.manager.interrupt_kernel()
    said = kept.wait(message)
    assert said.error == "KeyboardInterrupt" and len(said.text) < 200
    lives(kept)
    after = kept.run(
        "print(torch.get_num_threads() > 0, torch.is_grad_enabled(), sys.stdout is sys.__stdout__ or 'ipy')"
    )
    assert after.text.startswith("True True"), "printing works again"


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("sys.exit(1)", "SystemExit"),
        ("exit()", "SystemExit"),
        ("quit", "not_a_number"),
        ("quit()", "SystemExit"),
        ("raise SystemExit", "SystemExit"),
        ("deep()", "RecursionError"),
        ("[0] * 10**15", "MemoryError"),
        ("torch.zeros(10**14)", "RuntimeError"),
        ("raise Exception('x' * 10**7)", "Exception"),
        ("10**9000", "…"),
        ("Huge()", "Huge"),
        ("print('x' * 10**6) or 'y' * 10**7", "str"),
        ("raise GeneratorExit", "GeneratorExit"),
    ],
)
def test_whatever_the_code_does_a_check_is_one_line(kept: Kernel, body: str, word: str) -> None:
    definition = (
        "def deep():\n    return deep()\n"
        "class Huge:\n    def __repr__(self):\n        return 'h' * 10**8\n    __str__ = __repr__\n"
        f"def answer(*_):\n    {body if body.startswith('raise') else 'return ' + body}\n"
        'result = check("output_size", answer)'
    )
    said = kept.run(definition)
    assert said.error == "" and said.text.count("\n") == 1 and len(said.text) < 900
    assert word in said.text or kept.run("print(result.key)").text.strip() == word
    time.sleep(0.3 if "it()" in body else 0)  # an exit takes effect a moment later
    lives(kept)


def test_an_exception_in_a_callback_of_torch_is_a_sentence(kept: Kernel) -> None:
    said = kept.run(
        "def boom(*_):\n    raise ValueError('in the hook')\n"
        "handle = torch.nn.modules.module.register_module_forward_hook(boom)\n"
        "def evaluate(model, images, labels, batch=8):\n    return (model(images).argmax(1) == labels).float().mean().item()\n"
        'check("evaluate", evaluate)\nhandle.remove()'
    )
    assert said.error == "" and "in the hook" in said.text and said.text.count("\n") == 1
    lives(kept)


def test_an_exception_in_a_callback_of_the_notebook_harms_nothing(kept: Kernel) -> None:
    kept.run("def late(*_):\n    raise ValueError('late')\nget_ipython().events.register('post_run_cell', late)")
    lives(kept)
    kept.run("get_ipython().events.unregister('post_run_cell', late)")


def test_an_exception_behind_a_widget_is_a_sentence(kept: Kernel) -> None:
    code = (
        "os.environ['LABKIT_LIVE'] = '1'\nfrom labkit.learn import panel, session\n"
        "session.solution_text = lambda name: 1 / 0\n"
        'check("output_size", lambda *a: 3)\nbox = panel._shown["output_size"]\n'
        "box.children[0].children[1].click()\nprint(box.children[1].value)\nos.environ['LABKIT_LIVE'] = '0'"
    )
    said = kept.run(code)
    assert said.error == "" and "ZeroDivisionError" in said.text and said.displayed
    lives(kept)


def test_the_strip_and_a_quiz_in_a_kernel(kept: Kernel) -> None:
    said = kept.run('quiz("ask_order")\nprogress("02")')
    assert "QUIZ ask_order" in said.text
    assert set(said.displayed[0]) == {"text/plain", "text/html"} and "output_size" in said.displayed[0]["text/plain"]


def test_a_kernel_that_nobody_watches_writes_nothing(kept: Kernel, tmp_path: Path) -> None:
    code = (
        f"os.environ.pop('LABKIT_PROGRESS'); os.environ.pop('LABKIT_LIVE'); os.environ.pop('CI', None)\n"
        f"os.environ.update(XDG_DATA_HOME={str(tmp_path)!r}, LOCALAPPDATA={str(tmp_path)!r}, HOME={str(tmp_path)!r})\n"
        "labkit.learn.records.start_anew()\n"
        'check("output_size", right)\nprint(labkit.learn.records.where())\n'
        f"os.environ.update(LABKIT_PROGRESS={str(kept.progress)!r}, LABKIT_LIVE='0')"
    )
    said = kept.run(code)
    assert "path=None" in said.text and "nobody is watching" in said.text
    assert not list(tmp_path.rglob("*.jsonl"))


@posix
@pytest.mark.parametrize("where", ["in the middle of writing", "before the rename"])
def test_a_kernel_killed_while_it_writes_loses_nothing(tmp_path: Path, where: str) -> None:
    """Deterministic: the kernel kills itself at that very point, with half of the new file on the disk or all of it."""
    progress = tmp_path / "progress.jsonl"
    first = Kernel(tmp_path, progress)
    try:
        first.run("from labkit.learn import records\nfrom labkit.learn.records import file\nimport os, signal")
        first.run('records.note("evaluate", "02", "exercise", True); records.note("fit", "02", "exercise", True)')
        before = progress.read_bytes()
        harm = {
            "in the middle of writing": (
                "write = os.write\ndef half(stream, data):\n    write(stream, bytes(data)[: len(data) // 2])\n"
                "    os.kill(os.getpid(), signal.SIGKILL)\n"
                "class Os:\n    write = staticmethod(half)\n    def __getattr__(self, name):\n        return getattr(os, name)\n"
                "file.os = Os()"
            ),
            "before the rename": "file._patiently = lambda action: os.kill(os.getpid(), signal.SIGKILL)",
        }[where]
        first.send(f'{harm}\nrecords.note("augment", "02", "exercise", True)')
        limit = time.monotonic() + 30
        while first.manager.is_alive() and time.monotonic() < limit:
            time.sleep(0.02)
        assert not first.manager.is_alive()
        assert progress.read_bytes() == before and list(tmp_path.glob("progress.jsonl.tmp"))
    finally:
        first.end()
    second = Kernel(tmp_path, progress)
    try:
        said = second.run(
            'from labkit.learn import records\nprint(records.note("augment", "02", "exercise", True), sorted(records.entries()))'
        )
        assert said.text.strip() == "['augment', 'evaluate', 'fit']"
        assert second.passed() == {"augment", "evaluate", "fit"} and not list(tmp_path.glob("*.tmp"))
    finally:
        second.end()


@posix
def test_two_kernels_at_once_keep_each_others_progress(tmp_path: Path) -> None:
    progress = tmp_path / "progress.jsonl"
    pair = [Kernel(tmp_path, progress), Kernel(tmp_path, progress)]
    try:
        code = (
            "from labkit.learn import records\n"
            "for number in range(25):\n"
            "    records.note(f'{own}_{{number}}', '02', 'exercise', True)\n"
            "    records.note('shared', '02', 'exercise', False)"
        )
        sent = [
            (one, one.send(code.replace("{own}", name).replace("{{", "{").replace("}}", "}")))
            for one, name in zip(pair, "ab", strict=True)
        ]
        assert [one.wait(message).error for one, message in sent] == ["", ""]
        content = file.load(progress)
        assert len(content.entries) == 51 and content.entries["shared"].tries == 50 and not content.damaged
    finally:
        for one in pair:
            one.end()
