"""Proves the rules of the sessions: hdl/formal/prove.py, with the proofs of this folder.

    python hdl/session/formal/prove_sessions.py [--quick] [NAME[/KIND]...]
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "formal"))

import prove  # noqa: E402

prove.HERE = HERE
prove.SECONDS = 600
prove.BUILD = HERE.parent.parent / "build" / "session_formal"

if __name__ == "__main__":
    prove.main()
