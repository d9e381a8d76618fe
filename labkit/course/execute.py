"""Executes lessons with papermill, in this one process, and says plainly what went wrong where something did.

papermill alone can be green for a lesson that stopped half-way, logs an unknown parameter and goes on, and has no time
limit. Everything that makes a run trustworthy is therefore checked here, after each lesson.
"""

from __future__ import annotations

import ast
import contextlib
import json
import logging
import os
import re
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TextIO

from labkit.course import files, form, report, table
from labkit.course.report import LessonError, LessonResult
from labkit.course.table import Lesson
from labkit.errors import LabkitError
from labkit.importable import ROOT

BUILD = ROOT / "build"

# Seconds for one cell and for a whole lesson. course.toml may override them with [lesson.limits].
LIMITS: Mapping[str, Mapping[str, float]] = {
    "quick": {"cell_s": 120, "lesson_s": 300},
    "full": {"cell_s": 1800, "lesson_s": 7200},
}
_KERNEL_START_S = 90
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_CARD = re.compile(r"^data set  ", re.MULTILINE)
_STAND_IN = re.compile(r"^STAND-IN ", re.MULTILINE)
_CHECK = re.compile(r"^(PASS|TODO) ", re.MULTILINE)


def run(
    lessons: Sequence[str],
    profile: str = "quick",
    parameters: Mapping[str, str] | None = None,
    output: Path | None = None,
    workers: int = 1,
) -> int:
    """Executes lessons, goes on after a failure, and leaves notebooks, report.json and a table.

    Args:
        lessons: numbers or names as a person types them; none means all.
        profile: ``quick`` or ``full``.
        parameters: name -> value as typed; each is given to those lessons that declare it.
        output: folder for the results (default: build/).
        workers: how many lessons run at the same time. More than one is sooner done, but the lessons' own measurements then disturb
            each other.

    Returns:
        0 when every lesson ran whole, else 1.

    Raises:
        LabkitError: an unknown lesson or profile, a parameter that none of the lessons declares, or a folder that cannot be written.
    """
    course = table.load()
    return run_lessons(
        table.choose(lessons, course), profile=profile, parameters=parameters, output=output, workers=workers
    )


def run_lessons(
    lessons: Sequence[Lesson],
    *,
    profile: str = "quick",
    parameters: Mapping[str, str] | None = None,
    output: Path | None = None,
    machine: bool = True,
    workers: int = 1,
    kept: bool = True,
) -> int:
    """``run`` for lessons that are already found.

    Args:
        machine: False leaves torch's facts out of the report.
        kept: whether ``output`` stays; False where the caller moves on what is in it, so that nobody is sent there.
    """
    if profile not in LIMITS:
        raise LabkitError(f"There is no profile '{profile}'.", f"choose one of: {', '.join(LIMITS)}.")
    if workers < 1:
        raise LabkitError(f"{workers} workers cannot execute anything.", "use --workers 1 or more.")
    output = BUILD if output is None else output
    typed = dict(parameters or {})
    plans = [_plan(lesson, profile, typed) for lesson in lessons]
    _refuse_unused(typed, plans)
    started = datetime.now(timezone.utc)
    _prepare(output, lessons)
    facts = report.machine_facts() if machine else {}
    begin = time.perf_counter()
    done: dict[int, LessonResult] = {}
    try:
        _run_all(plans, output, min(workers, len(plans)), done)
    finally:  # also when somebody stops it: what is done is kept, and the rest is named
        stopped = LessonError("stopped", "stopped by you before its end.")
        results = [done.get(at) or _result(plan.lesson, 0.0, stopped) for at, plan in enumerate(plans)]
        seconds = time.perf_counter() - begin
        report.write(output, results, profile, facts, started, seconds, workers)
    where = f"\n\nExecuted notebooks, report.json and report.txt are in {_shown(output)}." if kept else ""
    print(f"\n{report.as_text(results, profile, seconds)}{where}", flush=True)
    return 0 if results and all(result.passed for result in results) else 1


@dataclass(frozen=True)
class Plan:
    """One lesson with everything that its execution needs; ``error`` where it cannot even begin."""

    lesson: Lesson
    parameters: Mapping[str, Any] = field(default_factory=dict)
    cell_limit_s: float = 120
    lesson_limit_s: float = 300
    declared: Mapping[str, Any] = field(default_factory=dict)  # name -> the value in the parameters cell
    error: LessonError | None = None


