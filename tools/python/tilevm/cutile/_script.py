"""python -m tilevm.cutile: runs a program under the virtual machine."""

import argparse
import atexit
import linecache
import os
import runpy
import sys
import types
from pathlib import Path
from typing import Any, Callable

from tilevm.cutile import _client, _debug, enable
from tilevm.cutile._findings import CONFIG, session
from tilevm.diagnostics import Error, UsageError

DEFAULT_CHECKS = "bounds,races,tokens"


def add_options(add: Callable[..., Any]) -> None:
    """The options, for argparse's add_argument and pytest's addoption."""
    add("--tile-check", action="store_true",
        help=f"look for errors that a GPU does not report: {DEFAULT_CHECKS}")
    add("--tile-checks", metavar="NAMES", help="look for these instead: all, or some of bounds,uninit,races,tokens,"
        "assume,values,order")
    add("--tile-arch", default="sm_100", metavar="ARCH",
        help="the architecture that the client compiles for (default: sm_100)")
    add("--tile-threads", type=int, default=0, metavar="N",
        help="tile blocks that run at the same time (default: one per processor)")
    add("--tile-multiprocessors", type=int, default=0, metavar="N",
        help="the multiprocessors that the device is said to have, from which programs compute grids (default:"
        " TILEVM_MULTIPROCESSORS in the environment, else those of the largest model of the architecture)")
    add("--tile-config", default="", metavar="FILE",
        help=f"suppressed findings with their reasons (default: {CONFIG} in the current folder, if it exists)")
    add("--tile-report", metavar="FILE", help="write all findings as SARIF when the program or the tests have ended")
    add("--tile-tune", choices=("first", "all"), default="",
        help="autotuners take the first configuration that runs; with all, the other configurations also run once")
    add("--tile-capture", default="", metavar="DIR",
        help="write each launch to a folder in DIR: the kernel, its arguments, and a script that repeats it")
    add("--tile-progress", action="store_true", default=None,
        help="report launches that take long (default: on a terminal)")


def enable_as(given: Any) -> None:
    """By parsed options."""
    checks = given.tile_checks or (DEFAULT_CHECKS if given.tile_check else None)
    enable(arch=given.tile_arch, checks=checks, threads=given.tile_threads,
           multiprocessors=given.tile_multiprocessors, tune=given.tile_tune, capture=given.tile_capture,
           config=given.tile_config, progress=given.tile_progress, children=True)


def report(given: Any) -> list[str]:
    """Writes the report that was asked for; gives what is to be said: findings for GitHub where it runs the job, how many
    were suppressed, and suppressions that are about nothing."""
    lines = session.annotations() if os.environ.get("GITHUB_ACTIONS") == "true" else []
    suppressed = sum(s.uses for s in session.suppressions)
    if suppressed:
        lines.append(f"{session.config}: {suppressed} finding{'s' if suppressed > 1 else ''} suppressed")
    lines += session.unused()
    if _client.capture is not None:
        lines += _client.capture.summary()
    if given.tile_report:
        session.write(given.tile_report)
    return lines


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tilevm.cutile", allow_abbrev=False, usage="%(prog)s [options] SCRIPT | -m MODULE | -c CODE [ARGS]",
        description="Runs a program, with cuTile kernels on the virtual machine instead of a GPU.")
    add_options(parser.add_argument)
    parser.add_argument("--dap", action="store_true",
                        help="be a debug adapter on standard input and output: an editor stops in kernels of the program")
    parser.add_argument("-m", action="store_const", const="m", dest="form", help="the program is a module")
    parser.add_argument("-c", action="store_const", const="c", dest="form", help="the program is this text")
    parser.add_argument("script", help="a Python file; with -m, a module's name; with -c, the program itself")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")
    given = parser.parse_args(args)
    try:
        if given.form is None:
            _check_script(given.script)
        if given.dap and given.tile_capture:
            raise UsageError("--dap and --tile-capture exclude each other")
        enable_as(given)
        if given.dap:
            _debug.command()  # is it there?
    except Error as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    atexit.register(_report_at_exit, given)
    return _debugged(given) if given.dap else _run(given)


def _debugged(given: Any) -> int:
    server = _debug.start()
    _client.capture = _debug.Debugging(server)
    server.wait_for_start()
    code = 1
    try:
        code = _run(given)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
    server.end(code)
    return code


def _run(given: Any) -> int:
    sys.excepthook = _short_traceback
    sys.argv = ["-c" if given.form == "c" else given.script, *given.args]
    if given.form == "m":
        sys.path[0] = os.getcwd()
        runpy.run_module(given.script, run_name="__main__", alter_sys=True)
    elif given.form == "c":
        sys.path[0] = ""
        _run_text(given.script)
    else:
        sys.path[0] = str(Path(given.script).resolve().parent)
        runpy.run_path(given.script, run_name="__main__")
    return 0


def _run_text(text: str) -> None:
    """A program of the command line. Its lines are known to linecache: the client reads a kernel's source there, and
    tracebacks show it."""
    name = "<tilevm -c>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    exec(compile(text, name, "exec"), module.__dict__)


def _report_at_exit(given: Any) -> None:
    for line in report(given):
        print(line, file=sys.stdout if line.startswith("::") else sys.stderr)


def _short_traceback(kind: type[BaseException], error: BaseException, trace: "types.TracebackType | None") -> None:
    """As Python prints it, without what runs the program and what stands between the launch and the kernel."""
    short = _without_ours(trace)
    sys.__excepthook__(kind, error.with_traceback(short), short)


def _without_ours(trace: "types.TracebackType | None") -> "types.TracebackType | None":
    if trace is None:
        return None
    rest = _without_ours(trace.tb_next)
    file = trace.tb_frame.f_code.co_filename
    if file == "<frozen runpy>" or file == runpy.__file__ or Path(file).parent == Path(__file__).parent:
        return rest
    return types.TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)


def _check_script(script: str) -> None:
    """Is it a file to be read, or a folder with a __main__.py in it?"""
    path = Path(script)
    try:
        with open(path / "__main__.py" if path.is_dir() else path, "rb"):
            pass
    except OSError as error:
        raise UsageError(f"cannot open {error.filename!r}: {error.strerror}") from None
