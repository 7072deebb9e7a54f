"""Names for kinds of files, as ripgrep has them, and the patterns that they stand for."""

from __future__ import annotations

from amplifier_modules.files.refusals import Refused

_TABLE = """
asm: *.asm *.s *.S
asciidoc: *.adoc *.asc *.asciidoc
bat: *.bat *.cmd
bazel: *.bazel *.bzl BUILD WORKSPACE
c: *.c *.h *.H *.cats
clojure: *.clj *.cljc *.cljs *.cljx
cmake: *.cmake CMakeLists.txt
config: *.cfg *.conf *.config *.ini
cpp: *.C *.H *.cc *.cpp *.cxx *.h *.hh *.hpp *.hxx *.inl
cs: *.cs
csharp: *.cs
css: *.css *.scss
csv: *.csv
cuda: *.cu *.cuh
dart: *.dart
diff: *.patch *.diff
docker: *Dockerfile*
elixir: *.ex *.eex *.exs *.heex *.leex
elm: *.elm
erlang: *.erl *.hrl
fish: *.fish
fortran: *.f *.F *.f77 *.f90 *.F90 *.f95
fsharp: *.fs *.fsx *.fsi
go: *.go
gradle: *.gradle *.gradle.kts
graphql: *.graphql *.graphqls
groovy: *.groovy *.gradle
h: *.h *.hh *.hpp
haskell: *.hs *.lhs *.cpphs
html: *.htm *.html *.ejs
java: *.java *.jsp *.jspx *.properties
jinja: *.j2 *.jinja *.jinja2
js: *.js *.jsx *.vue *.cjs *.mjs
json: *.json *.sarif composer.lock
jsonl: *.jsonl
julia: *.jl
jupyter: *.ipynb *.jpynb
kotlin: *.kt *.kts
less: *.less
license: COPYING* LICENSE* LICENCE* NOTICE*
lisp: *.el *.lisp *.lsp *.sc *.scm
lock: *.lock package-lock.json
log: *.log
lua: *.lua
make: *.mak *.mk Makefile makefile GNUmakefile Makefile.*
md: *.markdown *.md *.mdown *.mdx *.mkd
nix: *.nix
objc: *.h *.m
ocaml: *.ml *.mli *.mll *.mly
org: *.org
perl: *.perl *.pl *.PL *.plh *.plx *.pm *.t
php: *.php *.php3 *.php4 *.php5 *.phtml
protobuf: *.proto
ps: *.ps1 *.psd1 *.psm1
puppet: *.epp *.erb *.pp
py: *.py *.pyi
r: *.R *.r *.Rmd *.Rnw
rst: *.rst
ruby: *.rb *.gemspec *.rbw Gemfile Rakefile config.ru
rust: *.rs
sass: *.sass *.scss
scala: *.scala *.sbt
sh: *.sh *.bash *.zsh *.ksh *.csh *.tcsh .bashrc .zshrc .profile .bash_profile
solidity: *.sol
sql: *.sql *.psql
svelte: *.svelte
svg: *.svg
swift: *.swift
systemd: *.service *.socket *.timer *.target *.mount *.path
tcl: *.tcl
terraform: *.tf *.tfvars *.tf.json terraform.rc .terraformrc
tex: *.tex *.ltx *.cls *.sty *.bib
toml: *.toml Cargo.lock
ts: *.ts *.tsx *.cts *.mts
txt: *.txt
vim: *.vim .vimrc vimrc .gvimrc
vue: *.vue
wasm: *.wat *.wasm *.wast
xml: *.xml *.dtd *.rng *.xsd *.xsl *.xslt *.xjb
yaml: *.yaml *.yml
zig: *.zig
zsh: *.zsh .zshrc .zshenv .zprofile .zlogin .zlogout
"""

_ALIASES = {
    "bash": "sh",
    "c++": "cpp",
    "dockerfile": "docker",
    "golang": "go",
    "javascript": "js",
    "jsx": "js",
    "markdown": "md",
    "powershell": "ps",
    "proto": "protobuf",
    "python": "py",
    "rb": "ruby",
    "rs": "rust",
    "scss": "css",
    "shell": "sh",
    "tf": "terraform",
    "tsx": "ts",
    "typescript": "ts",
    "yml": "yaml",
}


def _read(table: str) -> dict[str, tuple[str, ...]]:
    rows = (line.split(":", 1) for line in table.strip().splitlines())
    return {name: tuple(patterns.split()) for name, patterns in rows}


PATTERNS = _read(_TABLE)


def patterns_of(kind: str) -> tuple[str, ...]:
    """The name patterns of a type.

    Raises:
        Refused: there is no such type; the text lists all.
    """
    name = _ALIASES.get(kind, kind)
    if name not in PATTERNS:
        known = ", ".join(sorted([*PATTERNS, *_ALIASES]))
        text = f"There is no file type {kind!r}. Use one of these, or 'glob': {known}."
        raise Refused(text, "UnknownType")
    return PATTERNS[name]