def parse_value(text: str) -> Any:
    """What a typed value means: True, False, None, an int, a float, or else the text itself (as ``papermill -p`` has it)."""
    words = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def _plan(lesson: Lesson, profile: str, typed: Mapping[str, str]) -> Plan:
    import papermill

    limits = {**LIMITS[profile], **lesson.limits.get(profile, {})}
    if not lesson.path.is_file():
        problem = f"there is no notebook {lesson.path.name}. To restore it: git checkout -- notebooks"
        return Plan(lesson, error=LessonError("notebook", problem))
    try:
        with _quiet():
            declared = papermill.inspect_notebook(str(lesson.path))
    except Exception as caught:
        problem = f"{lesson.path.name} cannot be read as a notebook: {_first_line(_message(str(caught)))}"
        return Plan(lesson, error=LessonError("notebook", problem))
    values: dict[str, Any] = {"profile": profile}
    if profile == "full":
        values.update(lesson.full)
    unknown = sorted(set(values) - set(declared))
    error = None
    if unknown:
        names = ", ".join(unknown)
        error = LessonError(
            "parameter",
            f"its parameters cell does not declare {names}, which this run sets. "
            f"It declares: {', '.join(sorted(declared)) or 'nothing'}.",
        )
    for name, text in typed.items():
        if name in declared:
            value = parse_value(text)
            _refuse_wrong_kind(lesson, name, text, value, str(declared[name].get("default", "")))
            values[name] = value
    return Plan(
        lesson,
        values,
        limits["cell_s"],
        limits["lesson_s"],
        {name: _literal(str(entry.get("default", ""))) for name, entry in declared.items()},
        error,
    )


def _literal(text: str) -> Any:
    """The value that the parameters cell writes, or its text where it is more than a plain value."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _refuse_unused(typed: Mapping[str, str], plans: Sequence[Plan]) -> None:
    if "profile" in typed:
        raise LabkitError("The profile is not set with -p.", "use --profile quick or --profile full.")
    for name in typed:
        if not any(name in plan.declared for plan in plans):
            known = sorted(set().union(*(plan.declared for plan in plans)) - {"profile"})
            which = "The lesson does not declare" if len(plans) == 1 else "None of the lessons declares"
            raise LabkitError(
                f"{which} a parameter '{name}'.", f"choose from: {', '.join(known) or 'none are declared'}."
            )


def _refuse_wrong_kind(lesson: Lesson, name: str, text: str, value: Any, default: str) -> None:
    try:
        now = ast.literal_eval(default)
    except (ValueError, SyntaxError):
        return
    number = (int, float)
    if now is None or value is None or type(value) is type(now):
        return
    if (
        isinstance(value, number)
        and isinstance(now, number)
        and not isinstance(value, bool)
        and not isinstance(now, bool)
    ):
        return
    raise LabkitError(
        f"Lesson {lesson.label}: {name} is {default} by default, and '{text}' is another kind of value.",
        f"give a value like {default}.",
    )


def _prepare(output: Path, lessons: Sequence[Lesson]) -> None:
    """Makes the folder and removes what earlier runs left there, so that nothing old is taken for new: the report, the
    notebooks of these lessons, and those of the course's other lessons that were executed (no other file is touched)."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        for name in ("report.json", "report.txt", *(lesson.path.name for lesson in lessons)):
            if (output / name).resolve() in {lesson.path.resolve() for lesson in lessons}:
                raise LabkitError(
                    "The output folder is the folder of the lessons themselves.", "choose another with -o."
                )
            (output / name).unlink(missing_ok=True)
        for lesson in table.load().lessons:
            path = output / lesson.path.name
            if path.resolve() != lesson.path.resolve() and _was_executed(path):
                path.unlink(missing_ok=True)
    except OSError as error:
        raise LabkitError(
            f"The folder {output} cannot be used for the results: {error.strerror or error}.", "choose another with -o."
        ) from None


