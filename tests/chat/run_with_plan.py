"""Runs one turn in a session made from a mount plan in a JSON file: python run_with_plan.py FILE"""

import json
import sys
from pathlib import Path

from amplifier.budget import Budget
from amplifier.cli.preparing import Prepared
from amplifier.turns import run_turn
from amplifier.views import view_for

plan = json.loads(Path(sys.argv[1]).read_text())
plan.pop("child_script", None)
prepared = Prepared(plan, None, Budget(), False)
sys.exit(run_turn(prepared, "Go.", view_for("text")))
