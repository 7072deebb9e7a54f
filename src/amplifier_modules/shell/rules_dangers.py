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
    nc ncat netcat socat telnet ftp sftp mail dc m4 tclsh wish
    """.split()  # noqa: SIM905
)
"""No `*` after these: what follows may be any program."""

INTERPRETERS = frozenset(
    """
    python python2 python3 pypy pypy3 node nodejs deno bun perl ruby php lua luajit Rscript R julia
    ghci runghc scala groovy java jshell dotnet erl elixir iex irb swipl sqlite3 psql mysql
    uv uvx pipx npx bunx pnpx ipython
    """.split()  # noqa: SIM905
)
"""Run any code they are given; `*` only after a script or subcommand that is named."""


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
    "quote", "next",
)  # fmt: skip
_TAR = (
    "checkpoint-action", "to-command", "use-compress-program", "rsh-command", "rmt-command",
    "info-script", "new-volume-script", "index-file", "extract", "get", "create", "append",
    "update", "delete", "concatenate", "catenate", "files-from", "remove-files",
)  # fmt: skip

DANGEROUS: dict[str, Options] = {
    "ag": Options(long=("pager",)),
    "arp": Options("sd", ("set", "delete")),
    "bat": Options(long=("pager", "map-syntax", "config-file")),
    "curl": Options("oOTKFdDcJXxnwEQ:", _CURL),
    "date": Options("sf", ("set", "file")),
    "diff": Options(long=("output", "to-file", "from-file")),
    "dmesg": Options("cCDEn", ("clear", "console-off", "console-on", "console-level")),
    "fd": Options("xX", ("exec", "exec-batch")),
    "fdfind": Options("xX", ("exec", "exec-batch")),
    "file": Options("Cm", ("compile", "magic-file")),
    "find": Options(words=_FIND),
    "git": Options("cCOp", _GIT),
    "grep": Options("f", ("file",)),
    "hostname": Options("Fb", ("file",), operands=0),
    "jq": Options("Lf", ("from-file", "rawfile", "slurpfile", "library-path")),
    "ls": Options(),
    "netstat": Options("c", ("continuous",)),
    "openssl": Options(words=("-out", "-writerand", "-engine", "-keyout", "-provider")),
    "printf": Options("v"),
    "rg": Options("f", ("pre", "hostname-bin", "search-zip", "file")),
    "rsync": Options("e", ("rsh", "rsync-path", "daemon", "config")),
    "scp": Options("SoF"),
    "sort": Options("oTS", ("output", "compress-program", "temporary-directory", "files0-from")),
    "split": Options(long=("filter",)),
    "tail": Options(long=("pid",)),
    "tar": Options("IFxcruA", _TAR),
    "test": Options("vR"),
    "[": Options("vR"),
    "tree": Options("o", ("output", "fromfile")),
    "uniq": Options(operands=1),
    "wc": Options(long=("files0-from",)),
    "wget": Options("OPiBepax", ("output-document", "execute", "use-askpass", "post-file",
                                 "body-file", "config", "directory-prefix", "input-file",
                                 "output-file", "append-output", "method", "post-data")),
    "xxd": Options("r", ("revert",), operands=1),
    "yq": Options("i", ("inplace", "in-place", "split-exp")),
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