def _was_executed(path: Path) -> bool:
    """Is it a notebook that papermill wrote?"""
    try:
        return "papermill" in json.loads(path.read_text(encoding="utf-8"))["metadata"]
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _run_all(plans: Sequence[Plan], output: Path, workers: int, done: dict[int, LessonResult]) -> None:
    """Fills ``done`` (place in ``plans`` -> result). Threads are enough: each lesson computes in a kernel's process of its own."""
    if workers < 2:
        for at, plan in enumerate(plans):
            done[at] = _run_one(plan, output, Progress(plan.lesson, at + 1, len(plans)))
        return

    def work(at: int) -> None:
        progress = Progress(plans[at].lesson, at + 1, len(plans), brief=True)
        done[at] = _run_one(plans[at], output, progress)

    with _quiet():  # loggers and warnings belong to the process, so one hand silences them for all threads
        pool = ThreadPoolExecutor(workers, thread_name_prefix="labkit-lesson")
        waiting = [pool.submit(work, at) for at in range(len(plans))]
        try:
            for future in waiting:
                while not future.done():  # in short waits: Windows does not interrupt a long one
                    wait([future], timeout=0.2)
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for run in list(_running):
                run.stop()
            raise
        finally:
            pool.shutdown(wait=True)


def _run_one(plan: Plan, output: Path, progress: Progress) -> LessonResult:
    if plan.error is not None:
        progress.end(f"FAILED: {plan.error.message}")
        return _result(plan.lesson, 0.0, plan.error)
    began = datetime.now(timezone.utc)
    execution = execute(plan.lesson.path, plan.parameters, plan.cell_limit_s, plan.lesson_limit_s, progress)
    if execution.notebook is not None:
        import nbformat

        files.write_text(output / plan.lesson.path.name, nbformat.writes(execution.notebook) + "\n")
    result = replace(
        _result(plan.lesson, execution.seconds, execution.error, execution),
        parameters={**plan.declared, **plan.parameters},
        executed=began,
        notebook=None if execution.notebook is None else plan.lesson.path.name,
    )
    done = f"{result.cells} cells in {result.seconds:.1f} s"
    progress.end(done if result.passed else f"FAILED: {result.error.message if result.error else ''}")
    return result


def _result(
    lesson: Lesson, seconds: float, error: LessonError | None, execution: Execution | None = None
) -> LessonResult:
    passed, todo = execution.checks() if execution else (0, 0)
    return LessonResult(
        id=lesson.id,
        name=lesson.name,
        title=lesson.title,
        status="failed" if error else "passed",
        seconds=seconds,
        cells=execution.completed() if execution else 0,
        cells_total=len(execution.code_cells()) if execution else 0,
        peak_memory_bytes=execution.peak_memory_bytes if execution else None,
        checks_passed=passed,
        checks_todo=todo,
        error=error,
        stand_in=execution.stand_in() if execution else None,
    )


# ---------------------------------------------------------------------------------------------------- one notebook


@dataclass
class Execution:
    """What executing one notebook gave: the notebook as far as it came, and why it is not whole (``error``)."""

    notebook: Any = None
    seconds: float = 0.0
    peak_memory_bytes: int | None = None
    error: LessonError | None = None

    def code_cells(self) -> list[Any]:
        """The code cells that hold code, without the one that papermill adds for the parameters."""
        cells = self.notebook.cells if self.notebook is not None else []
        return [
            cell for cell in cells if cell.cell_type == "code" and cell.source.strip() and not form.is_injected(cell)
        ]

    def completed(self) -> int:
        """How many of them ran to their end."""
        return sum(_completed(cell) for cell in self.code_cells())

    def checks(self) -> tuple[int, int]:
        """How many exercise checks printed PASS, and how many TODO."""
        found = [
            word
            for cell in self.code_cells()
            for out in cell.get("outputs", [])
            if out.output_type == "stream"
            for word in _CHECK.findall(out.text)
        ]
        return found.count("PASS"), found.count("TODO")

    def stand_in(self) -> bool | None:
        """Was a data set that the lesson showed a stand-in? None: no card of a data set (labkit.data.Dataset) is in its outputs."""
        cards = [
            text
            for cell in self.code_cells()
            for text in map(_plain_text, cell.get("outputs", []))
            if _CARD.search(text)
        ]
        return any(map(_STAND_IN.search, cards)) if cards else None


