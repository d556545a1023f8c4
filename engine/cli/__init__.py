"""The command line of everything headless. Parses only; each command's module is imported when it runs."""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

_NO_TERMINAL = (
    'There is no terminal to chat in. Ask one question with `inglenook chat "…"`, '
    "or start the service with `inglenook --serve`."
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line and the way on, instead of the whole usage."""
        sys.stderr.write(f"{self.prog}: {message}. See `{self.prog} --help`.\n")
        raise SystemExit(2)


def build_parser() -> argparse.ArgumentParser:
    """All commands and options."""
    parser = _Parser(
        prog="inglenook",
        description="Runs language models on your own machine. Without a command: chat in the terminal.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    parser.add_argument("--serve", action="store_true", help="run the API service until stopped")
    parser.add_argument("--data-dir", metavar="DIR", help="keep everything in this folder")
    parser.add_argument("--verbose", action="store_true", help="more in the log (stderr)")
    serve = parser.add_argument_group("with --serve")
    serve.add_argument("--host", help="address to listen on (default: localhost, both families)")
    serve.add_argument("--port", type=_port, help="port (default: 4645; 0 takes a free one)")
    serve.add_argument(
        "--api-key",
        metavar="KEY",
        help="ask clients for this key (better: INGLENOOK_SERVER_API_KEY)",
    )
    serve.add_argument(
        "--allow-host", action="append", metavar="NAME", help="answer under this host name too"
    )
    serve.add_argument(
        "--allow-origin", action="append", metavar="URL", help="let this web page use the API"
    )
    serve.add_argument("--owner-pipe", action="store_true", help=argparse.SUPPRESS)
    both = parser.add_argument_group("with --serve and chat")
    _add_model_options(both)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)

    chat = commands.add_parser("chat", help="ask one question, or talk in the terminal")
    chat.add_argument("prompt", nargs="?", metavar="QUESTION", help="without it: a conversation")
    chat.add_argument("--system", metavar="TEXT", help="system prompt")
    chat.add_argument("--max-tokens", type=int, metavar="N")
    chat.add_argument("--temperature", type=float, metavar="T")
    chat.add_argument("--seed", type=int, metavar="N")
    _add_model_options(chat)

    doctor = commands.add_parser("doctor", help="what this machine has, and what would run how")
    for command in (doctor, *_add_models(commands), *_add_hub(commands)):
        command.add_argument("--json", action="store_true", help="machine-readable")
    return parser


def _add_models(
    commands: "argparse._SubParsersAction[_Parser]",
) -> tuple[argparse.ArgumentParser, ...]:
    models = commands.add_parser("models", help="the models on this machine")
    actions = models.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=_Parser
    )
    listing = actions.add_parser("list", help="all models")
    add = actions.add_parser("add", help="add a GGUF file; it stays where it is")
    add.add_argument("path", metavar="FILE")
    remove = actions.add_parser(
        "remove", help="forget a model; a file of the library goes to the trash"
    )
    remove.add_argument("name", metavar="NAME")
    remove.add_argument(
        "--delete-file",
        action="store_true",
        help="also move the files of a downloaded or added model to the trash",
    )
    verify = actions.add_parser(
        "verify", help="read a model's files whole and compare the checksum"
    )
    verify.add_argument("name", metavar="NAME")
    disk = actions.add_parser("disk", help="what the models take of the disk")
    return listing, add, remove, verify, disk


def _add_hub(
    commands: "argparse._SubParsersAction[_Parser]",
) -> tuple[argparse.ArgumentParser, ...]:
    search = commands.add_parser("search", help="look for models on the hub")
    search.add_argument(
        "text", nargs="?", default="", metavar="TEXT", help="or owner/name: its files"
    )
    search.add_argument(
        "--sort", choices=("trending", "downloads", "likes", "updated"), default="trending"
    )
    pull = commands.add_parser(
        "pull", help="download a model from the hub; goes on where it stopped"
    )
    pull.add_argument("model", metavar="OWNER/NAME[:QUANTIZATION]")
    pull.add_argument("--revision", default="main", help="branch, tag or commit")
    return search, pull


def _add_model_options(group: argparse._ActionsContainer) -> None:
    # SUPPRESS: a subcommand's default must not hide what stood before it
    group.add_argument("--model", metavar="NAME", default=argparse.SUPPRESS, help="which model")
    group.add_argument(
        "--context",
        type=int,
        metavar="TOKENS",
        default=argparse.SUPPRESS,
        help="size of the context",
    )
    group.add_argument(
        "--threads", type=int, metavar="N", default=argparse.SUPPRESS, help="threads that compute"
    )
    group.add_argument(
        "--backend",
        metavar="NAME",
        default=argparse.SUPPRESS,
        help="llama.cpp, torch-cuda, or torch-cpu (the exact reference)",
    )
    group.add_argument(
        "--exact",
        action="store_true",
        default=argparse.SUPPRESS,
        help="llama.cpp: the same text in every batch (Q4_0, Q4_1, Q8_0); prompts are read slower",
    )
    group.add_argument(
        "--speculation",
        choices=("off", "ngram"),
        default=argparse.SUPPRESS,
        help="guess tokens ahead: off, or from the text itself as far as it pays (ngram; the default)",
    )


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port} is no port (0 … 65535)")
    return port


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Errors are one sentence on stderr."""
    parser = build_parser()
    args = parser.parse_args(argv)
    if args.serve and args.command:
        parser.error(f"--serve and `{args.command}` do not go together")
    if not (args.serve or args.command or args.version) and not _at_terminal():
        sys.stderr.write(_NO_TERMINAL + "\n")
        return 2
    from engine.errors import EngineError

    try:
        return _command(args)(args)
    except EngineError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 141  # the reader of our output left, as `| head` does


def _at_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def _command(args: argparse.Namespace) -> Callable[[argparse.Namespace], int]:
    if args.version:
        from engine.cli.about import print_version as run
    elif args.serve:
        from engine.cli.serve import run
    elif args.command == "models":
        from engine.cli.models import run
    elif args.command == "doctor":
        from engine.cli.doctor import run
    elif args.command == "search":
        from engine.cli.hub import search as run
    elif args.command == "pull":
        from engine.cli.hub import pull as run
    else:
        from engine.cli.chat import run
    return run
