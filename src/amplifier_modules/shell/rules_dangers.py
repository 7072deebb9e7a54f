"""Which programs run others, and which options write files or run something.

A rule that ends in `*` stands for "any ordinary arguments". This file says what is not
ordinary. It cannot be complete: a rule with `*` is a promise that the program is harmless
with any arguments but these.
"""

from __future__ import annotations

from dataclasses import dataclass

RUNS_OTHERS = frozenset(
    """
    . source eval exec command builtin coproc trap alias unalias hash enable bind complete compgen
    declare typeset local export readonly let read mapfile readarray unset set shopt fc jobs wait
    sh bash dash zsh ksh mksh ash fish csh tcsh rbash pwsh powershell cmd busybox toybox
    env nohup nice ionice timeout time stdbuf setsid chroot unshare nsenter flock taskset chrt watch
    xargs parallel entr script expect sudo su doas runuser pkexec gosu setpriv ssh sshpass mosh
    screen tmux at batch crontab systemd-run systemctl start open xdg-open osascript caffeinate
    gdb lldb strace ltrace perf valgrind fakeroot proot bwrap firejail ld.so ldd
    sed awk gawk mawk nawk ed ex vi vim nvim view emacs nano less more most man info pager
    nc ncat netcat socat telnet ftp sftp mail dc m4 tclsh wish sqlite3 psql mysql
    """.split()  # noqa: SIM905
)
"""No `*` after these: what follows may be any program."""

INTERPRETERS = frozenset(
    """
    python python2 python3 pypy pypy3 node nodejs deno bun perl ruby php lua luajit Rscript R julia
    ghci runghc scala groovy java jshell dotnet erl elixir iex irb swipl
    uv uvx pipx npx bunx pnpx ipython
    """.split()  # noqa: SIM905
)
"""Run any code they are given; `*` only after a script or subcommand that is named."""

RUNNERS = frozenset(
    tuple(each.split())
    for each in """
    uv run|uv tool|npm exec|npm x|pnpm exec|pnpm dlx|yarn exec|yarn dlx|yarn node|poetry run
    pipenv run|pdm run|hatch run|rye run|conda run|pipx run|bundle exec|bun run|bun x|bun exec
    docker run|docker exec|docker compose|podman run|podman exec|kubectl exec|kubectl run
    kubectl debug|go run|go tool|deno run|deno eval|deno repl|dotnet exec|rustup run|nix run
    nix shell|nix develop|mise exec|mise x|asdf exec|direnv exec|gh alias|gh extension
    git config|git bisect|git submodule|git filter-branch|git rebase|git difftool|git mergetool
    """.replace("\n", "|").split("|")
    if each.strip()
)
"""Subcommands that run what follows them, or what they are told to run later."""

SUBCOMMANDS = frozenset(each[0] for each in RUNNERS) | {"cargo", "pip", "pip3", "brew", "apt"}
"""No `*` directly after these: one of their subcommands runs or changes anything."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options that `*` does not stand for."""

    short: str = ""
    """Letters, also in the middle of a cluster such as `-uo`."""
    long: tuple[str, ...] = ()
    """Without dashes; abbreviations and `--name=value` count too."""
    words: tuple[str, ...] = ()
    """Whole arguments."""
    operands: int | None = None
    """The most arguments that are no options: one more is a file to be written."""
    assigns: bool = False
    """Whether an argument `NAME=value` sets a variable."""


_FIND = (
    "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls",
    "-files0-from",
)  # fmt: skip
_GIT = (
    "config-env", "exec-path", "git-dir", "work-tree", "upload-pack", "receive-pack", "exec",
    "output", "output-directory", "ext-diff", "textconv", "open-files-in-pager", "paginate",
    "namespace", "super-prefix", "upload-archive", "template", "separate-git-dir", "config",
    "filters", "tool", "extcmd", "edit", "strategy", "gpg-sign", "contents", "no-index",
)  # fmt: skip
_CURL = (
    "output", "remote-name", "remote-name-all", "remote-header-name", "output-dir", "upload-file",
    "config", "form", "form-string", "data", "data-ascii", "data-binary", "data-raw",
    "data-urlencode", "json", "cookie-jar", "dump-header", "trace", "trace-ascii", "stderr",
    "create-dirs", "unix-socket", "abstract-unix-socket", "proxy", "preproxy", "socks5", "engine",
    "hsts", "alt-svc", "etag-save", "libcurl", "request", "netrc", "netrc-file", "variable",
    "location-trusted", "write-out", "resolve", "connect-to", "interface", "key", "cert",
    "quote", "next", "header", "proxy-header", "url-query", "cookie", "proto-default", "url",
)  # fmt: skip
_TAR = (
    "checkpoint-action", "to-command", "use-compress-program", "rsh-command", "rmt-command",
    "info-script", "new-volume-script", "index-file", "extract", "get", "create", "append",
    "update", "delete", "concatenate", "catenate", "files-from", "remove-files",
    "listed-incremental", "volno-file",
)  # fmt: skip