class Progress:
    """One line on a terminal that moves; plain lines, one a cell, everywhere else."""

    def __init__(
        self, lesson: Lesson, number: int = 1, of: int = 1, stream: TextIO | None = None, brief: bool = False
    ) -> None:
        """brief: only the beginning and the end, for lessons that run side by side."""
        self._stream = sys.stdout if stream is None else stream
        self._brief = brief
        self._moving = self._stream.isatty() and not brief
        self._name = f"[{number}/{of}] {lesson.id} {lesson.title}"
        self._start = time.monotonic()
        self._cell = ""
        self._lock = threading.Lock()
        self._open = True
        if self._moving:
            self.tick()
        else:
            self._print(f"{self._name}\n")

    def cell(self, number: int, of: int, source: str) -> None:
        """A cell begins."""
        self._cell = f"cell {number}/{of}  {_first_line(source)[:60]}"
        if self._moving:
            self.tick()
        elif not self._brief:
            self._print(f"    {self._cell}\n")

    def tick(self) -> None:
        """Draws the line again, with the time so far."""
        if self._moving and self._open:
            import shutil

            line = f"{self._name}  {time.monotonic() - self._start:4.0f} s  {self._cell}"
            width = shutil.get_terminal_size().columns - 1
            self._print(f"\r\x1b[2K{line[:width]}")

    def end(self, text: str) -> None:
        """The lesson is over."""
        self._open = False
        start = "\r\x1b[2K" if self._moving else "  "
        self._print(f"{start}{self._name}: {text}\n" if self._moving or self._brief else f"{start}{text}\n")

    def _print(self, text: str) -> None:
        with self._lock, contextlib.suppress(ValueError, OSError):
            try:
                self._stream.write(text)
            except UnicodeEncodeError:  # a console of another encoding
                encoding = self._stream.encoding or "ascii"
                self._stream.write(text.encode(encoding, "replace").decode(encoding))
            self._stream.flush()


def execute(
    path: Path,
    parameters: Mapping[str, Any],
    cell_limit_s: float,
    lesson_limit_s: float,
    progress: Progress | None = None,
) -> Execution:
    """Executes one notebook beside its file and checks that it ran whole. Nothing is written.

    Args:
        path: the notebook; its folder is the kernel's working directory.
        parameters: what papermill puts after the parameters cell (nothing is added when this is empty).
        cell_limit_s, lesson_limit_s: seconds for one cell, and for everything with the start of the kernel.
    """
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    run = _Run(path, cell_limit_s, lesson_limit_s, progress)
    _running.add(run)
    execution = Execution()
    start = time.perf_counter()
    try:
        with _quiet(), tempfile.TemporaryDirectory(prefix="labkit-", ignore_cleanup_errors=True) as folder:
            run.ipython_dir = Path(folder)
            papermill.execute_notebook(
                str(path),
                None,
                parameters=dict(parameters) or None,
                engine_name=_engine(),
                labkit_run=run,
                kernel_name="python3",
                language="python",
                progress_bar=False,
                start_timeout=_KERNEL_START_S,
            )
    except PapermillExecutionError as error:
        execution.error = run.blame(
            "cell", f"{error.ename}: {_message(error.evalue)}" if error.evalue else error.ename, "failed"
        )
    except CellTimeoutError:
        limit = (
            f"the lesson's limit of {lesson_limit_s:g} s"
            if run.lesson_is_over()
            else f"the limit of {cell_limit_s:g} s for one cell"
        )
        execution.error = run.blame("timeout", f"It was stopped at {limit}.", "took too long")
    except DeadKernelError:
        reasons = (
            "The Python process that executes the lesson ended in the middle of it. When nothing in the cell ends it, the usual "
            f"reasons are a system out of memory and a crash in a driver or a library{run.memory_words()}."
        )
        execution.error = run.blame("dead kernel", reasons, "killed the kernel")
    except (RuntimeError, TimeoutError, OSError) as error:
        what = "the kernel did not start" if run.notebook is None or not run.started else "the kernel was lost"
        execution.error = LessonError("kernel", f"{what}: {_message(str(error))}", run.number())
    except ValueError as error:  # nbformat and papermill raise its kin for a notebook that they cannot read
        execution.error = LessonError("notebook", f"{path.name} cannot be executed: {_message(str(error))}")
    finally:
        _running.discard(run)
        run.end_left_over_processes()
        execution.seconds = time.perf_counter() - start
        execution.notebook, execution.peak_memory_bytes = run.notebook, run.peak_memory_bytes or None
    if execution.notebook is not None:
        # Where the files lie on this computer is nobody's business who reads the executed notebook.
        for key in ("input_path", "output_path"):
            execution.notebook.metadata.get("papermill", {}).pop(key, None)
    execution.error = execution.error or _not_whole(execution, run)
    return execution


