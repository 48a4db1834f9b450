"""How a command ends: exit status 0 done, 2 wrong input, 1 a defect, 130 interrupted; one line for each message."""

from __future__ import annotations

import errno
import json
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from cluster_sim.cli.streams import go_nowhere, lasting_streams
from cluster_sim.errors import CautionWarning, InputError, ModelWarning, StallError, UnfamiliarWarning, printable
from cluster_sim.extras import needed
from cluster_sim.files.json_values import for_json
from cluster_sim.files.source import failure_in_any
from cluster_sim.packages import refuse_shadows

PROGRAM = "cluster-sim"
RUNS_FAILED = 1
"""Exit status of a command that goes on when one of its runs fails, and keeps its traceback."""
WRONG_INPUT = 2
INTERRUPTED = 130
READER_GONE = 141
"""Exit status that a shell reports of a program that SIGPIPE ended."""


class Invocation:
    """One call of the command line, in ``ctx.obj``: its words, and the warnings that it has not told yet.

    Warnings wait until the input is known to be right, so that an error is a single line.
    """

    def __init__(self, words: Sequence[str]):
        self.command = shlex.join([PROGRAM, *words])
        self._told: set[str] = set()
        self._unfamiliar: set[tuple[str, str]] = set()
        self._waiting: list[str] = []
        self._assumed: dict[str, str] = {}
        self._of_inputs: list[str] = []
        self._of_run: list[str] | None = None

    def tell_warnings(self) -> None:
        """Print each distinct warning once, a line each."""
        for text in self._waiting:
            if text not in self._told:
                self._told.add(text)
                say(f"warning: {text}")
        self._waiting.clear()

    @contextmanager
    def one_run(self) -> Iterator[list[str]]:
        """Collect in a list the warnings of the inputs, and then those of the simulation made and run in here."""
        inputs, self._of_run = list(dict.fromkeys(self._of_inputs)), []
        told = list(inputs)
        try:
            yield told
        finally:
            told += dict.fromkeys(text for text in self._of_run if text not in inputs)
            self._of_run = None

    def assume(self, lines: Iterable[str]) -> None:
        """Keep what a run assumed, the first line of each kind, until the command has done its work."""
        from cluster_sim.records.assumptions import kind_of

        for line in lines:
            self._assumed.setdefault(kind_of(line), line)

    def tell_all(self) -> None:
        """Print the warnings, and what runs assumed, a line for each kind, unless a warning has said so.

        Before a table: a reader such as ``head`` may end the program while that is printed.
        """
        self.tell_warnings()
        for line in self._assumed.values():
            if line not in self._told:
                self._told.add(line)
                say(f"warning: {line}")

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Keep every ModelWarning in here; other warnings are for Python to print."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", ModelWarning)
            others = warnings.showwarning

            def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
                if issubclass(category, CautionWarning):
                    self.assume([str(message)])
                elif issubclass(category, ModelWarning):
                    # An agent says once that its input is unfamiliar, or once a log where the warning names the log.
                    who = (message.agent, message.log) if isinstance(message, UnfamiliarWarning) else None
                    if who is None or who not in self._unfamiliar:
                        self._waiting.append(str(message))
                    if who is not None:
                        self._unfamiliar.add(who)
                    (self._of_inputs if self._of_run is None else self._of_run).append(str(message))
                else:
                    others(message, category, *place, **more)

            warnings.showwarning = show
            yield


class CommandLine(click.Group):
    """The group of commands: it lists them in the order in which they were added, and ends each in one way."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return names of the commands, the most useful ones first."""
        return list(self.commands)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run the command and exit."""
        words = list(sys.argv[1:] if args is None else args)
        extra["obj"] = invocation = Invocation(words)
        with lasting_streams() as stdout:
            with invocation.collecting():
                status = _status_of(lambda: super(CommandLine, self).main(words, PROGRAM, complete_var, False, **extra))
            if status == 0:
                invocation.tell_all()
            stdout.flush()
            if status == 0 and stdout.error is not None:
                say(f"standard output: {_told(stdout.error)}; what belongs in files is there")
                status = WRONG_INPUT
        sys.exit(status)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command of ``ctx``; catch here what click would turn into its own kind of exit."""
        try:
            refuse_shadows()
            return super().invoke(ctx)
        except ImportError as error:
            with needed(ctx.invoked_subcommand or PROGRAM):
                raise error
        except KeyboardInterrupt:
            raise _Ended(INTERRUPTED, "interrupted") from None
        except OSError as error:
            if error.errno == errno.EPIPE:
                go_nowhere(sys.stdout)
                raise _Ended(READER_GONE) from None
            raise _Ended(WRONG_INPUT, _told(error)) from None


class _Ended(Exception):
    """The end of a command, with an exit status and a line for stderr."""

    def __init__(self, status: int, line: str = ""):
        super().__init__(line)
        self.status = status


def _status_of(command: Callable[[], Any]) -> int:
    """Run ``command``, tell what went wrong, and return the exit status. A defect passes through with its traceback."""
    try:
        status = command()
    except _Ended as end:
        say(str(end))
        return end.status
    except click.UsageError as error:
        context = f" (see '{error.ctx.command_path} --help')" if error.ctx else ""
        say(f"{error.format_message().rstrip('.')}{context}")
        return WRONG_INPUT
    except click.ClickException as error:
        say(error.format_message())
        return error.exit_code
    except (InputError, StallError) as error:
        say(str(error))
        return WRONG_INPUT
    except MemoryError:
        say("not enough memory for an input of this size")
        return WRONG_INPUT
    except Exception as error:
        if failure := failure_in_any(error):  # in a user's Python file
            say(str(InputError(*failure)))
            return WRONG_INPUT
        raise
    return status if isinstance(status, int) else 0


def say(message: str) -> None:
    """Print ``message`` as one line on stderr; print nothing if it is empty."""
    line = " ".join(message.split())
    if line:
        click.echo(f"{PROGRAM}: {printable(line)}", err=True)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout, and no text.")


def tell_json(document: object) -> None:
    """Print a document as JSON; NaN and infinity, which JSON does not have, become null."""
    click.echo(json.dumps(for_json(document), indent=2, allow_nan=False))


def show_version(ctx: click.Context, option: click.Parameter, asked: bool) -> None:
    """Print the version and stop, if that was asked for."""
    if asked:
        from cluster_sim import __version__

        click.echo(f"{PROGRAM} {__version__}")
        ctx.exit()


def _told(error: OSError) -> str:
    what = error.strerror or str(error) or type(error).__name__
    return f"{os.fsdecode(error.filename)}: {what}" if isinstance(error.filename, str | bytes) else what