_WGET = (
    "output-document", "execute", "use-askpass", "post-file", "body-file", "config", "mirror",
    "directory-prefix", "input-file", "output-file", "append-output", "method", "post-data",
    "recursive", "no-host-directories", "no-directories", "force-directories", "cut-dirs",
    "page-requisites", "save-cookies", "load-cookies", "hsts-file", "warc-file", "rejected-log",
)  # fmt: skip
_NPM = (
    "script-shell", "shell", "prefix", "userconfig", "globalconfig", "node-options", "call",
    "package", "init-module", "editor", "viewer", "git", "workspace", "location",
)  # fmt: skip
_PYTEST = ("confcutdir", "rootdir", "config-file", "override-ini", "pyargs", "basetemp",
           "junit-xml", "log-file", "pastebin", "import-mode", "debug")  # fmt: skip

DANGEROUS: dict[str, Options] = {
    "ag": Options(long=("pager",)),
    "arp": Options("sd", ("set", "delete")),
    "bat": Options(long=("pager", "map-syntax", "config-file")),
    "cargo": Options("CZ", ("config", "manifest-path", "target-dir", "artifact-dir")),
    "curl": Options("oOTKFdDcJXxnwEQ:Hb", _CURL),
    "date": Options("sf", ("set", "file")),
    "diff": Options(long=("output", "to-file", "from-file")),
    "dmesg": Options("cCDEn", ("clear", "console-off", "console-on", "console-level")),
    "eslint": Options("cfo", ("config", "rulesdir", "plugin", "resolve-plugins-relative-to",
                              "format", "output-file", "parser", "fix", "init")),
    "fd": Options("xX", ("exec", "exec-batch")),
    "fdfind": Options("xX", ("exec", "exec-batch")),
    "file": Options("Cm", ("compile", "magic-file")),
    "find": Options(words=_FIND),
    "git": Options("cCOp", _GIT),
    "go": Options(words=("-exec", "-toolexec", "-vettool", "-overlay", "-modfile", "-C", "-o")),
    "grep": Options("f", ("file",)),
    "hostname": Options("Fb", ("file",), operands=0),
    "jq": Options("Lf", ("from-file", "rawfile", "slurpfile", "library-path")),
    "ls": Options("LH", ("dereference", "dereference-command-line",
                         "dereference-command-line-symlink-to-dir")),
    "make": Options("fICEo", ("file", "makefile", "eval", "directory", "include-dir",
                              "environment-overrides", "old-file"), assigns=True),
    "netstat": Options("c", ("continuous",)),
    "npm": Options("C", _NPM),
    "pnpm": Options("C", (*_NPM, "dir")),
    "yarn": Options(long=("cwd", *_NPM)),
    "openssl": Options(words=("-out", "-writerand", "-engine", "-keyout", "-provider")),
    "printf": Options("v"),
    "pytest": Options("pco", _PYTEST),
    "rg": Options("fz", ("pre", "hostname-bin", "search-zip", "file")),
    "rsync": Options("eM", ("rsh", "rsync-path", "daemon", "config", "remote-option", "log-file")),
    "scp": Options("SoFDJ"),
    "sort": Options("oTS", ("output", "compress-program", "temporary-directory", "files0-from")),
    "split": Options(long=("filter",)),
    "tail": Options(long=("pid",)),
    "tar": Options("IFTgxcruA", _TAR),
    "test": Options("vR"),
    "[": Options("vR"),
    "tree": Options("oR", ("output", "fromfile")),
    "uniq": Options(operands=1),
    "wc": Options(long=("files0-from",)),
    "wget": Options("OPiBepaxormn", _WGET),
    "xxd": Options("r", ("revert",), operands=1),
    "yq": Options("is", ("inplace", "in-place", "split-exp")),
    "zip": Options("mT", ("test-command", "unzip-command", "move")),
}  # fmt: skip


def dangerous_argument(name: str, arguments: tuple[str | None, ...]) -> str | None:
    """The first of `arguments` that a `*` after `name` does not stand for."""
    options = DANGEROUS.get(name)
    if options is None:
        return None
    operands = 0
    for position, argument in enumerate(arguments):
        if argument is None or not argument.startswith("-") or argument == "-":
            operands += 1
            clustered = name == "tar" and position == 0 and argument is not None
            if clustered and set(argument or "") & set(options.short):
                return argument
            if options.assigns and "=" in (argument or "="):
                return argument or "an argument that is not known"
        elif _is_dangerous(argument, options):
            return argument
        if options.operands is not None and operands > options.operands:
            return argument or "an argument that is not known"
    return None


def _is_dangerous(argument: str, options: Options) -> bool:
    if argument in options.words:
        return True
    if not argument.startswith("--"):
        return bool(set(argument[1:]) & set(options.short))
    name = argument[2:].partition("=")[0]
    # Programs take any beginning of a long option for the whole.
    return bool(name) and any(each.startswith(name) for each in options.long)