def _not_whole(execution: Execution, run: _Run) -> LessonError | None:
    """What is wrong with a notebook that papermill calls a success."""
    if execution.notebook is None:
        return LessonError("no cell", "papermill executed nothing.")
    cells = execution.code_cells()
    if not cells:
        return LessonError("no cell", "it has no cell with code, so nothing was executed.")
    for cell in cells:
        if not _completed(cell):
            exits = any(out.output_type == "error" and out.ename == "SystemExit" for out in cell.get("outputs", []))
            why = "ended the lesson by sys.exit; the cells after it never ran" if exits else "never ran"
            return run.blame("pending", "A lesson must run to its last cell.", why, cell)
    if sum(cell.metadata.papermill.get("duration") or 0.0 for cell in cells) <= 0 or execution.seconds <= 0:
        return LessonError("no time", "its cells took no time at all, so they cannot have run.")
    return None


_running: set[_Run] = set()


class _Run:
    """What is known while a notebook is being executed; filled by the engine's callbacks."""

    def __init__(self, path: Path, cell_limit_s: float, lesson_limit_s: float, progress: Progress | None) -> None:
        self.path, self.progress, self.cell_limit_s = path, progress, cell_limit_s
        self.ipython_dir = Path()
        self.notebook: Any = None
        self.index: int | None = None
        self.started = False
        self.peak_memory_bytes = 0
        self._deadline = time.monotonic() + lesson_limit_s
        self._processes: dict[int, Any] = {}
        self._stopped = False

    def cell_starts(self, cell: Any, cell_index: int) -> None:
        self.index, self.started = cell_index, True
        if self.progress and cell.cell_type == "code" and cell.source.strip() and not form.is_injected(cell):
            total = sum(not form.is_injected(other) for other in self.notebook.cells)
            self.progress.cell(self.number() or 0, total, cell.source)

    def cell_limit(self, _cell: Any) -> float:
        """Seconds for the cell that begins now: its own limit, or what is left for the lesson."""
        return max(0.2, min(self.cell_limit_s, self._deadline - time.monotonic()))

    def lesson_is_over(self) -> bool:
        return time.monotonic() >= self._deadline

    def number(self, cell: Any = None) -> int | None:
        """The number of a cell (default: the current one) in the committed notebook, from 1."""
        if self.notebook is None:
            return None
        plain = [other for other in self.notebook.cells if not form.is_injected(other) and not form.is_banner(other)]
        if cell is None:
            cell = self._current()
        return next((number for number, other in enumerate(plain, 1) if other is cell), None)

    def _current(self) -> Any:
        if self.index is None or self.notebook is None:
            return None
        plain = [other for other in self.notebook.cells if not form.is_banner(other)]
        return plain[self.index] if self.index < len(plain) else None

    def blame(self, kind: str, message: str, what: str, cell: Any = None) -> LessonError:
        """The error for a cell (default: the current one), with its number and its first line."""
        cell = self._current() if cell is None else cell
        if cell is None:
            return LessonError(kind, message)
        if form.is_injected(cell):
            return LessonError(
                kind, f"the parameters that this run sets {what}. {message}", None, _first_line(cell.source)
            )
        number, line = self.number(cell), _first_line(cell.source)
        return LessonError(kind, f"cell {number}, which begins with '{line}', {what}. {message}", number, line)

    def stop(self) -> None:
        """Ends the lesson now, from another thread; a kernel that is only just starting is ended when it is seen."""
        self._stopped = True
        self.end_left_over_processes()

    def memory_words(self) -> str:
        return f" (it held {self.peak_memory_bytes / 2**20:.0f} MiB at its largest)" if self.peak_memory_bytes else ""

    def sample_memory(self, process_id: int) -> None:
        """Adds up the resident memory of the kernel and its descendants, and keeps the largest sum."""
        import psutil

        try:
            kernel = self._processes.setdefault(process_id, psutil.Process(process_id))
            family = [kernel, *kernel.children(recursive=True)]
        except psutil.Error:
            return
        total = 0
        for process in family:
            self._processes.setdefault(process.pid, process)
            with contextlib.suppress(psutil.Error):
                total += process.memory_info().rss
        self.peak_memory_bytes = max(self.peak_memory_bytes, total)
        if self._stopped:
            self.end_left_over_processes()

    def end_left_over_processes(self) -> None:
        """Ends what the lesson started and left running (psutil knows a process from another with the same number)."""
        import psutil

        killed = []
        for process in self._processes.values():
            with contextlib.suppress(psutil.Error):
                if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                    process.kill()
                    killed.append(process)
        deadline = time.monotonic() + 2
        for process in killed:  # a busy machine may take a moment to end them
            with contextlib.suppress(psutil.Error):
                while process.is_running() and process.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
                    time.sleep(0.01)


