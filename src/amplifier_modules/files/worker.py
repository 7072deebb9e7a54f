"""The other end of a search: answers one request, in the process that was started for it.

It starts often, so it imports little: parts of the standard library and its neighbours here.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from amplifier_modules.files.policy import Policy
from amplifier_modules.files.refusals import Refused


def main() -> None:
    """Read a request from standard input, and write what was found to standard output."""
    question = json.load(sys.stdin)
    try:
        answer: dict[str, Any] = {"found": _found(question)}
    except Refused as refusal:
        answer = {"refused": refusal.message, "kind": refusal.kind}
    # Names that are no text would come out as halves of characters, which no JSON can carry on.
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))


def _found(question: dict[str, Any]) -> dict[str, Any]:
    policy = Policy(**question["policy"])
    if question["kind"] == "GlobRequest":
        from amplifier_modules.files.globbing import GlobRequest, glob

        return glob(GlobRequest(**question["request"]), policy)
    from amplifier_modules.files.grepping import GrepRequest, grep

    return grep(GrepRequest(**question["request"]), policy)