def _engine() -> str:
    """Registers our engine with papermill and returns its name."""
    from papermill.clientwrap import PapermillNotebookClient
    from papermill.engines import NBClientEngine, papermill_engines

    from labkit.course import kernel

    class Client(PapermillNotebookClient):
        labkit_run: _Run

        def papermill_execute_cells(self) -> None:
            try:
                super().papermill_execute_cells()
            except BaseException:
                # papermill marks a cell that hung or killed the kernel 'completed', and then all that follow it as well.
                run = self.labkit_run
                if run.index is not None:
                    self.nb.cells[run.index].metadata.papermill.update(status="failed", exception=True)
                self.shutdown_kernel = "immediate"  # a kernel that hangs does not answer a polite request
                raise

    class Engine(NBClientEngine):
        @classmethod
        def execute_managed_notebook(
            cls, nb_man: Any, kernel_name: str, *, labkit_run: _Run, start_timeout: int = 60, **_: Any
        ) -> Any:
            labkit_run.notebook = nb_man.nb
            client = Client(
                nb_man,
                kernel_manager_class=kernel.CourseKernelManager,
                kernel_name=kernel_name,
                startup_timeout=start_timeout,
                timeout_func=labkit_run.cell_limit,
                on_cell_start=labkit_run.cell_starts,
                log=logging.getLogger("papermill"),
            )
            client.labkit_run = labkit_run
            with _watch(lambda: getattr(client.km, "process_id", None), labkit_run):
                return client.execute(
                    env=kernel.environment(labkit_run.ipython_dir), cwd=str(labkit_run.path.resolve().parent)
                )

    papermill_engines.register("labkit", Engine)
    return "labkit"


@contextlib.contextmanager
def _watch(process_id: Callable[[], int | None], run: _Run, interval_s: float = 0.2) -> Iterator[None]:
    """Samples the kernel's memory and moves the progress line from a thread."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(interval_s):
            found = process_id()
            if found is not None:
                run.sample_memory(found)
            if run.progress is not None:
                run.progress.tick()

    thread = threading.Thread(target=look, name="labkit-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keeps papermill's log and the libraries' notes to developers out of the learner's terminal."""
    loggers = [logging.getLogger(name) for name in ("papermill", "nbclient", "traitlets")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        # warnings' filters belong to the process: a thread that put back what it found would undo another's
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _completed(cell: Any) -> bool:
    ran = cell.metadata.get("papermill", {}).get("status") == "completed" and cell.get("execution_count") is not None
    return ran and not any(out.output_type == "error" for out in cell.get("outputs", []))


def _plain_text(out: Any) -> str:
    """The text of an output: what was printed, or the plain form of what was displayed."""
    text = out.get("text") or out.get("data", {}).get("text/plain", "")
    return text if isinstance(text, str) else "".join(text)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _message(text: str, lines: int = 4) -> str:
    """The message of an error without terminal colours and without the person's own folders, cut to a few lines."""
    for folder, short in ((ROOT, "."), (Path.home(), "~")):
        text = text.replace(str(folder) + os.sep, short + os.sep)
    return "\n  ".join(line.rstrip() for line in _ANSI.sub("", text).strip().splitlines()[:lines])


def _shown(path: Path) -> str:
    """A path as short as it can be said from where the person is."""
    with contextlib.suppress(ValueError):
        return f"{path.resolve().relative_to(Path.cwd())}{os.sep}"
    return str(path)
